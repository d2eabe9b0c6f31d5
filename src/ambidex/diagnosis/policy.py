"""What a policy tells about its robot: a diagnosis from what it does in states and in their images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.sac.policies import SACPolicy

from ambidex.actuators.calibration import Calibration, calibrate
from ambidex.actuators.identification import expected_after_clipping
from ambidex.common.arrays import FloatArray
from ambidex.diagnosis.diagnosis import Diagnosis, actuators_of, shared_offsets_of
from ambidex.diagnosis.history import Movement, fitted_scales, true_scales
from ambidex.diagnosis.logged import Log, Observations, check_finite, read_observations
from ambidex.diagnosis.motion import MotionDiagnosis, can_tell, diagnose_motion
from ambidex.diagnosis.visited import visit
from ambidex.experiment.configure.algorithms import plain_way, way_label
from ambidex.experiment.many_runs.reading import Run, load_runs
from ambidex.learn.networks.actuated import commanded, commanded_deviation
from ambidex.learn.off_policy import answers
from ambidex.symmetry import SymmetryGroup, load

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

STATES = 4096


@dataclass(frozen=True)
class Behaviour:
    """What the policy does with one actuator.

    :param agreement: how closely it follows the calibrated symmetry there, 1 exactly, 0 not at all
    :param saturated: the share of states in which the command lies beyond the action box
    :param moved: the fitted scale over training, None where nothing was fitted
    """

    agreement: float
    saturated: float
    moved: Movement | None


@dataclass(frozen=True)
class Transform:
    """One symmetry: how the policy follows it, and what the training made of it.

    :param agreement: with the calibrated symmetry, the mean over the actuators that are known
    :param value_distance: mean \\|V(f(s)) - V(s)\\| in standard deviations of V, None without a critic
    :param value_distance_moved: the logged distance over training, None where it was not logged
    :param neutral: the share of states that the dead zone left out at the end, None if not logged
    :param blocked: the share of samples that the value gate blocked over the second half, None if not logged
    """

    name: str
    agreement: float
    value_distance: float | None
    value_distance_moved: Movement | None
    neutral: float | None
    blocked: float | None


@dataclass(frozen=True)
class PolicyDiagnosis(Diagnosis):
    """:param states: how many visited states it rests on
    :param behaviours: one for each actuator
    :param best_return: of the run, None without evaluations
    :param plain_name: what the algorithm without symmetries is called
    :param plain_return: the best return of that, same scenario, robot, seed and steps, where that run
        is done and lies beside it
    :param motion: what the robot's own motion told while the policy visited the states, None where it was not
        recorded or the description does not say which observations are the speeds of the joints
    """

    states: int
    behaviours: tuple[Behaviour, ...]
    transforms: tuple[Transform, ...]
    best_return: float | None = None
    plain_return: float | None = None
    plain_name: str = "PPO"
    motion: MotionDiagnosis | None = None

    @property
    def least_followed(self) -> Transform:
        return min(self.transforms, key=lambda transform: transform.agreement)

    def as_dict(self) -> dict[str, Any]:
        plain = super().as_dict()
        behaviours = plain.pop("behaviours")
        return plain | {
            "actuators": [
                one | behaviour for one, behaviour in zip(plain["actuators"], behaviours, strict=True)
            ],
            "least_followed": self.least_followed.name,
            "motion": None if self.motion is None else self.motion.as_dict(),
        }


def diagnose_run(
    directory: Path, *, states: int = STATES, observations: Path | None = None, trust: bool = False
) -> PolicyDiagnosis:
    """Diagnose the last policy of a run directory, and beside it the robot that it moves.

    :param states: how many states to visit, acting as in training
    :param observations: a file of visited observations instead
    :param trust: that the run's environment may be code of a module that its `run.json` names
    """
    from ambidex.experiment.trained import stored
    from ambidex.learn.relabel.frame import EnvFrame

    run = _read(directory)
    group = run.group
    if group is None:
        raise ValueError(f"{directory} has no symmetry.yaml, so there is nothing to compare actuators by")
    policy = stored.load_policy(directory, "last", trust=trust)
    if isinstance(policy.env, EnvFrame):
        raise ValueError(
            f"{directory}: its policy acts in a canonical frame, where an action is now that of one "
            "actuator, now that of another; log (s, a, s') of the robot itself and give it with --transitions"
        )
    log: Log | None = None
    try:
        if observations is not None:
            visited = _finite(observations)
        else:
            log = visit(policy, states)
            visited = log.observations
        bounds = _bounds(policy.env.action_space)
    finally:
        policy.env.close()
    seen = policy.seen(visited)
    means, symmetric, distances = _answers_of_actor_critic(policy.policy, group, seen)
    expected = _expected(policy.policy, seen, means, bounds)
    found = calibrate(group, means, symmetric, bounds=bounds)
    title = f"{run.scenario}, {run.method}, seed {run.seed}, after {run.steps:,} steps"
    plain = _plain_twin(run)
    return replace(
        _diagnosis(title, found, means, bounds, distances, run),
        best_return=_best_return(run),
        plain_return=None if plain is None else _best_return(plain),
        plain_name=way_label(plain_way(run.method)),
        motion=None if log is None else _motion(run, group, log, expected),
    )


def diagnose_policy(
    model: BaseAlgorithm, group: SymmetryGroup, observations: Observations
) -> PolicyDiagnosis:
    """Diagnose any Stable-Baselines3 model with continuous actions from observations that it visited.

    :param model: its deterministic actions are compared
    :param group: the ideal symmetries of the robot
    :param observations: in the order in which they were visited, as the policy takes them
    """
    bounds = _bounds(model.action_space)

    def answer(states: Any) -> FloatArray:
        return np.asarray(model.predict(states, deterministic=True)[0], dtype=np.float64)

    means = answer(observations)
    symmetric = {symmetry.name: answer(symmetry.observation(observations)) for symmetry in group}
    found = calibrate(group, means, symmetric, bounds=bounds)
    title = f"{type(model).__name__} policy, after {model.num_timesteps:,} steps"
    return _diagnosis(title, found, means, bounds)


def diagnose_zip(
    path: Path, *, symmetry: str, observations: Path, algorithm: str = "PPO", trust: bool = False
) -> PolicyDiagnosis:
    """Diagnose a policy that Stable-Baselines3 saved.

    :param path: the .zip file
    :param symmetry: a description's file or catalog name
    :param observations: a file of visited observations
    :param algorithm: the class that saved it, of Stable-Baselines3 or of this package
    :param trust: that you know where the file comes from: loading it runs the code that is pickled in it
    """
    model = load_zip(path, algorithm=algorithm, trust=trust)
    return diagnose_policy(model, load(symmetry), _finite(observations))


def load_zip(path: Path, *, algorithm: str = "PPO", trust: bool = False) -> BaseAlgorithm:
    """A model that Stable-Baselines3 saved; the parameters are those of `diagnose_zip`."""
    if not trust:
        raise ValueError(
            f"{path}: loading a Stable-Baselines3 file runs the code that is pickled in it; "
            "if you know where it comes from, give --trust"
        )
    kind = _saving_class(algorithm)
    try:
        model: BaseAlgorithm = kind.load(path, device="cpu")
    except OSError:
        raise
    except Exception as error:  # whatever the pickled code, or another class's state, runs into
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"{path} cannot be loaded as {algorithm} ({reason}); --algorithm names the class that saved it"
        ) from None
    return model


def _saving_class(name: str) -> type[BaseAlgorithm]:
    """A class of Stable-Baselines3 or of this package, or TRPO, by its name."""
    import stable_baselines3

    from ambidex import learn

    ours = [one for one in learn.__all__ if one.startswith("Symmetric") and one[len("Symmetric") :].isupper()]
    theirs = [one for one in stable_baselines3.__all__ if one.isupper()]
    known = sorted([*theirs, *ours, "TRPO"])
    if name not in known:
        raise ValueError(f"no algorithm {name!r}; there are {', '.join(known)}")
    try:
        if name == "TRPO":
            import sb3_contrib

            return sb3_contrib.TRPO
        kind: type[BaseAlgorithm] = getattr(learn if name in ours else stable_baselines3, name)
    except ImportError:
        raise ValueError(f"{name} needs sb3-contrib: pip install 'ambidex[contrib]'") from None
    return kind


def _finite(path: Path) -> Observations:
    """The observations in a file, refused if a policy cannot answer them."""
    observations = read_observations(path)
    check_finite(path, observations)
    return observations


def _bounds(space: Any) -> tuple[FloatArray, FloatArray]:
    if not hasattr(space, "low"):
        raise ValueError(f"actuators have scales only where actions are continuous, not in {space}")
    return np.asarray(space.low, np.float64), np.asarray(space.high, np.float64)


def _read(directory: Path) -> Run:
    if not (directory / "run.json").is_file():
        raise ValueError(
            f"{directory} holds no run.json; give one run directory, as `ambidex train` writes it"
        )
    return load_runs([directory]).runs[0]


def _plain_twin(run: Run) -> Run | None:
    """The finished plain run beside a run, as a sweep lays them out, if only the method differs."""
    way = plain_way(run.method)
    beside = run.directory.parent.parent / way / run.directory.name
    if run.method == way or not (beside / "run.json").is_file():
        return None
    try:
        plain = _read(beside)
    except ValueError:  # whatever is wrong there, it is not the run that was asked about
        return None

    def kind(one: Run) -> tuple[str, int, int]:
        return one.scenario, one.seed, one.steps

    is_twin = plain.method == way and plain.status == "done" and kind(plain) == kind(run)
    return plain if is_twin else None


def _expected(
    policy: BasePolicy, observations: Observations, means: FloatArray, bounds: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """What the robot gets on average, with the policy's noise."""
    if isinstance(policy, SACPolicy):
        tensors = policy.obs_to_tensor(observations)[0]
        expected = answers.expected_commands(policy, tensors)
        return np.asarray(expected.double().numpy())
    assert isinstance(policy, ActorCriticPolicy)
    return expected_after_clipping(means, commanded_deviation(policy), *bounds)


