"""What is said about known robots."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from ambidex import load
from ambidex.actuators.scales import LOADED
from ambidex.diagnosis.diagnosis import ActuatorDiagnosis
from ambidex.diagnosis.history import Movement
from ambidex.diagnosis.motion import MotionDiagnosis, diagnose_motion
from ambidex.diagnosis.policy import PolicyDiagnosis
from ambidex.diagnosis.words import in_words
from tests.diagnosis.known_robots import known_diagnosis, logged


def test_words_name_the_actuator_and_what_it_needs() -> None:
    text = in_words(known_diagnosis())
    assert "joint 2, front left shoulder: needs 1.6" in text
    assert "times the command of its counterparts" in text
    assert "and 0.10 ± 0.01 where they need 0" in text.replace("\n    ", " ")
    assert text.index("joint 0, back") < text.index("joint 1, front right")  # the worst first


def test_a_sound_robot() -> None:
    found = known_diagnosis(scale=np.ones(3), offset=np.zeros(3))
    assert not any(one.is_off for one in found.actuators)
    text = in_words(found)
    assert "No actuator differs" in text
    assert "joint 1, front right shoulder (1.00 ± 0.01)" in text.replace("\n    ", " ")


def test_a_policy_that_follows_no_symmetry() -> None:
    found = known_diagnosis(noise=5.0, scale=np.full(3, 0.2))
    assert not any(one.scale_known or one.is_off for one in found.actuators)
    text = in_words(found)
    assert "Not known:" in text
    assert "does not follow this symmetry" in text.replace("\n    ", " ")
    assert "hardly symmetric" in " ".join(text.split())


def test_a_share_of_saturated_states() -> None:
    found = known_diagnosis(scale=np.array([1.0, 2.0, 12.0]))
    assert found.behaviours[2].saturated > 0.3
    assert "at the end of its range" in in_words(found).replace("\n    ", " ")


def test_the_least_followed_transform() -> None:
    found = known_diagnosis()
    worse = tuple(replace(one, agreement=0.3) if one.name == "d" else one for one in found.transforms)
    found = replace(found, transforms=worse)
    assert found.least_followed.name == "d"
    assert "follows d least: agreement 0.30" in in_words(found)


def test_an_exactly_symmetric_policy_needs_few_words() -> None:
    found = known_diagnosis()
    exact = tuple(
        replace(one, agreement=0.999, value_distance=1e-7, value_distance_moved=Movement(1e-7, 3e-6, 500))
        for one in found.transforms
    )
    text = flowing(in_words(replace(found, transforms=exact)))
    assert "follows every transform exactly" in text and "are the same" in text
    assert "least" not in text and "went from 0.00" not in text


def test_what_the_symmetry_was_worth() -> None:
    found = known_diagnosis()
    gated = tuple(
        replace(
            one,
            blocked=0.7 if one.name == "a" else 0.1,
            value_distance=0.2 if one.name == "a" else 0.4,
            value_distance_moved=Movement(3.0, 1.0, 500),
        )
        for one in found.transforms
    )
    found = replace(found, transforms=gated, best_return=40.0)
    text = " ".join(in_words(found).split())
    assert "blocked 70% of a, 10% of b" in text
    assert "Much of a was refused" in text
    assert "0.20 (a) to 0.40 (b) of the values' own spread" in text
    assert "went from 3.00 to 1.00" in text
    assert "only plain PPO on the same scenario and seed can tell" in text
    assert "the symmetry helped" in " ".join(in_words(replace(found, plain_return=30.0)).split())
    assert "the symmetry hurt" in " ".join(in_words(replace(found, plain_return=50.0)).split())
    assert "too near for one seed to tell" in " ".join(in_words(replace(found, plain_return=40.3)).split())


def test_how_the_fit_of_the_training_moved() -> None:
    found = known_diagnosis()

    def said(first: float) -> str:
        behaviours = tuple(replace(one, moved=Movement(first, 0.55, 500)) for one in found.behaviours)
        return flowing(in_words(replace(found, behaviours=behaviours)))

    assert "own fit went from 1.00 to 0.55, most of it by step 500." in said(1.0)
    assert "own fit had 0.55 from its first step on." in said(0.5501)


def moved(scenario: str, *, steps: int = 2000, offsets: bool = False) -> MotionDiagnosis:
    return diagnose_motion("triangle", load("triangle"), logged(scenario, steps)[0], offsets=offsets)


def flowing(text: str) -> str:
    return " ".join(text.split())


def test_a_log_needs_no_policy() -> None:
    text = flowing(in_words(moved("triangle-rust")))
    assert text.startswith("triangle, 2,000 transitions joint 0, back shoulder: needs 0.5")
    assert "joint 2, front left shoulder: needs 1.6" in text
    assert "The largest ratio: joint 2 needs 3.0" in text
    assert "times the command of joint 0" in text
    assert "the noise of these transitions" in text
    assert "A limb that is heavier is told from that" in text
    assert "Offsets were left out" in text
    for word in ("policy follows", "agreement", "gate", "return", "visited", "values"):
        assert word not in text


def test_a_log_of_a_sound_robot() -> None:
    text = flowing(in_words(moved("triangle")))
    assert "No actuator differs" in text
    assert "geometric mean of their scales is 1." in text
    assert "largest ratio" not in text


def test_offsets_of_a_log_where_asked_for() -> None:
    found = moved("triangle-weight", offsets=True)
    text = flowing(in_words(found))
    assert re.search(r"joint 0, back shoulder: needs −0\.\d\d ± 0\.0\d where its counterparts need 0\.", text)
    assert "false ones of up to 0.05" in text
    assert "left out" not in text
    less = tuple(
        replace(one, offset_interval=None if one.index == 1 else one.offset_interval)
        for one in found.actuators
    )
    unsure = replace(found, actuators=less)
    assert "Too uncertain to tell: the offset of joint 1." in flowing(in_words(unsure))


def test_a_log_that_is_too_short() -> None:
    found = moved("triangle", steps=30)
    text = flowing(in_words(found))
    assert f"Not known: joint 0, back shoulder: {found.actuators[0].reason}." in text
    assert "No actuator differs" not in text
    assert "±" not in text


def beside(policy: PolicyDiagnosis, **changed: object) -> str:
    """What is said where the motion says of joint 2 what is given, and of the others what a policy says."""
    known = known_diagnosis().actuators
    second: ActuatorDiagnosis = replace(known[2], **changed)  # type: ignore[arg-type]
    motion = MotionDiagnosis("", (*known[:2], second), (), transitions=9, offsets=False)
    return flowing(in_words(replace(policy, motion=motion)))


def test_the_robot_contradicts_the_policy() -> None:
    found = known_diagnosis()
    assert "does not contradict the policy" in beside(found)
    said = beside(found, scale=2.0, scale_interval=(1.9, 2.1))
    assert "joint 2, front left shoulder: the policy acts as if it needed 1.6" in said
    assert "counterparts. But the robot's own motion says 2.0 ± 0.1 times." in said
    assert said.count("own motion says") == 1
    assert said.count("acts as if") == 1
    assert "does not contradict" not in said


def test_a_contradiction_needs_two_that_know_and_cannot_both_be_right() -> None:
    found = known_diagnosis()
    apart = {"scale": 2.0, "scale_interval": (1.9, 2.1)}
    assert "does not contradict" in beside(found, scale=2.0, scale_interval=(1.2, 3.0))
    assert "does not contradict" in beside(found, **apart | {"scale_interval": None})
    assert "does not contradict" in beside(found, **apart, counterparts=(0,))  # another mean of scales
    nearly = found.actuators[2].scale * 1.03
    assert "does not contradict" in beside(found, scale=nearly, scale_interval=(nearly, nearly))


def test_a_limb_that_carries_a_load_is_named() -> None:
    said = beside(known_diagnosis(), scale=1.0, scale_interval=None, reason=LOADED)
    assert f"Of joint 2, front left shoulder the robot's own motion says: {LOADED}." in said
    assert "does not contradict" not in said


def test_the_robot_tells_what_the_policy_does_not() -> None:
    found = known_diagnosis()
    sound = replace(found.actuators[2], scale=1.0, scale_interval=(0.99, 1.01))
    fine = replace(found, actuators=(*found.actuators[:2], sound))
    said = beside(fine)
    assert "joint 2, front left shoulder: the robot's own motion says it needs 1.6" in said
    assert "the policy acts as if it were 1.00 ± 0.01." in said
    silent = replace(
        found,
        actuators=tuple(replace(one, scale_interval=None, offset_interval=None) for one in found.actuators),
    )
    said = beside(silent)
    assert said.count("the policy does not tell.") == 3
    mute = MotionDiagnosis("", silent.actuators, (), transitions=9, offsets=False)
    assert "more states may" in flowing(in_words(replace(found, motion=mute)))
