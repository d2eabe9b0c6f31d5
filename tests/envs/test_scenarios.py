from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import ambidex.symmetry
from ambidex.envs import scenarios
from ambidex.envs.making import make
from ambidex.envs.perturbations import ActionMultipliers, FootMasses, Tilt, conditions_at
from ambidex.envs.scenarios import Scenario
from tests.subprocesses import said_by_python

ALL, ODD, EVEN, HALF = tuple(range(8)), (1, 3, 5, 7), (0, 2, 4, 6), (0, 1, 2, 3)
A2 = [0.65, 0.75, 0.85, 0.95, 1.05, 1.15, 1.25, 1.35]
A3 = [0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7]

# The paper's tables of evaluation scenarios: training goals, evaluation goals, mandatory progress.
GOALS = {
    "A1.1": (ALL, ALL, False),
    "A1.2": ((0, 1), ALL, False),
    "A2.1": (ALL, ALL, False),
    "A2.2": (ALL, ALL, False),
    "A3.1": (ALL, ALL, False),
    "A3.2": (ALL, ALL, False),
    "A4.1": (ALL, ALL, True),
    "A4.2": (ODD, ODD, True),
    "A4.3": (EVEN, EVEN, True),
    "A4.4": (ALL, ALL, True),
    "A4.5": (ODD, ODD, True),
    "A4.6": (EVEN, EVEN, True),
    "A5.1": (HALF, ALL, True),
    "A5.2": (HALF, ALL, True),
    "A6.1": (ALL, ALL, True),
    "A6.2": (ODD, ODD, True),
    "A6.3": (EVEN, EVEN, True),
    "A6.4": (ALL, ALL, True),
    "A6.5": (ODD, ODD, True),
    "A6.6": (EVEN, EVEN, True),
}
VARIANTS = {"A2.2-authors", "A3.2-authors", "A2.1-reversed", "A3.1-reversed"}
WORN = "A1.1-wear"


def test_the_papers_scenarios_and_their_variants_are_there():
    found = {name for name in scenarios.names() if scenarios.get(name).env == "ambidex/Ant-v0"}
    assert found == set(GOALS) | VARIANTS | {WORN}


@pytest.mark.parametrize("name", GOALS)
def test_goals_are_those_of_the_papers_tables(name):
    scenario = scenarios.get(name)
    found = (scenario.train_goals, scenario.evaluation_goals, scenario.must_progress)
    assert found == GOALS[name]


@pytest.mark.parametrize(
    ("step", "gain"),
    [(0, 1.0), (1_000_000, 1.0), (1_250_000, 0.75), (1_500_000, 0.5), (2_000_000, 0.5)],
)
def test_one_motor_weakens_to_half_between_one_and_one_and_a_half_million_steps(step, gain):
    found = conditions_at(scenarios.get(WORN).perturbations, step, actuators=8)
    assert found.gains.tolist() == [1, 1, 1, gain, 1, 1, 1, 1]
    assert found.action_limits.tolist() == [1] * 8  # it grows weak: no larger action makes up for it


def test_a_worn_motor_is_as_worn_when_its_state_is_restored():
    pytest.importorskip("mujoco")
    env, other = (make("ambidex/AntMujoco-v0", scenario=WORN).unwrapped for _ in range(2))
    env.reset(seed=0)
    env.training_steps = 1_250_000
    env.step(np.ones(8, np.float32))
    other.reset(seed=1)
    other.set_state(env.get_state())
    assert other.training_steps == env.training_steps == 1_250_001
    for _ in range(3):
        ours, theirs = env.step(np.ones(8, np.float32)), other.step(np.ones(8, np.float32))
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1] == theirs[1]
    maps = other.true_action_maps()["xz"][0]  # joint 5 mirrors joint 3, whose gain is 0.75 by now
    assert maps[3] == pytest.approx(1 / 0.75, rel=1e-4) and maps[5] == pytest.approx(0.75, rel=1e-4)


