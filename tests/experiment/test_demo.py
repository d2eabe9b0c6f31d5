from contextlib import nullcontext

import pytest

from ambidex.envs import scenarios
from ambidex.experiment import demo
from ambidex.experiment.presets import resolve
from ambidex.experiment.progress import Silent


def test_the_true_ratios_are_those_of_the_rust():
    (rust,) = scenarios.get(demo.SCENARIO).perturbations
    first, second, third = rust.resistances
    assert [true for _, _, true in demo.PAIRS.values()] == [second / first, third / first, third / second]


def test_ratios_are_read_from_the_last_maps(tmp_path):
    lines = ["iteration,steps,metric,transform,element,value"]
    for iteration, ratio in ((5, 1.0), (10, 2.5)):
        for name in "abc":
            lines += [f"{iteration},0,map_m,{name},{limb},{-ratio}" for limb in range(3)]
    (tmp_path / "symmetry.csv").write_text("\n".join(lines) + "\n")
    assert [(ratio.learned, ratio.true) for ratio in demo.learned_ratios(tmp_path)] == [
        (2.5, 2.0),
        (2.5, 3.0),
        (2.5, 1.5),
    ]


def test_a_short_demonstration(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr(demo, "resolve", lambda scenario, method, _: resolve(scenario, method, tiny))
    shown = demo.demonstrate(tmp_path, lambda config: nullcontext(Silent()))
    assert shown.best_returns.keys() == {"ppo", "asl"}
    assert all((directory / "run.json").exists() for directory in shown.directories)


@pytest.mark.slow
def test_the_demonstration_finds_the_rust(tmp_path):
    shown = demo.demonstrate(tmp_path, lambda config: nullcontext(Silent()))
    for ratio in shown.ratios:
        assert ratio.learned == pytest.approx(ratio.true, rel=0.1), ratio.limbs
