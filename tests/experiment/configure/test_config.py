import pytest

from ambidex.experiment.configure.config import Hyperparameters, RunConfig, merge, parse


def test_the_common_table_is_the_papers():
    h = Hyperparameters()
    assert h.n_steps * h.num_envs == 4096
    assert (h.clip_range, h.ent_coef, h.n_epochs, h.gae_lambda, h.gamma) == (0.4, 0.0, 20, 0.9, 0.99)
    assert (h.learning_rate, h.max_grad_norm, h.batch_size, h.vf_coef) == (3e-5, 0.5, 64, 0.5)
    assert (h.net_arch, h.activation, h.log_std_init, h.ortho_init) == ((256, 256), "relu", -1.0, False)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"scenario": "A1.1", "sed": 3}, ["'sed'", "'seed'"]),
        ({"scenario": "A1.1", "hyperparameters": {"learning_rat": 1}}, ["'learning_rat'", "'learning_rate'"]),
        (
            {"scenario": "A1.1", "hyperparameters": {"gamma": 1.5}},
            ["gamma is a number from 0 to 1, ", "1.5"],
        ),
        ({"scenario": "A1.1", "hyperparameters": {"gamma": float("nan")}}, ["gamma", "not nan"]),
        (
            {"scenario": "A1.1", "hyperparameters": {"gamma": True}},
            ["gamma is a number from 0 to 1, ", "not true"],
        ),
        ({"scenario": "A1.1", "hyperparameters": {"desired_kl": True}}, ["desired_kl is a number", "true"]),
        ({"scenario": "A1.1", "steps": True}, ["steps is a whole number", "true"]),
        ({"scenario": "A1.1", "method": "sac"}, ["method", "sac"]),
        ({}, ["scenario", "env"]),
        ({"env": "Ant-v5", "method": "asl"}, ["Ant-v5", "symmetry file"]),
    ],
)
def test_wrong_values_are_refused_in_one_line_that_names_them(values, words):
    with pytest.raises(ValueError) as caught:
        parse(RunConfig, values)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_hyperparameter_may_stand_at_the_top_or_in_its_section():
    base = {"scenario": "A1.1", "hyperparameters": {"gamma": 0.9, "n_steps": 8}}
    merged = merge(base, {"gamma": 0.5, "seed": 4, "hyperparameters": {"n_epochs": 2}})
    config = parse(RunConfig, merged)
    assert (config.seed, config.hyperparameters.gamma) == (4, 0.5)
    assert (config.hyperparameters.n_steps, config.hyperparameters.n_epochs) == (8, 2)


def test_an_unknown_override_names_the_nearest():
    with pytest.raises(ValueError, match=r"'max_shif'.*'max_shift'"):
        merge({}, {"max_shif": 1})


def test_a_config_survives_json():
    config = parse(RunConfig, {"scenario": "A1.1", "hyperparameters": {"value_gate": None}})
    assert RunConfig.model_validate_json(config.model_dump_json()) == config
