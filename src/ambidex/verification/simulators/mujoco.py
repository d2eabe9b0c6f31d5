"""Any environment on MuJoCo as a simulator that can be set to the image of a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.common.words import suggestion
from ambidex.derivation.match.matching import Matching, match
from ambidex.symmetry.maps import IndexMap

DIRECTIONS = ("x", "y", "z")
TURNS = ("roll", "pitch", "turn")
MOMENT = 1e-9  # seconds

How = str | Sequence[str]


@dataclass(frozen=True)
class MujocoState:
    """What decides what comes next: positions, velocities, activations, the time, what is remembered."""

    qpos: FloatArray
    qvel: FloatArray
    act: FloatArray
    time: float
    remembered: dict[str, Any]


class MujocoSimulator:
    """An environment on MuJoCo; the isometry moves the whole world, so the task must bear that.

    An environment of your own that remembers more than MuJoCo does says so in a method, and is then checked
    as any other::

        def symmetric_simulator(self):
            return MujocoSimulator(
                self, self.observe, remembers={"command": ["x", "y", "turn"], "last_action": "action"}
            )

    What it remembers besides stays as it was; `ambidex.verification.memory` finds it.

    :param env: has the attributes ``model`` and ``data``, and is not wrapped
    :param observe: returns the observation of the present state; by default the environment's ``_get_obs``,
        and where there is none, what a step of a nanosecond returns
    :param remembers: the attributes that the environment keeps outside of ``data``, each with how it moves:
        ``"action"`` as actions do, ``"same"`` not at all, or the names of its components, ``x``, ``y``,
        ``z`` of what points somewhere and ``roll``, ``pitch``, ``turn`` of what turns
    """

    def __init__(
        self,
        env: Any,
        observe: Callable[[], Any] | None = None,
        *,
        remembers: Mapping[str, How] | None = None,
    ) -> None:
        self._env = env
        self._observe = observe or getattr(env, "_get_obs", None) or self._after_a_moment
        self._remembers = dict(remembers or {})
        self._matchings: dict[bytes, Matching] = {}
        for name, how in self._remembers.items():
            _check(name, how)

    def _matching(self, isometry: FloatArray) -> Matching:
        key = isometry.tobytes()
        if key not in self._matchings:
            self._matchings[key] = match(self._env.model, isometry)
        matching = self._matchings[key]
        if not matching.is_complete:
            raise ValueError("; ".join(map(str, matching.unmatched)))
        return matching

    def relabelling(self, isometry: FloatArray) -> IndexMap:
        images = self._matching(isometry).actuators
        indices, signs = np.zeros(len(images), np.int64), np.ones(len(images))
        for actuator, (partner, sign) in images.items():
            indices[partner], signs[partner] = actuator, sign
        return IndexMap(indices, signs)

    def joint_positions(self) -> FloatArray:
        model, data = self._env.model, self._env.data
        positions: FloatArray = data.qpos[model.jnt_qposadr[model.actuator_trnid[:, 0]]].copy()
        return positions

    def get_state(self) -> MujocoState:
        data = self._env.data
        kept = {name: np.array(getattr(self._env, name)) for name in self._remembers}
        return MujocoState(data.qpos.copy(), data.qvel.copy(), data.act.copy(), data.time, kept)

    def set_symmetric_state(self, state: MujocoState, isometry: FloatArray) -> Any:
        if not np.array_equal(isometry, np.eye(3)):
            state = self._image(state, isometry)
        self._set(state)
        observation = self._observe()
        if self._observe == self._after_a_moment:
            self._set(state)
        return observation

    def _image(self, state: MujocoState, isometry: FloatArray) -> MujocoState:
        matching = self._matching(isometry)
        return MujocoState(
            matching.positions(state.qpos),
            matching.velocities(state.qvel),
            _activations(self._env.model, matching, state.act),
            state.time,
            {
                name: _moved(name, how, state.remembered[name], isometry, matching)
                for name, how in self._remembers.items()
            },
        )

    def _set(self, state: MujocoState) -> None:
        model, data = self._env.model, self._env.data
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:], data.act[:], data.time = state.qpos, state.qvel, state.act, state.time
        mujoco.mj_forward(model, data)
        mujoco.mj_rnePostConstraint(model, data)  # the forces of contacts, which are observed after a step
        for name, value in state.remembered.items():
            own = getattr(self._env, name)
            kept = value.astype(own.dtype) if isinstance(own, np.ndarray) else type(own)(value.tolist())
            setattr(self._env, name, kept)

    def _after_a_moment(self) -> Any:
        """What a step returns in which next to no time passes."""
        space, options = self._env.action_space, self._env.model.opt
        still = np.clip(0.0, space.low, space.high) if isinstance(space, gymnasium.spaces.Box) else 0
        usual = options.timestep
        options.timestep = MOMENT
        try:
            return self._env.step(still)[0]
        finally:
            options.timestep = usual


def is_on_mujoco(env: Any) -> bool:
    """Whether an environment has a model and data of MuJoCo's."""
    return isinstance(getattr(env, "model", None), mujoco.MjModel) and isinstance(
        getattr(env, "data", None), mujoco.MjData
    )


def _check(name: str, how: How) -> None:
    if how in ("action", "same"):
        return
    components = [how] if isinstance(how, str) else list(how)
    for component in components:
        if component not in (*DIRECTIONS, *TURNS):
            known = ("action", "same", *DIRECTIONS, *TURNS)
            hint = suggestion(component, known) or f"; there are {', '.join(known)}"
            raise ValueError(f"remembers {name!r}: nothing moves like {component!r}{hint}")


def _moved(name: str, how: How, value: Any, isometry: FloatArray, matching: Matching) -> Any:
    if how == "same":
        return value
    if how == "action":
        return matching.controls(value)
    components = [how] if isinstance(how, str) else list(how)
    given = np.asarray(value, dtype=np.float64).ravel()
    if len(given) != len(components):
        raise ValueError(f"remembers {name!r}: {len(given)} numbers, but {len(components)} components named")
    parts = {**dict.fromkeys((*DIRECTIONS, *TURNS), 0.0), **dict(zip(components, given, strict=True))}
    points = isometry @ [parts[part] for part in DIRECTIONS]
    turns = np.linalg.det(isometry) * isometry @ [parts[part] for part in TURNS]
    image = dict(zip((*DIRECTIONS, *TURNS), (*points, *turns), strict=True))
    lost = [part for part in image if part not in components and abs(image[part]) > 1e-9]
    if lost:
        raise ValueError(f"remembers {name!r}: its image has a component {lost[0]!r}, which it does not have")
    return np.array([image[part] for part in components]).reshape(np.shape(value))


def _activations(model: mujoco.MjModel, matching: Matching, act: FloatArray) -> FloatArray:
    """The image of the states that actuators have of their own."""
    image = act.copy()
    for actuator, (partner, sign) in matching.actuators.items():
        at, to = model.actuator_actadr[[actuator, partner]]
        if at >= 0:
            count = model.actuator_actnum[actuator]
            image[to : to + count] = sign * act[at : at + count]
    return image
