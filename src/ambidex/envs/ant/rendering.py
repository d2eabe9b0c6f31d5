"""Pictures of the ant without a screen.

The scene is a copy in a world of its own, so that drawing cannot touch the physics, and so that any
simulator's ant can be drawn: only its pose comes in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pybullet

from ambidex.envs.ant.body import Pose, Vector
from ambidex.envs.ant.bullet import JOINT_LINKS, load_ant, load_floor

Color = tuple[float, float, float, float]

LEG_COLORS: tuple[Color, ...] = (
    (0.84, 0.15, 0.16, 1.0),  # leg 0: red
    (0.17, 0.63, 0.17, 1.0),  # leg 1: green
    (0.12, 0.47, 0.71, 1.0),  # leg 2: blue
    (1.0, 0.73, 0.1, 1.0),  # leg 3: yellow
)
TORSO_COLOR: Color = (0.55, 0.55, 0.58, 1.0)
GOAL_COLOR: Color = (0.85, 0.2, 0.75, 1.0)
LINKS_PER_LEG = 5

GOAL_DISTANCE = 1.8  # of the arrow's tip from the torso
ARROW_HEIGHT = 0.02
CAMERA_LEAD = 0.6  # how far the camera looks ahead of the ant
CAMERA_DISTANCE = 3.8
CAMERA_PITCH = -38.0


class AntRenderer:
    """Draws an ant from the side, with an arrow on the floor toward its goal (the world's x axis).

    :param width: of the picture, in pixels
    :param height: of the picture, in pixels
    """

    def __init__(self, *, width: int = 480, height: int = 360) -> None:
        self._size = (width, height)
        self._client = pybullet.connect(pybullet.DIRECT)
        load_floor(self._client)
        self._ant = load_ant(self._client)
        self._paint_ant()
        self._arrow = self._make_arrow()
        self._projection = pybullet.computeProjectionMatrixFOV(
            fov=50, aspect=width / height, nearVal=0.1, farVal=60.0
        )

    def draw(self, pose: Pose) -> npt.NDArray[np.uint8]:
        """The picture, height x width x 3; the goal is to the right."""
        self._move(pose)
        view = pybullet.computeViewMatrixFromYawPitchRoll(
            cameraTargetPosition=(pose.position[0] + CAMERA_LEAD, pose.position[1], 0.3),
            distance=CAMERA_DISTANCE,
            yaw=0.0,
            pitch=CAMERA_PITCH,
            roll=0.0,
            upAxisIndex=2,
        )
        width, height = self._size
        pixels = pybullet.getCameraImage(
            width,
            height,
            viewMatrix=view,
            projectionMatrix=self._projection,
            lightDirection=(-2.0, -3.0, 6.0),
            shadow=0,  # this renderer's shadows have edges of their own
            renderer=pybullet.ER_TINY_RENDERER,
            physicsClientId=self._client,
        )[2]
        picture = np.asarray(pixels, np.uint8).reshape(height, width, 4)
        return np.ascontiguousarray(picture[:, :, :3])

    def close(self) -> None:
        pybullet.disconnect(self._client)

    def _move(self, pose: Pose) -> None:
        client = self._client
        pybullet.resetBasePositionAndOrientation(self._ant, pose.position, pose.orientation, client)
        for joint, position in zip(JOINT_LINKS, pose.joint_positions, strict=True):
            pybullet.resetJointState(self._ant, joint, position, physicsClientId=client)
        tip = (pose.position[0] + GOAL_DISTANCE, pose.position[1], ARROW_HEIGHT)
        for part in self._arrow:
            turned = pybullet.getBasePositionAndOrientation(part, client)[1]
            pybullet.resetBasePositionAndOrientation(part, tip, turned, client)

    def _paint_ant(self) -> None:
        self._paint(-1, TORSO_COLOR)
        for leg, color in enumerate(LEG_COLORS):
            for link in range(LINKS_PER_LEG * leg, LINKS_PER_LEG * (leg + 1)):
                self._paint(link, color)

    def _paint(self, link: int, color: Color) -> None:
        pybullet.changeVisualShape(self._ant, link, rgbaColor=color, physicsClientId=self._client)

    def _make_arrow(self) -> list[int]:
        """A shaft and two barbs that meet at the tip."""
        barb = math.radians(145)
        return [self._make_bar(0.7, math.pi), self._make_bar(0.3, barb), self._make_bar(0.3, -barb)]

    def _make_bar(self, length: float, yaw: float) -> int:
        """A flat bar that reaches from the body's origin in the direction of ``yaw``."""
        half: Vector = (length / 2, 0.035, 0.01)
        shape = pybullet.createVisualShape(
            pybullet.GEOM_BOX,
            halfExtents=half,
            rgbaColor=GOAL_COLOR,
            visualFramePosition=(length / 2, 0.0, 0.0),
            physicsClientId=self._client,
        )
        orientation: Sequence[float] = pybullet.getQuaternionFromEuler((0.0, 0.0, yaw))
        bar: int = pybullet.createMultiBody(
            baseVisualShapeIndex=shape, baseOrientation=orientation, physicsClientId=self._client
        )
        return bar
