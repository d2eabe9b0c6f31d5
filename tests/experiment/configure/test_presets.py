import pytest

from ambidex.experiment.configure import fittable
from ambidex.experiment.configure.methods import METHODS
from ambidex.experiment.configure.presets import configure, resolve
from ambidex.symmetry.files.descriptions import description_text
from tests.actuators.two_legs import two_legs


def test_rows_of_appendix_b():
    a12 = resolve("A1.2", "asl", {})
    assert a12.steps == 4_000_000
    h = a12.hyperparameters
    assert (h.policy_weight, h.value_weight, h.max_shift, h.value_gate, h.form) == (
        0.25,
        0.5,
        1.0,
        None,
        None,
    )
    assert (h.dead_zone_reflections, h.dead_zone_rotations) == (0.2, 0.0)
    a31 = resolve("A3.1", "asl", {})
    assert a31.steps == 5_000_000
    assert (a31.hyperparameters.form, a31.hyperparameters.max_shift) == ("mx", 0.5)
    assert resolve("A4.5", "msl", {}).hyperparameters.policy_weight == 0.0005
    assert resolve("A5.2", "psl", {}).hyperparameters.policy_weight == 0.004


def test_variants_share_the_row_of_their_scenario():
    assert resolve("A2.2-authors", "asl", {}).hyperparameters == resolve("A2.2", "asl", {}).hyperparameters


def test_overrides_win():
    config = resolve("A1.1", "asl", {"steps": 10, "learning_rate": 1e-4})
    assert (config.steps, config.hyperparameters.learning_rate) == (10, 1e-4)


@pytest.mark.parametrize("method", METHODS.names)
@pytest.mark.parametrize("scenario", ["triangle", "triangle-rust", "triangle-weight", "triangle-friction"])
def test_every_triangle_scenario_has_a_preset(scenario, method):
    config = resolve(scenario, method, {})
    h = config.hyperparameters
    assert h.net_arch == (64, 64)
    assert h.n_steps * h.num_envs % h.batch_size == 0


OWN = {"env": "Pendulum-v1", "symmetry": "mine.yaml"}
AMBIDEX = (2_000_000, 4096, 1, 256, 10, 3e-4, 0.2, 0.015, 0.0, 0.4)
PAPER = (4_000_000, 4096, 1, 64, 20, 3e-5, 0.4, None, -1.0, None)


def ppo(config):
    h = config.hyperparameters
    settings = (h.n_steps, h.num_envs, h.batch_size, h.n_epochs, h.learning_rate, h.clip_range)
    return config.steps, *settings, h.desired_kl, h.log_std_init, h.std_floor


@pytest.mark.parametrize(
    ("scenario", "method", "given", "preset"),
    [
        ("A1.1", "asl", {}, "paper"),
        ("A1.1", "equivariant", {}, "ambidex"),
        ("A5.2", "equivariant", {}, "ambidex"),
        ("A1.1", "equivariant", {"preset": "paper"}, "paper"),
        ("A1.1", "ppo", {"preset": "ambidex"}, "ambidex"),
        ("A1.1", "asl", {"preset": "ambidex"}, "ambidex"),
        ("triangle", "asl", {"preset": "ambidex"}, "ambidex"),
        (None, "equivariant", OWN, "ambidex"),
        (None, "ppo", {"env": "Pendulum-v1"}, "ambidex"),
        (None, "asl", OWN | {"preset": "paper"}, "paper"),
        ("triangle-rust", "equivariant", {}, None),
    ],
)
def test_one_configuration_for_every_robot_or_the_papers(scenario, method, given, preset):
    config = resolve(scenario, method, given)
    assert config.preset == preset
    if preset is not None:
        assert ppo(config) == (AMBIDEX if preset == "ambidex" else PAPER)


def test_methods_are_compared_with_their_own_weights_under_the_same_ppo():
    ours, papers = (resolve("A4.5", "msl", {"preset": preset}) for preset in ("ambidex", "paper"))
    assert ours.hyperparameters.policy_weight == papers.hyperparameters.policy_weight == 0.0005
    assert resolve("triangle", "relabel", {"preset": "ambidex"}).hyperparameters.frame_by == "target"


