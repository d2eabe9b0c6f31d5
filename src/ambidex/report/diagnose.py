"""What a policy tells about its robot: which actuator is off, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ambidex.learn.calibrate import Calibration, calibrate
from ambidex.report.runs import Run, Series, load_runs
from ambidex.report.statistics import Array
from ambidex.report.visited import Observations, read_observations, visit
from ambidex.symmetry import IndexMap, SymmetryGroup, load

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import ActorCriticPolicy

STATES = 4096
NOTEWORTHY_SCALE = 1.05  # a smaller deviation than this, either way, is not worth a sentence
NOTEWORTHY_OFFSET = 0.02


@dataclass(frozen=True)
class Movement:
    """How a number moved during training.

    :param first: where it began
    :param last: where it ended
    :param settled: the step from which on it stayed within a tenth of its way from the end
    """

    first: float
    last: float
    settled: int


@dataclass(frozen=True)
class Actuator:
    """One actuator beside its counterparts.

    :param index: of the action element
    :param name: as the description has it
    :param place: where it sits, such as "front left", or an empty text
    :param scale: how many times the command of its counterparts it needs
    :param scale_interval: 95 percent
    :param offset: its command where that of its counterparts is 0
    :param offset_interval: 95 percent
    :param scale_known: whether the policy tells
    :param offset_known: whether the policy tells
    :param reason: why not, or an empty text
    :param agreement: how closely the policy follows the calibrated symmetry with it, 1 exactly, 0 not at all
    :param saturated: the share of states in which its command lies beyond the action box
    :param moved: the fitted scale over training, None where nothing was fitted
    :param true_scale: None where unknown
    """

    index: int
    name: str
    place: str
    scale: float
    scale_interval: tuple[float, float]
    offset: float
    offset_interval: tuple[float, float]
    scale_known: bool
    offset_known: bool
    reason: str
    agreement: float
    saturated: float
    moved: Movement | None
    true_scale: float | None

    @property
    def is_off(self) -> bool:
        """Whether its scale or offset differs from its counterparts' by more than chance and trifle."""
        return self.scale_is_off or self.offset_is_off

    @property
    def scale_is_off(self) -> bool:
        low, high = self.scale_interval
        apart = max(self.scale, 1 / self.scale) >= NOTEWORTHY_SCALE
        return self.scale_known and apart and not low <= 1 <= high

    @property
    def offset_is_off(self) -> bool:
        low, high = self.offset_interval
        return self.offset_known and abs(self.offset) >= NOTEWORTHY_OFFSET and not low <= 0 <= high


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
class Diagnosis:
    """:param title: what was diagnosed
    :param states: how many visited states it rests on
    :param shared_offsets: actuators of which only the differences of offsets are known, orbit by orbit
    :param best_return: of the run, None without evaluations
    :param plain_return: the best return of plain PPO, same scenario and seed, where that run lies beside it
    """

    title: str
    states: int
    actuators: tuple[Actuator, ...]
    transforms: tuple[Transform, ...]
    shared_offsets: tuple[tuple[int, ...], ...]
    best_return: float | None = None
    plain_return: float | None = None

    @property
    def least_followed(self) -> Transform:
        return min(self.transforms, key=lambda transform: transform.agreement)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "least_followed": self.least_followed.name,
            "actuators": [asdict(one) | {"is_off": one.is_off} for one in self.actuators],
        }


def diagnose_run(directory: Path, *, states: int = STATES, observations: Path | None = None) -> Diagnosis:
    """Diagnose the last policy of a run directory.

    :param states: how many states to visit, acting as in training
    :param observations: a file of visited observations instead
    """
    from ambidex.experiment import stored

    run = _read(directory)
    if run.group is None:
        raise ValueError(f"{directory} has no symmetry.yaml, so there is nothing to compare actuators by")
    policy = stored.load(directory, "last")
    try:
        visited = visit(policy, states) if observations is None else read_observations(observations)
        bounds = _bounds(policy.env.action_space)
    finally:
        policy.env.close()
    means, symmetric, distances = _answers_of_actor_critic(policy.policy, run.group, visited)
    found = calibrate(run.group, means, symmetric, bounds=bounds)
    beside = directory.resolve().parent.parent / "ppo" / directory.resolve().name
    plain = _read(beside) if run.method != "ppo" and (beside / "run.json").is_file() else None
    return _diagnosis(
        f"{run.scenario}, {run.method}, seed {run.seed}, after {run.steps:,} steps",
        run.group,
        found,
        means,
        bounds,
        distances,
        run,
        None if plain is None else _best_return(plain),
    )


