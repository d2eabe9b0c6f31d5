"""How symmetric a policy is, by its answers: against a slow loop, and where a mirror loss says nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from ambidex.cli import app
from ambidex.diagnosis.policy_files.evaluation import PolicyEvaluation, evaluate, evaluate_policy_file
from ambidex.diagnosis.policy_files.visited import read_visited
from ambidex.diagnosis.policy_files.words import in_words
from ambidex.symmetry import load
from tests.diagnosis.policy_files.biped import DESCRIPTION, SIGNS, WRONG_SIGNS, Obedient, mirror_loss, walk
from tests.symmetry.tables import ant_tables

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.jit's own


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    path = tmp_path / "biped.yaml"
    path.write_text(DESCRIPTION)
    return path


def stored(policy: Obedient, folder: Path, name: str) -> tuple[Path, Path]:
    """The policy's file and its log."""
    torch.jit.script(policy).save(str(folder / f"{name}.pt"))
    np.savez(folder / f"{name}.npz", observations=walk(policy))
    return folder / f"{name}.pt", folder / f"{name}.npz"


def evaluated(files: tuple[Path, Path], robot: Path) -> PolicyEvaluation:
    return evaluate_policy_file(files[0], symmetry=str(robot), observations=files[1], trust=True)


def test_a_mirror_that_negates_one_phase_channel_hides_a_limp(tmp_path: Path, robot: Path) -> None:
    """A logged loss below the 2.9e-5 of a policy that limped, on one that is nowhere symmetric."""
    policy = Obedient(WRONG_SIGNS)
    files = stored(policy, tmp_path, "limping")
    assert mirror_loss(policy, np.load(files[1])["observations"], WRONG_SIGNS) < 1e-12
    found = evaluated(files, robot)
    (mirror,) = found.transforms
    assert min(mirror.equivariance) > 0.2
    assert mirror.timing is not None and min(mirror.timing) > 0.2
    assert max(map(abs, mirror.gait)) < 0.05  # each leg goes as far, but one of them the other way round
    assert found.worst.value > 0.5


def test_the_right_mirror_gives_a_policy_that_is_symmetric_in_every_way(tmp_path: Path, robot: Path) -> None:
    policy = Obedient(SIGNS)
    files = stored(policy, tmp_path, "walking")
    assert mirror_loss(policy, np.load(files[1])["observations"], SIGNS) < 1e-12
    found = evaluated(files, robot)
    (mirror,) = found.transforms
    assert max(mirror.canonical) < 1e-5 and max(mirror.equivariance) < 1e-5
    assert found.motion_of == "positions"
    assert (found.period, mirror.delay) == (50, 25)  # a walk: the legs follow each other by half a period
    assert max(map(abs, mirror.gait)) < 0.05 and max(mirror.timing or ()) < 0.05
    assert found.joints == ("left.hip", "left.knee", "right.hip", "right.knee")


def test_measures_are_those_of_a_slow_loop(tmp_path: Path) -> None:
    """By the paper's tables of the ant, for a linear policy."""
    random = np.random.default_rng(0)
    weights = random.normal(size=(8, 28)) / 5
    rows = random.normal(size=(60, 28)).astype(np.float32)
    np.savez(tmp_path / "log.npz", rows)
    visited = read_visited(tmp_path / "log.npz", load("ant"))
    found = evaluate(
        lambda states: states.astype(np.float64) @ weights.T, visited, policy="p", symmetry="ant"
    )
    tables = {name: ant_tables(name) for name in ("xz", "r90")}

    def turned(row: Any, table: dict[str, Any], side: str) -> Any:
        indices, signs = table[f"{side}_indices"], table[f"{side}_multipliers"]
        return np.array([sign * row[index] for index, sign in zip(indices, signs, strict=True)])

    actions = np.array([weights @ row for row in rows])
    for name, order in (("xz", 2), ("r90", 4)):
        (one,) = [one for one in found.transforms if one.transform == name]
        table = tables[name]
        equivariance, canonical = np.zeros(8), np.zeros(8)
        for row in rows:
            image = turned(row, table, "obs")
            equivariance += np.abs(weights @ image - turned(weights @ row, table, "act")) / len(rows)
            orbit = [row]
            while len(orbit) < order:
                orbit.append(turned(orbit[-1], table, "obs"))
            action = weights @ np.mean(orbit, axis=0)
            canonical += np.abs(action - turned(action, table, "act")) / len(rows)
        # All four hips are one orbit, all four ankles another: one unit for each.
        hips = np.sqrt(np.mean([actions[:, index].var() for index in (0, 2, 4, 6)]))
        ankles = np.sqrt(np.mean([actions[:, index].var() for index in (1, 3, 5, 7)]))
        unit = np.tile([hips, ankles], 4)
        np.testing.assert_allclose(one.equivariance, equivariance / unit, rtol=1e-4)
        np.testing.assert_allclose(one.canonical, canonical / unit, rtol=1e-4, atol=1e-6)
        assert one.timing is None  # noise does not repeat itself


