"""An environment as rsl_rl takes it."""

from __future__ import annotations

import torch
from tensordict import TensorDict


class Point:
    """Points in the plane that are to reach a goal; mirrored in the x axis, everything is mirrored."""

    num_envs, num_actions, max_episode_length, device, cfg = 16, 2, 20, "cpu", {}

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(0)
        self.episode_length_buf = torch.zeros(self.num_envs, dtype=torch.long)
        self.position = self._places()
        self.goal = self._places()

    def _places(self) -> torch.Tensor:
        return torch.rand(self.num_envs, 2, generator=self.generator) * 2 - 1

    def get_observations(self) -> TensorDict:
        policy = torch.cat([self.position, self.goal], dim=-1)
        groups = {"policy": policy, "critic": policy[:, :3].clone(), "battery": torch.ones(self.num_envs, 1)}
        return TensorDict(groups, batch_size=[self.num_envs])

    def step(self, actions):
        self.position = (self.position + 0.1 * actions.clamp(-1, 1)).clamp(-2, 2)
        self.episode_length_buf += 1
        done = self.episode_length_buf >= self.max_episode_length
        self.position[done], self.goal[done] = self._places()[done], self._places()[done]
        self.episode_length_buf[done] = 0
        reward = -(self.position - self.goal).norm(dim=-1)
        return self.get_observations(), reward, done.long(), {"time_outs": done}