@pytest.mark.parametrize(
    ("scenario", "method", "given", "actuators"),
    [
        ("A1.1", "equivariant", {}, "transition"),
        ("A1.1", "equivariant", {"actuators": None}, None),
        ("A1.1", "equivariant", {"preset": "paper"}, None),
        ("A1.1", "relabel", {"preset": "ambidex"}, None),
        (None, "equivariant", {"env": "Pendulum-v1", "symmetry": "pendulum-v1"}, "transition"),
        (None, "equivariant", {"env": "CartPole-v1", "symmetry": "cartpole-v1"}, None),  # it has no motors
    ],
)
def test_actuators_are_fitted_where_the_description_says_what_they_move(scenario, method, given, actuators):
    assert resolve(scenario, method, given).hyperparameters.actuators == actuators


def test_a_robot_of_ones_own_learns_with_an_equivariant_policy():
    config = configure(None, [], **OWN)
    assert (config.method, config.preset) == ("equivariant", "ambidex")
    assert configure(None, [], scenario="A1.1").method == "asl"
    assert configure(None, [], scenario="A1.1", env="ambidex/AntMujoco-v0").method == "asl"


@pytest.mark.parametrize(
    ("num_envs", "n_steps", "evaluation_every", "metrics_every"),
    [(1, 4096, 15, 5), (8, 4096, 2, 1), (8, 512, 15, 5), (8, 256, 15, 5), (64, 4096, 1, 1), (1, 8192, 8, 2)],
)
def test_long_iterations_are_evaluated_after_the_same_steps(
    num_envs, n_steps, evaluation_every, metrics_every
):
    given = {"env": "Ant-v5", "symmetry": "ant-v5", "num_envs": num_envs, "n_steps": n_steps}
    config = resolve(None, "equivariant", given)
    assert (config.evaluation_every, config.metrics_every) == (evaluation_every, metrics_every)
    assert resolve(None, "equivariant", given | {"evaluation_every": 15}).evaluation_every == 15
    assert resolve("triangle", "ppo", {"num_envs": 512}).evaluation_every == 10  # the preset's


@pytest.mark.parametrize("algorithm", ["ppo", "trpo"])
def test_a_roll_out_of_one_state_is_refused(algorithm):
    one = {"env": "Pendulum-v1", "n_steps": 1, "num_envs": 1, "algorithm": algorithm}
    with pytest.raises(ValueError, match="n_steps times num_envs is 1"):
        resolve(None, "ppo", one)
    assert resolve(None, "ppo", one | {"num_envs": 2}).iteration_steps > 1
    assert resolve(None, "ppo", one | {"algorithm": "a2c"}).hyperparameters.n_steps == 1


def test_an_unknown_preset_is_refused():
    with pytest.raises(ValueError, match="preset is one of ambidex, paper or none, not 'papers'"):
        resolve("A1.1", "asl", {"preset": "papers"})


@pytest.mark.parametrize(
    ("scenario", "given", "expected"),
    [
        (None, OWN, ("calibrated", "mx+b")),  # as ASL() in Python
        ("mine.yaml", {}, ("calibrated", "mx+b")),
        (None, OWN | {"fit": "calibrated"}, ("calibrated", "mx+b")),
        (None, OWN | {"fit": "transition"}, ("transition", "mx")),
        (None, OWN | {"form": "mx"}, ("calibrated", "mx")),
        (None, OWN | {"form": None}, ("calibrated", None)),
        (None, OWN | {"hyperparameters": {"form": None, "fit": "pairwise"}}, ("pairwise", None)),
        ("A1.1", {}, ("pairwise", None)),  # the paper's: no fit
        ("A1.1", {"fit": "calibrated"}, ("calibrated", "mx")),
        ("A1.1", {"hyperparameters": {"fit": "transition"}}, ("transition", "mx")),
        ("A4.1", {"fit": "transition"}, ("transition", "mx+b")),
        ("triangle", {"fit": "transition"}, ("transition", "mx")),
    ],
)
def test_a_fit_that_is_named_is_made_and_a_robot_of_ones_own_is_fitted(scenario, given, expected):
    h = resolve(scenario, "asl", given).hyperparameters
    assert (h.fit, h.form) == expected


