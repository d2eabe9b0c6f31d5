"""What would policies of the ant reach if turning by 25 degrees did not end their episodes?

    python results/turned.py runs/paper/A1.1/asl/seed-0 runs/paper/A1.1/psl/seed-0

Walks the last policy of each run (a run itself; summaries have no policies) twice toward each goal, with the
end and without, and prints the mean return toward the diagonal goals, which lie along the legs, and the rest.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from unittest import mock

import numpy as np

from ambidex import load_policy
from ambidex.envs.ant import task
from ambidex.experiment.trained.stored import StoredPolicy

KINDS = {"diagonal": (1, 3, 5, 7), "straight": (0, 2, 4, 6)}
STARTS = 2
NEVER = -1.0  # no cosine is less


def episode(policy: StoredPolicy, goal: int) -> float:
    observation, _ = policy.env.reset(options={"goal": goal})
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = policy.env.step(policy.act(observation))
        total += float(reward)
        over = terminated or truncated
    return total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+")
    print("| run | an episode ends when the ant has turned | diagonal | straight | all |")
    print("|---|---|---|---|---|")
    for run in parser.parse_args().runs:
        for ends, cosine in {"by 25 degrees": task.SMALLEST_COSINE, "never": NEVER}.items():
            with mock.patch.object(task, "SMALLEST_COSINE", cosine):
                policy = load_policy(run, "last")
                means = [
                    np.mean([episode(policy, goal) for goal in goals for _ in range(STARTS)])
                    for goals in KINDS.values()
                ]
            print(f"| {run} | {ends} | {means[0]:.0f} | {means[1]:.0f} | {np.mean(means):.0f} |", flush=True)


if __name__ == "__main__":
    main()
