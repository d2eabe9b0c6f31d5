"""The paper's robots as Gymnasium environments; importing this registers them, without any simulator."""

from gymnasium.envs.registration import register

# An environment ends its own episodes and checks its own order of calls, so that `set_state` restores all of
# it: the wrappers that would do so keep state of their own.
for _name, _entry_point in {
    "Ant-v0": "ambidex.envs.ant.bullet:AntBulletEnv",
    "AntMujoco-v0": "ambidex.envs.ant.mujoco:AntMujocoEnv",
    "Triangle-v0": "ambidex.envs.triangle.robot:TriangleEnv",
}.items():
    register(f"ambidex/{_name}", _entry_point, order_enforce=False, disable_env_checker=True)