def test_only_asl_fits():
    assert resolve(None, "psl", OWN | {"fit": "calibrated"}).hyperparameters.form is None


def test_file_assignments_and_options_in_this_order(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("scenario: A2.1\nmethod: psl\nseed: 1\nhyperparameters: {gamma: 0.5, n_steps: 128}\n")
    config = configure(file, ["gamma=0.6", "net_arch=[8, 9]", "std_floor=null", "learning_rate=1e-4"], seed=2)
    h = config.hyperparameters
    assert (config.scenario, config.method, config.seed, config.steps) == ("A2.1", "psl", 2, 4_000_000)
    assert (h.gamma, h.n_steps, h.net_arch, h.std_floor, h.learning_rate) == (0.6, 128, (8, 9), None, 1e-4)
    assert h.policy_weight == 0.003


@pytest.mark.parametrize("nothing", ["null", "none", "None"])
def test_actuators_are_left_out_by_the_words_that_people_use_for_nothing(nothing):
    config = configure(None, [f"actuators={nothing}"], scenario="A1.1", method="equivariant")
    assert config.hyperparameters.actuators is None


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("gamma", "key=value"),
        ("gama=1", "'gamma'"),
        ("method=aslx", "'aslx'"),
        ("gamma=abc", "gamma"),
        ("net_arch=[64", "YAML"),
    ],
)
def test_wrong_assignments_are_refused(assignment, words):
    with pytest.raises(ValueError, match=words):
        configure(None, [assignment], scenario="A1.1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scenario: A1.1\ngamma: 0.9\ngamma: 0.5\n", "run.yaml: line 3: the key 'gamma' is given twice"),
        ("scenario: " + "[" * 200_000, "run.yaml: line 1: nested more than 64 levels deep"),
        ("- A1.1", "run.yaml: expected a mapping"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path, text, message):
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        configure(tmp_path / "run.yaml", [])


def test_switches_may_be_written_as_in_other_yaml(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("scenario: A1.1\nfast: off\northo_init: yes\n")
    h = configure(file, []).hyperparameters
    assert (h.fast, h.ortho_init) == (False, True)


@pytest.mark.parametrize(("drive", "fitted"), [("torque", "transition"), ("position", None)])
def test_no_actuators_by_default_behind_the_targets_of_a_controller(tmp_path, drive, fitted):
    """A scaled target moves where a joint settles, and leaves the feedback of a weak motor weak."""
    file = tmp_path / "legs.yaml"
    gains = {"action": "position", "kp": 30.0, "kd": 1.0, "step": 0.02}
    file.write_text(description_text(two_legs(gains if drive == "position" else "torque")))
    given = {"env": "Pendulum-v1", "symmetry": str(file)}
    assert resolve(None, "equivariant", given).hyperparameters.actuators == fitted
    named = resolve(None, "equivariant", given | {"actuators": "transition"})
    assert named.hyperparameters.actuators == "transition"


def test_a_later_layer_wins_wherever_its_values_stand(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("scenario: A2.1\nlearning_rate: 2.0e-3\nhyperparameters: {n_epochs: 3}\n")
    h = configure(file, ["hyperparameters={learning_rate: 5.0e-3, gamma: 0.9}"]).hyperparameters
    assert (h.learning_rate, h.gamma, h.n_epochs) == (5e-3, 0.9, 3)


def test_a_regression_that_would_slow_training_down_is_left_out_unless_asked_for(monkeypatch):
    monkeypatch.setattr(fittable, "MOST", 20e6)  # that of ant-v5 takes 23 MB, that of walker2d-v5 14
    fittable.obstacle.cache_clear()
    ant = {"env": "Ant-v5", "symmetry": "ant-v5"}
    assert resolve(None, "equivariant", ant).hyperparameters.actuators is None
    assert "0.0 GB, which would slow training down" in fittable.obstacle("transition", "ant-v5")
    asked = resolve(None, "equivariant", ant | {"actuators": "transition"})
    assert asked.hyperparameters.actuators == "transition"
    walker = {"env": "Walker2d-v5", "symmetry": "walker2d-v5"}
    assert resolve(None, "equivariant", walker).hyperparameters.actuators == "transition"
    fittable.obstacle.cache_clear()