def expected_perturbations(name):
    family, number = name.split("-")[0].split(".")
    if family in ("A2", "A3"):
        multipliers = A2 if family == "A2" else A3
        multipliers = multipliers[::-1] if name.endswith("reversed") else multipliers
        return [
            ActionMultipliers(
                multipliers=multipliers,
                range="multipliers" if number == "2" else "unchanged",
                saturation=1.0 if name.endswith("authors") else None,
            )
        ]
    if family in ("A4", "A5"):
        neighbours = (40.0, 20.0, None, None)
        opposite = (40.0, None, 20.0, None)
        first_kind = number in "123" if family == "A4" else number == "1"
        return [FootMasses(masses=neighbours if first_kind else opposite)]
    if family == "A6":
        return [Tilt(degrees=5.0, goal=0 if number in "123" else 1)]
    return []


@pytest.mark.parametrize("name", [*GOALS, *sorted(VARIANTS)])
def test_perturbations_are_those_of_the_papers_tables(name):
    assert list(scenarios.get(name).perturbations) == expected_perturbations(name)


# Of the reversed scenarios, by hand: sign * gain of the source / gain of the target, joint by joint.
REVERSED_MAPS = {
    "A2.1-reversed": {
        "xz": [-0.5556, 0.5200, -0.8261, 0.8095, -1.2105, 1.2353, -1.8000, 1.9231],
        "r90": [0.5556, 0.5200, 1.1739, -1.1905, 1.2105, 1.2353, 1.2667, -1.3077],
    },
    "A3.1-reversed": {
        "xz": [-0.2941, 0.2000, -0.6923, 0.6364, -1.4444, 1.5714, -3.4000, 5.0000],
        "r90": [0.2941, 0.2000, 1.3077, -1.3636, 1.4444, 1.5714, 1.8000, -2.3333],
    },
}
# In N m, at an action of 0.4: the gain times 0.4 of the largest torque, 250.
REVERSED_TORQUES = {
    "A2.1-reversed": [135, 125, 115, 105, 95, 85, 75, 65],
    "A3.1-reversed": [170, 150, 130, 110, 90, 70, 50, 30],
}


@pytest.mark.parametrize("name", REVERSED_MAPS)
def test_a_reversed_scenario_turns_the_order_of_the_multipliers_and_nothing_else(name):
    original, turned = scenarios.get(name.removesuffix("-reversed")), scenarios.get(name)
    (ascending,), (descending,) = original.perturbations, turned.perturbations
    assert descending.multipliers == ascending.multipliers[::-1]
    own = {"name", "description", "perturbations"}
    assert turned.model_dump(exclude=own) == original.model_dump(exclude=own)


@pytest.mark.parametrize("name", REVERSED_MAPS)
def test_a_reversed_motor_gets_the_torque_of_its_multiplier_and_has_the_true_maps(name):
    from ambidex.envs.ant.mujoco import AntMujocoEnv

    env = AntMujocoEnv(name)
    env.reset(seed=0)
    env.step(np.full(8, 0.4, np.float32))
    np.testing.assert_allclose(env.simulator.data.ctrl, REVERSED_TORQUES[name], rtol=1e-6)
    env.step(env.action_space.high)
    np.testing.assert_allclose(env.simulator.data.ctrl, [250] * 8, rtol=1e-6)
    np.testing.assert_allclose(env.action_space.high, [100 / torque for torque in REVERSED_TORQUES[name]])
    maps = env.true_action_maps()
    for transform, expected in REVERSED_MAPS[name].items():
        multipliers, biases = maps[transform]
        np.testing.assert_allclose(multipliers, expected, atol=5e-5)
        assert not biases.any()


@pytest.mark.pybullet
@pytest.mark.parametrize("name", REVERSED_MAPS)
def test_on_pybullet_a_reversed_motor_gets_the_same(name, monkeypatch):
    import pybullet

    from ambidex.envs.ant.bullet import JOINT_LINKS, AntBulletEnv

    env = AntBulletEnv(name)
    env.reset(seed=0)
    driven = []
    real = pybullet.setJointMotorControlArray

    def record(body, joints, mode, forces, **options):
        driven.append((joints, mode, list(forces)))
        real(body, joints, mode, forces=forces, **options)

    monkeypatch.setattr(pybullet, "setJointMotorControlArray", record)
    env.step(np.full(8, 0.4, np.float32))
    ((joints, mode, forces),) = driven
    assert (joints, mode) == (JOINT_LINKS, pybullet.TORQUE_CONTROL)
    np.testing.assert_allclose(forces, REVERSED_TORQUES[name], rtol=1e-6)
    env.close()


