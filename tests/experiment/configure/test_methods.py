"""Methods and fits by name, and how a user adds one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ambidex.cli import app
from ambidex.experiment.configure.config import Hyperparameters, RunConfig, parse
from ambidex.experiment.configure.fits import FITS, FitChoice, default_fit
from ambidex.experiment.configure.methods import METHODS, Method
from ambidex.experiment.configure.presets import configure, refuse_unused, resolve
from ambidex.experiment.one_run import run
from ambidex.experiment.tuning.space import parse_space
from ambidex.experiment.tuning.task import Task
from ambidex.learn import ASL, MSL, CalibratedFit
from ambidex.report import load_runs, summarise
from ambidex.report.charts.charts import charts

OWN = Method(
    name="mine",
    label="Mine",
    colours=("#123456", "#abcdef"),
    arguments=lambda config, group: {"loss": MSL(policy_weight=0.25, original=True)},
    dash="dash",
)


@pytest.fixture
def own() -> Iterator[Method]:
    METHODS.register(OWN)
    yield OWN
    METHODS.remove(OWN.name)


def test_a_method_from_outside_the_package_is_trained_and_reported(
    own: Method, tmp_path: Path, tiny: dict
) -> None:
    config = resolve("triangle", "mine", tiny | {"steps": 128, "evaluation_every": 1})
    assert config.title == "triangle mine seed 0"
    run.train(config, tmp_path / "run")
    returns = charts(summarise(load_runs([tmp_path])).scenarios[0])[0]
    (line,) = returns.lines
    assert (line.label, line.colour, line.dash) == ("Mine", "mine", "dash")


@pytest.mark.parametrize(
    ("method", "assignment", "words"),
    [
        ("msl", "relax=weights", "method 'msl' takes no relax, which is for equivariant; leave it out"),
        ("equivariant", "symmetry_samples=1", "no symmetry_samples, which is for msl, psl, asl and augment"),
        ("equivariant", "policy_weight=0.3", "takes no policy_weight"),
        ("plain", "max_shift=0.1", "method 'ppo' takes no max_shift, which is for asl"),
        ("psl", "frame_margin=0.2", "which is for relabel"),
    ],
)
def test_a_setting_of_other_methods_is_refused(method: str, assignment: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        configure(None, [assignment], scenario="triangle", method=method)


def test_a_setting_may_be_for_one_method_of_several(tmp_path: Path) -> None:
    refuse_unused(["ppo", "asl"], {"max_shift": 0.1})
    words = ["sweep", "--scenarios", "triangle", "--methods", "ppo", "msl", "--set", "max_shift=0.1"]
    refused = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "runs")])
    assert "methods 'ppo' and 'msl' take no max_shift, which is for asl" in str(refused.exception)
    assert not (tmp_path / "runs").exists()
    task = Task(("triangle",), "msl", 10_000)
    with pytest.raises(ValueError, match="'msl' takes no relax"):
        task.check(parse_space({"relax": ["weights", None]}, "space.yaml"))


@pytest.mark.parametrize("assignment", ["update_weight=0.2", "fit_memory=1e5"])
def test_settings_of_fits_are_for_actuators_too(assignment: str) -> None:
    config = configure(None, [assignment], scenario="A3.1", method="equivariant")
    name, _, value = assignment.partition("=")
    assert getattr(config.hyperparameters, name) == float(value)


def test_a_file_may_serve_several_methods(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text("max_shift: 0.1\ngamma: 0.9\n")
    for method in ("asl", "ppo"):
        config = configure(tmp_path / "ours.yaml", [], scenario="triangle", method=method)
        assert config.hyperparameters.gamma == 0.9


def test_every_setting_of_a_method_exists() -> None:
    named = {name for method in METHODS for name in method.settings or ()}
    assert named < Hyperparameters.model_fields.keys()


def test_what_a_method_says_reaches_the_model(own: Method, tiny: dict) -> None:
    from ambidex import symmetry
    from ambidex.experiment.configure import build

    config = resolve("triangle", "mine", tiny)
    model = build.build_model(config, build.training_environment(config), symmetry.load("triangle"))
    assert model.loss == MSL(policy_weight=0.25, original=True)


def test_a_fit_from_outside_the_package(tiny: dict) -> None:
    from ambidex import symmetry
    from ambidex.experiment.configure import build

    fit = CalibratedFit(offsets=False)
    FITS.register(FitChoice("fixed", "mx", lambda form, update_weight: fit))
    try:
        config = resolve("triangle", "asl", tiny | {"fit": "fixed"})
        model = build.build_model(config, build.training_environment(config), symmetry.load("triangle"))
    finally:
        FITS.remove("fixed")
    assert isinstance(model.loss, ASL) and model.loss.fit is fit


def test_the_default_fit_is_that_of_python() -> None:
    choice = default_fit()
    assert choice.name == "calibrated"
    assert choice.make(choice.form, None) == ASL().fit


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"method": "aslx"}, r"method: no method 'aslx'; did you mean 'asl'\?"),
        ({"method": "sac"}, "no method 'sac'; there are ppo, msl, psl, asl"),
        ({"hyperparameters": {"fit": "pairwis"}}, r"fit: no fit 'pairwis'; did you mean 'pairwise'\?"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(RunConfig, {"scenario": "A1.1"} | values)


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="there is a method 'asl' already"):
        METHODS.register(METHODS.get("asl"))


@pytest.mark.parametrize(
    ("name", "colour", "message"),
    [("../up", "#123456", "small letters"), ("mine", "red", "the colour 'red' is not like")],
)
def test_names_of_directories_and_colours_of_pages(name: str, colour: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Method(name, "Mine", (colour, colour), arguments=lambda config, group: {})
