"""What a newcomer types wrong is answered by one sentence that names it and the fix."""

import sys

import pytest

from ambidex.cli import command_line as cli


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """What is said about a command; nothing of it is written."""
    monkeypatch.chdir(tmp_path)

    def refuse(words):
        before = set(tmp_path.iterdir())
        monkeypatch.setattr(sys, "argv", ["ambidex", *words.split()])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 2
        assert set(tmp_path.iterdir()) == before
        return " ".join(capsys.readouterr().err.split())

    return refuse


GIVE = "there is no file nofile.yaml; give a description's file or a name of the catalog, such as ant"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("lint nofile.yaml", GIVE),
        ("describe nofile.yaml", GIVE),
        ("train --env Pendulum-v1 --symmetry nofile.yaml", GIVE),
        ("lint antt.yaml", "there is no file antt.yaml; did you mean 'ant'?"),
        ("train triangle --config nofile.yaml", "there is no file nofile.yaml"),
        ("diagnose --symmetry ant --transitions nofile.npz", "there is no file nofile.npz"),
        (
            "diagnose --symmetry ant --transitions no/f.csv",
            "there is no file no/f.csv, nor a folder no",
        ),
        ("evaluate none.onnx --symmetry triangle", "there is no file none.onnx"),
    ],
)
def test_a_file_that_is_not_there(refused, words, sentence):
    assert refused(words) == f"ambidex: {sentence}"


def test_a_file_beside_it_is_nearer_than_the_catalog(refused, tmp_path):
    (tmp_path / "walker.yaml").touch()
    assert refused("lint walkr.yaml").endswith("there is no file walkr.yaml; did you mean 'walker.yaml'?")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "lint ant --env Blockworld-v0",
            "Gymnasium knows none of that name; for one of your own write module:Blockworld-v0",
        ),
        (
            "train --env Pendlum-v1 --method ppo",
            "'Pendlum-v1': Gymnasium knows none of that name; did you mean 'Pendulum-v1'?",
        ),
        (
            "train --env Pendulum-v1",
            "needs a symmetry file; --symmetry pendulum-v1 is in the catalog; --method ppo needs none",
        ),
        (
            "train --env ambidex/Triangle-v0",
            "needs a symmetry file; --symmetry triangle is in the catalog; --method ppo needs none",
        ),
        ("train --env MountainCar-v0", "'MountainCar-v0' needs a symmetry file; --method ppo needs none"),
        (
            "train --env Pendulum-v1 --symmetry triangle",
            "triangle does not describe Pendulum-v1: the environment's observation has 3 elements, but the "
            "transforms act on 10; `ambidex lint triangle --env Pendulum-v1` says more",
        ),
        ("train --env Pendulum-v1 --symmetry triangle --normalize", "triangle does not describe Pendulum-v1"),
    ],
)
def test_an_environment_that_is_not_there_or_not_described(refused, words, sentence):
    assert sentence in refused(words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--set learning_rate=abc", "learning_rate is a number above 0, such as 3e-05, not 'abc'"),
        ("--set batch_size=1.5", "batch_size is a whole number above 1, such as 64, not 1.5"),
        ("--set gamma=2", "gamma is a number from 0 to 1, such as 0.99, not 2"),
        ("--set ent_coef=much", "ent_coef is a number from 0 or a text, such as 0, not 'much'"),
        ("--set desired_kl=0", "desired_kl is a number above 0 or none, not 0"),
        ("--set normalize=maybe", "normalize is true or false or rewards, not 'maybe'"),
        ("--set net_arch=[a]", "net_arch is a list of whole numbers, not 'a'"),
        ("--set net_arch=[0]", "net_arch: a hidden layer has from 1 to 100,000,000 units"),
        ("--set activation=relo", "activation is one of relu, tanh, elu, not 'relo'"),
        ("--set seed=-1 --set steps=1e6", "seed is a whole number from 0, such as 0, not -1"),
    ],
)
def test_a_value_that_is_none(refused, words, sentence):
    assert refused(f"train triangle {words}") == f"ambidex: {sentence}"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("train triangle --steps 0", "'--steps': 0 is not a whole number from 1 on"),
        (
            "train triangle --steps 1.5",
            "'--steps': 1.5 is not a whole number from 1 on",
        ),
        (
            "sweep --scenarios triangle --methods ppo --out o --seeds 0",
            "'--seeds': it should be ",
        ),
    ],
)
def test_an_option_that_is_no_count(refused, words, sentence):
    assert f"Error: Invalid value for {sentence}" in refused(words)


@pytest.mark.parametrize(
    ("words", "option", "meant"),
    [("train triangle --method aslx", "--method", "asl"), ("export ant --to rslrl", "--to", "rsl_rl")],
)
def test_a_choice_that_there_is_not(refused, words, option, meant):
    said = refused(words)
    assert f"Error: Invalid value for '{option}': '{words.split()[-1]}' is not one of '" in said
    assert said.endswith(f"; did you mean '{meant}'?")


def test_a_search_without_its_library_leaves_nothing_behind(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    said = refused("tune --scenarios triangle --out tuned")
    assert said == "ambidex: tune needs Optuna: pip install 'ambidex[tune]'"
