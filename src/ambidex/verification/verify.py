"""`verify`: does a robot move as its description says?

From many visited states s the simulator is put into s and into the image of s, which geometry makes without
the tables under test. There a and g(a) are applied, and f(s), f(s'), reward and ending are compared with what
came. See docs/check.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.envs.making import make
from ambidex.symmetry import Symmetry, SymmetryGroup, load
from ambidex.symmetry.isometry import name_of, named
from ambidex.verification.bench import IDENTITY, Advance, Bench, Branches, Policy
from ambidex.verification.element_names import Names
from ambidex.verification.memory import Memory, memory_of
from ambidex.verification.results import Cause, TransformResult, Verification
from ambidex.verification.scores import (
    PLACED_THRESHOLD,
    STEP_THRESHOLD,
    apply,
    observation_parts,
    scores,
    spread_of,
)
from ambidex.verification.simulators.protocol import (
    ISOMETRIES,
    ObservedState,
    SymmetricSimulator,
    simulator_of,
)
from ambidex.verification.statistical import LIMITS, verify_statistically
from ambidex.verification.transform_check import TransformCheck

FITTING_STATES = 16
HORIZONS = (1, 2, 5, 10)
BY_OBSERVATION = (
    "The environment could be set by its observation only, so images were made with the table under test: "
    "an error that is the same before and after a step goes unseen.",
)


def verify(
    group: SymmetryGroup | str,
    env: gymnasium.Env[Any, Any] | str,
    *,
    states: int = 64,
    horizons: Sequence[int] = HORIZONS,
    policy: Policy | None = None,
    simulator: SymmetricSimulator | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Verification:
    """Hold a description against a simulator.

    :param group: the description, its file or its name in the catalog
    :param env: a Gymnasium environment or its id; its wrappers must be the ones that the description is for
    :param states: how many states to visit
    :param horizons: after how many steps to compare; verdicts use one step
    :param policy: a function from observation to action that takes half of the steps between visited states;
        all of them are random by default
    :param simulator: how the environment is set to the image of a state, such as a `MujocoSimulator`; by
        default what the environment has, or what is known here
    :param seed: of the starts and the actions
    :param progress: show a bar
    """
    group = load(group) if isinstance(group, str) else group
    _check_numbers(states, horizons)
    made = make(env) if isinstance(env, str) else env
    try:
        _check_sizes(group, made)
        simulator = simulator or simulator_of(made)
        limits: tuple[str, ...] = ()
        steps = max(horizons)
        with _bar(progress, (len(group) + 1) * states * steps + 10 * states) as advance:
            bench_options: dict[str, Any] = {"states": states, "steps": steps, "seed": seed, "policy": policy}
            if simulator is not None:
                with getattr(simulator, "exact", nullcontext)():
                    bench = Bench(made, simulator, advance=advance, **bench_options)
                    results, limits = _verify_by_geometry(group, bench, horizons)
                mode = "geometry"
            elif ObservedState.fits(made):
                results, limits = _verify_by_observation(group, made, horizons, advance, bench_options)
                mode = "observation"
            else:
                results = list(verify_statistically(group, made, names_of(group), seed=seed, advance=advance))
                mode, limits = "statistics", LIMITS
        return Verification(
            environment_name(made),
            mode,
            states,
            tuple(horizons),
            (PLACED_THRESHOLD, STEP_THRESHOLD),
            tuple(results),
            limits,
        )
    finally:
        if isinstance(env, str):
            made.close()


def _verify_by_geometry(
    group: SymmetryGroup, bench: Bench, horizons: Sequence[int]
) -> tuple[list[TransformResult], tuple[str, ...]]:
    base, memory = _base(bench)
    images: dict[str, FloatArray] = {}
    refused: dict[str, TransformResult] = {}
    for symmetry in group:
        isometry = symmetry.isometry if symmetry.isometry is not None else _fitting(symmetry, bench, base)
        try:
            bench.place(isometry, states=1)
        except ValueError as error:
            refused[symmetry.name] = _without_image(symmetry, isometry, error)
        else:
            images[symmetry.name] = isometry
    placed = [bench.place(isometry, states=FITTING_STATES) for isometry in images.values()]
    spread = spread_of(base.placed, base.observations, *placed)
    names = names_of(group)
    results = []
    for symmetry in group:
        if symmetry.name in refused:
            results.append(refused[symmetry.name])
            continue
        isometry = images[symmetry.name]
        result = TransformCheck(symmetry, isometry, bench, base, spread, memory).run(horizons, names)
        results.append(_with_other_isometry(result, symmetry, isometry, bench, base))
    return results, memory.limits(names)


def _base(bench: Bench) -> tuple[Branches, Memory]:
    """What comes of the actions in the states themselves, and what does not when they are visited again."""
    visited = bench.revisit(FITTING_STATES)
    base = bench.branch(IDENTITY, lambda action: action)
    return base, memory_of(visited, base.first(FITTING_STATES))


def _verify_by_observation(
    group: SymmetryGroup,
    env: gymnasium.Env[Any, Any],
    horizons: Sequence[int],
    advance: Advance,
    bench_options: dict[str, Any],
) -> tuple[list[TransformResult], tuple[str, ...]]:
    results, limits, names = [], dict.fromkeys(BY_OBSERVATION), names_of(group)
    for symmetry in group:
        bench = Bench(env, ObservedState(env.unwrapped, symmetry), advance=advance, **bench_options)
        base, memory = _base(bench)
        spread = spread_of(base.placed, base.observations)
        # Any isometry but the identity asks for the image.
        results.append(TransformCheck(symmetry, -IDENTITY, bench, base, spread, memory).run(horizons, names))
        limits |= dict.fromkeys(memory.limits(names))
    return results, tuple(limits)


def _fitting(symmetry: Symmetry, bench: Bench, base: Branches) -> FloatArray:
    """The isometry of a table that does not say it: the one whose images its observation map fits best."""
    found = {}
    for name in dict.fromkeys((symmetry.name, *ISOMETRIES)):
        try:
            isometry = named(name)
        except ValueError:
            continue  # the transform has a name of its own
        if symmetry.kind is None or (symmetry.kind == "rotation") == (np.linalg.det(isometry) > 0):
            score = _placed_score(symmetry, isometry, bench, base)
            if score is not None:
                found[name] = score
    if not found:
        raise ValueError(
            f"transform {symmetry.name!r}: none of {', '.join(ISOMETRIES)} is a symmetry of this robot; "
            "say in the description how the transform moves the body (isometry: ...)"
        )
    return named(min(found, key=lambda name: found[name]))


def _placed_score(symmetry: Symmetry, isometry: FloatArray, bench: Bench, base: Branches) -> float | None:
    """The mean score of all observations in the isometry's images; None where there are no images."""
    try:
        image = bench.place(isometry, states=FITTING_STATES)
    except ValueError:
        return None
    expected = apply(observation_parts(symmetry), base.placed[:FITTING_STATES])
    return float(np.nanmean(scores(expected - image, spread_of(base.placed, image))))