def diagnose_policy(model: BaseAlgorithm, group: SymmetryGroup, observations: Observations) -> Diagnosis:
    """Diagnose any Stable-Baselines3 model with continuous actions from observations that it visited.

    :param model: its deterministic actions are compared
    :param group: the ideal symmetries of the robot
    :param observations: in the order in which they were visited, as the policy takes them
    """
    bounds = _bounds(model.action_space)

    def answer(states: Any) -> Array:
        return np.asarray(model.predict(states, deterministic=True)[0], dtype=np.float64)

    means = answer(observations)
    symmetric = {symmetry.name: answer(symmetry.observation(observations)) for symmetry in group}
    found = calibrate(group, means, symmetric, bounds=bounds)
    title = f"{type(model).__name__} policy, after {model.num_timesteps:,} steps"
    return _diagnosis(title, group, found, means, bounds, {}, None, None)


def diagnose_zip(
    path: Path, *, symmetry: str, observations: Path, algorithm: str = "PPO", trust: bool = False
) -> Diagnosis:
    """Diagnose a policy that Stable-Baselines3 saved.

    :param path: the .zip file
    :param symmetry: a description's file or catalog name
    :param observations: a file of visited observations
    :param algorithm: the class of Stable-Baselines3 that saved it
    :param trust: that you know where the file comes from: loading it runs the code that is pickled in it
    """
    if not trust:
        raise ValueError(
            f"{path}: loading a Stable-Baselines3 file runs the code that is pickled in it; "
            "if you know where it comes from, give --trust"
        )
    import stable_baselines3

    known = sorted(name for name in stable_baselines3.__all__ if name.isupper())
    if algorithm not in known:
        raise ValueError(f"no algorithm {algorithm!r} in Stable-Baselines3; there are {', '.join(known)}")
    model = getattr(stable_baselines3, algorithm).load(path, device="cpu")
    return diagnose_policy(model, load(symmetry), read_observations(observations))


def _bounds(space: Any) -> tuple[Array, Array]:
    if not hasattr(space, "low"):
        raise ValueError(f"actuators have scales only where actions are continuous, not in {space}")
    return np.asarray(space.low, np.float64), np.asarray(space.high, np.float64)


def _read(directory: Path) -> Run:
    if not (directory / "run.json").is_file():
        raise ValueError(
            f"{directory} holds no run.json; give one run directory, as `ambidex train` writes it"
        )
    return load_runs([directory]).runs[0]


def scales_of_maps(group: SymmetryGroup, multipliers: Mapping[str, Array]) -> Array:
    """The scales, geometric mean 1 per orbit, whose ratios come closest to these action multipliers."""
    rows, ratios = [], []
    for name, values in multipliers.items():
        table = group[name].action_map
        assert isinstance(table, IndexMap)
        for i, k in enumerate(table.indices):
            if i != k and values[i]:
                rows.append(np.eye(len(values))[i] - np.eye(len(values))[k])
                ratios.append(np.log(abs(values[i] / table.multipliers[i])))
    if not rows:
        return np.ones(group.action_size)
    log_scale, *_ = np.linalg.lstsq(np.array(rows), np.array(ratios), rcond=None)
    scales: Array = np.exp(log_scale)
    return scales


def _answers_of_actor_critic(
    policy: ActorCriticPolicy, group: SymmetryGroup, observations: Observations
) -> tuple[Array, dict[str, Array], dict[str, float]]:
    """Unclipped means at the states and at their images, and relative value distances."""
    import torch

    @torch.no_grad()
    def answer(states: Any) -> tuple[Array, Array]:
        tensors = policy.obs_to_tensor(states)[0]
        mean = policy.get_distribution(tensors).distribution.mean  # type: ignore[union-attr]
        return mean.double().numpy(), policy.predict_values(tensors).double().flatten().numpy()

    means, values = answer(observations)
    symmetric, distances = {}, {}
    for symmetry in group:
        symmetric[symmetry.name], images = answer(symmetry.observation(observations))
        distances[symmetry.name] = float(np.abs(images - values).mean() / max(values.std(), 1e-12))
    return means, symmetric, distances