def test_a_joint_that_is_kept_still_is_measured_in_what_its_counterpart_does(
    robot: Path, tmp_path: Path
) -> None:
    rows = walk(Obedient(SIGNS))
    np.savez(tmp_path / "log.npz", rows)

    def one_legged(states: Any) -> Any:
        answers = Obedient(SIGNS)(torch.from_numpy(np.array(states, np.float32))).double().numpy()
        return answers * [1, 1, 0, 1]

    found = evaluate(one_legged, read_visited(tmp_path / "log.npz", load(robot)), policy="p", symmetry="s")
    (mirror,) = found.transforms
    assert mirror.equivariance[0] == pytest.approx(mirror.equivariance[2], rel=0.05)
    assert 0.5 < mirror.equivariance[0] < 3
    assert mirror.equivariance[1] < 1e-5


def test_a_policy_that_never_moves_has_no_measure(robot: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "log.npz", walk(Obedient(SIGNS)))
    visited = read_visited(tmp_path / "log.npz", load(robot))
    with pytest.raises(ValueError, match="the same action in every logged state"):
        evaluate(lambda states: np.zeros((len(states), 4)), visited, policy="p", symmetry="s")


def test_the_documentation_shows_what_is_said(tmp_path: Path, robot: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "with-other-frameworks.md").read_text()
    found = evaluated(stored(Obedient(WRONG_SIGNS), tmp_path, "limping"), robot)
    said, _, _ = in_words(found).partition("\n\nself-symmetric:")
    assert said in page


def run(*words: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result


def test_the_verb_says_it_in_words_and_json_and_fails_past_a_threshold(tmp_path: Path, robot: Path) -> None:
    walking, log = stored(Obedient(SIGNS), tmp_path, "walking")
    limping, limp = stored(Obedient(WRONG_SIGNS), tmp_path, "limping")
    options = ["--symmetry", robot, "--trust"]
    said = run("evaluate", walking, "--observations", log, *options, "--threshold", 0.1).output
    assert "the gait repeats every 50 rows and follows its image by 25, 0.50 of a period" in said
    figure = tmp_path / "limping.png"
    failed = run(
        "evaluate", limping, "--observations", limp, *options, "--threshold", 0.1, "--figure", figure, code=1
    )
    assert "past the threshold 0.1: " in failed.stderr
    assert figure.stat().st_size > 5000
    found = json.loads(run("evaluate", limping, "--observations", limp, *options, "--json").stdout)
    worst = found["worst"]
    (mirror,) = found["transforms"]
    assert worst["value"] == max(
        abs(v) for m in ("canonical", "equivariance", "gait", "timing") for v in mirror[m]
    )
    assert found["joints"][mirror[worst["measure"]].index(worst["value"])] == worst["joint"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("{pt} --symmetry {robot} --observations {log}", "give --trust"),
        ("{pt} --trust --observations {log}", "give --symmetry and --observations"),
        ("{pt} --trust --symmetry {robot} --observations {log} --episodes 3", "--episodes is for a run"),
        ("{folder} --symmetry {robot}", "--symmetry is for the file of a policy"),
        ("{folder} --threshold 1", "--threshold is for the file of a policy"),
    ],
)
def test_wrong_usage_is_refused(tmp_path: Path, robot: Path, words: str, reason: str) -> None:
    policy, log = stored(Obedient(SIGNS), tmp_path, "walking")
    with pytest.raises(ValueError, match=reason):
        CliRunner().invoke(
            app,
            ["evaluate", *words.format(pt=policy, log=log, robot=robot, folder=tmp_path).split()],
            catch_exceptions=False,
        )