def _with_other_isometry(
    result: TransformResult, symmetry: Symmetry, isometry: FloatArray, bench: Bench, base: Branches
) -> TransformResult:
    """Add the cause where a table is that of another isometry than the description says."""
    wrong = [cause for cause in result.causes if cause.side != "robot" and len(cause.elements) > 2]
    if symmetry.isometry is None or not wrong:
        return result
    for name in ISOMETRIES:
        if name != name_of(isometry):
            score = _placed_score(symmetry, named(name), bench, base)
            if score is not None and score < PLACED_THRESHOLD / 2:
                message = f"The observation table is not that of {name_of(isometry)}, but that of {name}."
                fix = f"give {symmetry.name} the isometry {name}, or the table of {name_of(isometry)}"
                return replace(result, causes=(Cause("observation", message, fix), *result.causes))
    return result


def _without_image(symmetry: Symmetry, isometry: FloatArray, error: ValueError) -> TransformResult:
    cause = Cause("robot", f"The robot has no such symmetry: {error}.")
    return TransformResult(symmetry.name, name_of(isometry), "broken", (cause,), ())


def names_of(group: SymmetryGroup) -> Names:
    """By the layout, or as ``observation 3``; keys of a Dict observation come in the order of their names."""
    parts = observation_parts(next(iter(group)))
    observations = [f"{part.side} {element}" for part in parts for element in range(part.map.size)]
    actions = [f"action {element}" for element in range(group.action_size)]
    if group.layout is not None:
        given = group.layout.observation_names
        observations = (
            [name for key in sorted(given) for name in given[key]] if isinstance(given, dict) else list(given)
        )
        actions = list(group.layout.action_names) or actions
    return Names(observations, actions, group.layout)


def environment_name(env: gymnasium.Env[Any, Any]) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def _check_sizes(group: SymmetryGroup, env: gymnasium.Env[Any, Any]) -> None:
    from ambidex.symmetry.linting.spaces import space_findings

    findings = space_findings(group, env.observation_space, env.action_space, environment_name(env))
    wrong = [str(finding) for finding in findings if finding.code == "size"]
    if wrong:
        raise ValueError("\n".join(wrong))


def _check_numbers(states: int, horizons: Sequence[int]) -> None:
    if states < FITTING_STATES:
        raise ValueError(f"states={states}: visit at least {FITTING_STATES}")
    if not horizons or min(horizons) < 1:
        raise ValueError(f"horizons={list(horizons)}: give numbers of steps, at least one of them")


@contextmanager
def _bar(shown: bool, total: int) -> Iterator[Advance]:
    if not shown:
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=total)

        def advance(steps: int) -> None:
            bar.update(task, advance=steps)
            progress = bar.tasks[0]
            if progress.total is not None and progress.completed > progress.total:
                bar.update(task, description="looking for the cause", total=progress.completed + 500)

        yield advance
