"""Methods and fits by name, and how a user adds one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ambidex.experiment.configure.config import RunConfig, parse
from ambidex.experiment.configure.fits import FITS, FitChoice, default_fit
from ambidex.experiment.configure.methods import METHODS, Method
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import run
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