def _answers_of_actor_critic(
    policy: BasePolicy, group: SymmetryGroup, observations: Observations
) -> tuple[FloatArray, dict[str, FloatArray], dict[str, float]]:
    """Unclipped means at the states and at their images, and relative value distances.

    The means of a policy that squashes are what the robot gets without noise, and its value of a state is the
    least Q of that.
    """
    import torch

    @torch.no_grad()
    def answer(states: Any) -> tuple[FloatArray, FloatArray]:
        tensors = policy.obs_to_tensor(states)[0]
        if isinstance(policy, SACPolicy):
            found, worth = answers.commands_and_worths(policy, tensors)
            return found.double().numpy(), worth.double().numpy()
        assert isinstance(policy, ActorCriticPolicy)
        mean = policy.get_distribution(tensors).distribution.mean  # type: ignore[union-attr]
        values = policy.predict_values(tensors).double().flatten().numpy()
        return commanded(policy, mean.double().numpy()), values

    means, values = answer(observations)
    symmetric, distances = {}, {}
    for symmetry in group:
        symmetric[symmetry.name], images = answer(symmetry.observation(observations))
        distances[symmetry.name] = float(np.abs(images - values).mean() / max(values.std(), 1e-12))
    return means, symmetric, distances


def _diagnosis(
    title: str,
    found: Calibration,
    means: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    distances: Mapping[str, float] | None = None,
    run: Run | None = None,
) -> PolicyDiagnosis:
    """What the calibration of a policy says, with what its training logged where that is known.

    :param distances: for each transform how differently the critic values states and images
    """
    group = found.group
    agreement = np.mean([found.agreement[name] for name in group.names], axis=0)
    saturated = ((means <= bounds[0]) | (means >= bounds[1])).mean(axis=0)
    moved = fitted_scales(run, group) if run else None
    return PolicyDiagnosis(
        title=title,
        actuators=actuators_of(found, true_scales(run, group) if run else None),
        shared_offsets=shared_offsets_of(found),
        states=len(means),
        behaviours=tuple(
            Behaviour(float(agreement[i]), float(saturated[i]), moved[i] if moved else None)
            for i in range(group.action_size)
        ),
        transforms=tuple(_transform(name, found, distances or {}, run) for name in group.names),
    )


def _transform(name: str, found: Calibration, distances: Mapping[str, float], run: Run | None) -> Transform:
    logged = run.metrics if run else {}
    known = found.identifiable | found.offset_identifiable
    neutral = logged.get(("neutral_rejection_ratio", name, ""))
    blocked = logged.get(("value_gate_ratio", name, ""))
    distance = logged.get(("value_distance", name, ""))
    return Transform(
        name=name,
        agreement=float(found.agreement[name][known if known.any() else slice(None)].mean()),
        value_distance=distances.get(name),
        value_distance_moved=None if distance is None else Movement.of(distance),
        neutral=None if neutral is None else float(neutral.values[-1]),
        blocked=None if blocked is None else float(blocked.values[len(blocked.values) // 2 :].mean()),
    )


def _motion(run: Run, group: SymmetryGroup, log: Log, means: FloatArray) -> MotionDiagnosis | None:
    if not can_tell(group):
        return None
    return diagnose_motion(run.scenario, group, log, means=means, true_scales=true_scales(run, group))


def _best_return(run: Run) -> float | None:
    return None if run.returns is None else float(run.returns.values.max())