def _diagnosis(
    title: str,
    group: SymmetryGroup,
    found: Calibration,
    means: Array,
    bounds: tuple[Array, Array],
    distances: Mapping[str, float],
    run: Run | None,
    plain_return: float | None,
) -> Diagnosis:
    size = group.action_size
    names = group.layout.action_names if group.layout else tuple(f"action {i}" for i in range(size))
    agreement = np.mean([found.agreement[name] for name in group.names], axis=0)
    saturated = ((means <= bounds[0]) | (means >= bounds[1])).mean(axis=0)
    moved = _fitted_scales(run, group) if run else None
    true = None
    if run and run.truth:
        true = scales_of_maps(group, {name: m for name, (m, _) in run.truth.items() if name in group})
    actuators = tuple(
        Actuator(
            index=i,
            name=names[i],
            place=_place(group, names[i]),
            scale=float(found.scale[i]),
            scale_interval=(float(found.interval.scale[i, 0]), float(found.interval.scale[i, 1])),
            offset=float(found.offset[i]),
            offset_interval=(float(found.interval.offset[i, 0]), float(found.interval.offset[i, 1])),
            scale_known=bool(found.identifiable[i]),
            offset_known=bool(found.offset_identifiable[i]),
            reason=found.reasons[i],
            agreement=float(agreement[i]),
            saturated=float(saturated[i]),
            moved=None if moved is None else _movement(Series(moved.steps, moved.values[:, i])),
            true_scale=None if true is None else float(true[i]),
        )
        for i in range(size)
    )
    shared = np.unique(found.orbit[found.offset_shared & found.offset_identifiable])
    return Diagnosis(
        title=title,
        states=len(means),
        actuators=actuators,
        transforms=tuple(_transform(name, found, distances, run) for name in group.names),
        shared_offsets=tuple(tuple(np.flatnonzero(found.orbit == orbit).tolist()) for orbit in shared),
        best_return=None if run is None else _best_return(run),
        plain_return=plain_return,
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
        value_distance_moved=None if distance is None else _movement(distance),
        neutral=None if neutral is None else float(neutral.values[-1]),
        blocked=None if blocked is None else float(blocked.values[len(blocked.values) // 2 :].mean()),
    )


def _fitted_scales(run: Run, group: SymmetryGroup) -> Series | None:
    """(points, n): the scales that the logged action maps imply, or None where none were fitted."""
    logged = {
        name: [run.metrics.get(("map_m", name, str(i))) for i in range(group.action_size)]
        for name in group.names
    }
    complete = {name: rows for name, rows in logged.items() if all(row is not None for row in rows)}
    if not complete:
        return None
    points = min(len(row.values) for rows in complete.values() for row in rows if row is not None)
    steps = next(row.steps for rows in complete.values() for row in rows if row is not None)[:points]
    scales = []
    for at in range(points):
        maps = {name: np.array([row.values[at] for row in rows if row]) for name, rows in complete.items()}
        scales.append(scales_of_maps(group, maps))
    return Series(steps, np.array(scales))


def _movement(series: Series) -> Movement:
    first, last = float(series.values[0]), float(series.values[-1])
    away = np.flatnonzero(np.abs(series.values - last) > 0.1 * abs(first - last) + 1e-9)
    settled = series.steps[min(away[-1] + 1, len(series.steps) - 1)] if away.size else series.steps[0]
    return Movement(first, last, int(settled))


def _best_return(run: Run) -> float | None:
    return None if run.returns is None else float(run.returns.values.max())


def _place(group: SymmetryGroup, name: str) -> str:
    """Where an actuator's limb sits on the body: x is to the front, y to the left."""
    at = limb_position(group, name)
    if at is None:
        return ""
    x, y = at
    words = ["front" if x > 0 else "back"] * (abs(x) > 0.1) + ["left" if y > 0 else "right"] * (abs(y) > 0.1)
    return " ".join(words)


def limb_position(group: SymmetryGroup, actuator: str) -> tuple[float, float] | None:
    """x and y of the limb that an actuator belongs to, where the description has them."""
    body = group.layout.body if group.layout else None
    joint = body.joints.get(actuator) if body else None
    at = body.limbs.get(joint.limb) if body and joint and joint.limb else None
    return None if at is None else (float(at[0]), float(at[1]))