@pytest.mark.parametrize("name", scenarios.names())
def test_every_scenario_has_words_and_a_symmetry_that_loads(name):
    scenario = scenarios.get(name)
    assert len(scenario.description) > 30
    assert len(ambidex.symmetry.load(scenario.symmetry)) > 0


def test_an_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(ValueError, match=r"no scenario is called 'A7\.1'; did you mean 'A[0-9]\.1'"):
        scenarios.get("A7.1")


MINE = """
limping:
  env: ambidex/Ant-v0
  symmetry: ant
  description: Joint 3 wears out, then foot 0 gets a load.
  train_goals: [1, 3]
  perturbations:
    - {kind: wear, actuators: [3], schedule: [[0, 1.0], [500000, 0.6]]}
    - {kind: sudden_change, step: 1000000, change: {kind: foot_masses, masses: [40, null, null, null]}}
"""


def test_a_user_writes_a_scenario_in_a_few_lines(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    scenario = scenarios.get(str(path))
    assert scenario.name == "limping"
    assert scenario.train_goals == (1, 3)
    assert scenario.evaluation_goals == ALL
    assert [perturbation.kind for perturbation in scenario.perturbations] == ["wear", "sudden_change"]
    assert Scenario(**scenario.model_dump()) == scenario


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {}\n", r"mine.yaml: scenario 'a', env: Field required"),
        (MINE.replace("train_goals", "goals"), r"scenario 'limping', goals: Extra inputs"),
        (MINE.replace("[1, 3]", "[1, 9]"), r"scenario 'limping', train_goals.1: .*less than or equal to 7"),
        (MINE.replace("kind: wear", "kind: tear"), r"perturbations.0: .*no perturbation of kind 'tear'"),
        (MINE.replace("kind: wear", "kind: [wear]"), r"perturbations.0: .*no .* of kind \['wear'\]"),
        (MINE + "  name: mine\n", r"mine.yaml: scenario 'limping' has its name already; remove"),
        (MINE + "  7: seven\n", r"scenario 'limping', 7: .*strings"),
        (MINE + "  symmetry: bee\n", r"mine.yaml: line 10: the key 'symmetry' is given twice"),
        (MINE + MINE, r"mine.yaml: line 11: the key 'limping' is given twice"),
        ("[a]: {}\n", r"mine.yaml: line 1: .*cannot be a key"),
        (MINE + MINE.replace("limping", "other"), r"expected one scenario, found 2: limping, other"),
        ("- 1\n", "maps each scenario's name to its fields"),
        ("", "maps each scenario's name to its fields"),
        ("limping: {env: [\n", r"mine.yaml is not YAML: .*line"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        scenarios.get(str(path))


def command(*arguments):
    script = "import sys; from ambidex.cli import main; sys.argv = ['ambidex', *sys.argv[1:]]; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


def test_the_command_lists_every_scenario():
    listed = command("scenarios")
    assert all(name in listed for name in scenarios.names())
    found = json.loads(command("scenarios", "--json"))
    assert [entry["name"] for entry in found] == scenarios.names()
    assert found[scenarios.names().index("A6.4")]["perturbations"] == [
        {"kind": "tilt", "degrees": 5.0, "goal": 1}
    ]


def test_listing_imports_no_simulator_and_no_torch():
    script = "import sys, ambidex.envs.scenarios as s; s.names(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert not {"pybullet", "mujoco", "torch", "matplotlib"} & set(done.stdout.split())


def test_without_pybullet_one_sentence_says_what_serves_instead():
    script = (
        "import sys; sys.modules['pybullet'] = None\n"
        "from ambidex.envs.making import make\n"
        "from ambidex.envs import scenarios\n"
        "try:\n    make(scenarios.get('A1.1').env, scenario='A1.1')\n"
        "except ValueError as error:\n    print(error)\n"
        "make('ambidex/AntMujoco-v0', scenario='A1.1').reset()\n"
    )
    said = said_by_python(script)
    assert said == (
        "environment 'ambidex/Ant-v0': this ant needs PyBullet, which has wheels for Python 3.11 only "
        "(pip install 'ambidex[pybullet]'); --env ambidex/AntMujoco-v0 serves instead"
    )
