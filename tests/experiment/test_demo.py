from contextlib import nullcontext

import pytest

from ambidex.envs import scenarios
from ambidex.experiment import demo
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run.progress import Silent


def test_the_true_ratios_are_those_of_the_rust():
    (rust,) = scenarios.get(demo.SCENARIO).perturbations
    first, second, third = rust.resistances
    assert [true for _, _, true in demo.PAIRS.values()] == [second / first, third / first, third / second]


def test_ratios_are_read_from_the_last_maps(tmp_path):
    for seed in range(2):
        lines = ["iteration,steps,metric,transform,element,value"]
        for iteration, ratio in ((5, 1.0), (10, 2.5 + seed)):
            for name in "abc":
                lines += [f"{iteration},0,map_m,{name},{limb},{-ratio}" for limb in range(3)]
        (tmp_path / str(seed)).mkdir()
        (tmp_path / str(seed) / "symmetry.csv").write_text("\n".join(lines) + "\n")
    ratios = demo.learned_ratios([tmp_path / "0", tmp_path / "1"])
    assert [ratio.learned for ratio in ratios] == [(2.5, 3.5)] * 3
    assert [(ratio.mean, ratio.true) for ratio in ratios] == [(3.0, 2.0), (3.0, 3.0), (3.0, 1.5)]


def test_returns_are_the_mean_of_episodes_and_seeds(tmp_path):
    for seed, values in enumerate(((1, 3, 10, 20), (5, 7, 30, 40))):
        rows = [f"{i // 2},{100 * (1 + i // 2)},{i % 2},,{value},50" for i, value in enumerate(values)]
        (tmp_path / str(seed)).mkdir()
        text = "\n".join(["iteration,steps,episode,goal,return,length", *rows, ""])
        (tmp_path / str(seed) / "evaluations.csv").write_text(text)
    assert demo.mean_returns([tmp_path / "0", tmp_path / "1"]) == {100: 4.0, 200: 25.0}


def test_a_short_demonstration(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr(demo, "resolve", lambda scenario, method, own: resolve(scenario, method, own | tiny))
    monkeypatch.setattr(demo, "SEEDS", 2)
    shown = demo.demonstrate(tmp_path, lambda config: nullcontext(Silent()))
    assert {method: list(returns) for method, returns in shown.returns.items()} == {
        "ppo": [256, 512],
        "asl": [256, 512],
        "equivariant": [256, 512],
    }
    assert len(set(shown.directories)) == 6
    assert all((directory / "run.json").exists() for directory in shown.directories)
    assert [len(ratio.learned) for ratio in shown.ratios] == [2, 2, 2]


@pytest.mark.slow
def test_the_demonstration_finds_the_rust(tmp_path):
    shown = demo.demonstrate(tmp_path, lambda config: nullcontext(Silent()))
    for ratio in shown.ratios:
        assert ratio.mean == pytest.approx(ratio.true, rel=0.1), ratio.limbs
    assert shown.returns["ppo"].keys() == shown.returns["asl"].keys()
    areas = {method: sum(returns.values()) for method, returns in shown.returns.items()}
    assert areas["asl"] > areas["ppo"]
    assert areas["equivariant"] > areas["ppo"]
