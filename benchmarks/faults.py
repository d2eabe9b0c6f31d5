"""The fault matrix: runs that are stopped at chosen moments in several ways, resumed, and held to the bit.

Every cell is a run of a method on the rusty triangle that meets one fault at one moment, goes on by
`ambidex resume`, and is compared with one that was left alone: policies, metrics, last checkpoint.

python benchmarks/faults.py --out faults.md
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ambidex.common import files
from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import checkpoint, record, run
from ambidex.experiment.one_run.loops import OnPolicyLoop
from ambidex.experiment.one_run.training import Training
from ambidex.experiment.one_run.trust import policy_file
from ambidex.learn import SymmetricPPO

METHODS = ("ppo", "asl", "augment", "equivariant")
SMALL = {
    "n_steps": 16,
    "num_envs": 8,
    "batch_size": 32,
    "n_epochs": 1,
    "net_arch": [16, 16],
    "evaluation_every": 2,
    "evaluation_episodes": 2,
    "metrics_every": 2,
    "checkpoint_seconds": 0.0,
    "steps": 8 * 16 * 6,
}
COMPARED = (
    "policy-last.safetensors",
    "policy-best.safetensors",
    "progress.csv",
    "evaluations.csv",
    "symmetry.csv",
)
PRELOADED = [
    "ambidex.experiment.one_run.run",
    "ambidex.learn.ppo",
    "ambidex.envs.triangle.robot",
    "torch.utils.tensorboard",
    "__main__",
]
MOMENTS: dict[str, tuple[Any, str]] = {
    "before the copies of its files are written": (run, "_write_copies"),
    "roll-out": (OnPolicyLoop, "_roll_out"),
    "update": (SymmetricPPO, "train"),
    "evaluation": (Training, "_evaluate"),
    "a checkpoint is announced": (record, "own"),
    "a file is brought to the disk": (os, "fsync"),
    "a file takes its name": (Path, "replace"),
    "a checkpoint takes its name": (checkpoint, "flush_directory"),
    "old checkpoints are pruned": (checkpoint, "prune"),
    "a policy is written": (policy_file, "write"),
}
EVERY_CALL_COUNTS = ("a file is brought to the disk", "a file takes its name")


def _kill(number: int) -> Callable[[], None]:
    def now() -> None:
        os.kill(os.getpid(), number)
        time.sleep(60)

    return now


def _no_space() -> None:
    raise OSError(28, "No space left on device")


FAULTS: dict[str, Callable[[], None]] = {
    "SIGKILL": _kill(signal.SIGKILL),
    "SIGTERM": _kill(signal.SIGTERM),
    "SIGINT": _kill(signal.SIGINT),
    "disk full": _no_space,
}


STOPPED = 3
ENDS = {"SIGKILL": -signal.SIGKILL, "SIGTERM": -signal.SIGTERM, "SIGINT": STOPPED, "disk full": STOPPED}


def struck(config: RunConfig, directory: Path, moment: str, fault: str, call: int) -> None:
    """Train until the moment comes for the nth time, and meet the fault there; in a process of its own."""
    owner, name = MOMENTS[moment]
    real = getattr(owner, name)
    calls = 0

    def watched(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            FAULTS[fault]()
        return real(*arguments, **options)

    setattr(owner, name, watched)
    try:
        run.train(config, directory)
    except (KeyboardInterrupt, OSError):
        os._exit(STOPPED)


def differs(whole: Path, other: Path) -> str | None:
    """The first thing that is not the same in two runs, or None."""
    for name in COMPARED:
        if (whole / name).read_bytes() != (other / name).read_bytes():
            return name
    one, two = (
        checkpoint.newest(directory / "checkpoints", print, record.read(directory)["checkpoints"])
        for directory in (whole, other)
    )
    assert one is not None and two is not None
    for group, arrays in one.arrays.items():
        for name, array in arrays.items():
            if not np.array_equal(array, two.arrays[group][name], equal_nan=array.dtype.kind == "f"):
                return f"{group} {name}"
    leftovers = [path.name for path in other.iterdir() if path.name.startswith(".")]
    return leftovers[0] if leftovers else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("faults.md"))
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    chance = random.Random(arguments.seed)
    counts: dict[tuple[str, str], list[int]] = {}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for method in arguments.methods:
            config = resolve("triangle-rust", method, SMALL)
            whole = Path(folder) / method / "whole"
            run.train(config, whole)
            for moment in MOMENTS:
                for fault in FAULTS:
                    directory = Path(folder) / method / "struck"
                    shutil.rmtree(directory, ignore_errors=True)
                    call = chance.randint(2, 60 if moment in EVERY_CALL_COUNTS else 3)
                    call = 1 if moment.startswith("before") else call
                    process = context.Process(target=struck, args=(config, directory, moment, fault, call))
                    process.start()
                    process.join(300)
                    wrong = None
                    if process.exitcode != ENDS[fault] or not (directory / "run.json").exists():
                        wrong = f"not struck: exit status {process.exitcode}"
                    process.kill()
                    try:
                        run.train_or_resume(config, directory)
                        wrong = wrong or differs(whole, directory)
                    except (ValueError, OSError) as error:
                        wrong = str(error)
                    done = counts.setdefault((moment, fault), [0, 0])
                    done[0] += wrong is None
                    done[1] += 1
                    if wrong is not None:
                        failures.append(f"{method}, {moment}, {fault}, call {call}: {wrong}")
                        print(failures[-1], flush=True)
            print(f"{method}: done", flush=True)
    text = table(counts)
    files.write_text(arguments.out, text)
    kills = sum(total for (_, fault), (_, total) in counts.items() if fault.startswith("SIG"))
    print(f"{text}\n{kills} kills, {len(failures)} runs that did not end as if nothing had happened")


def table(counts: dict[tuple[str, str], list[int]]) -> str:
    """Markdown: of the runs that met a fault at a moment, how many ended equal to the bit."""
    lines = [["moment", *FAULTS], ["---", *["---:"] * len(FAULTS)]]
    for moment in MOMENTS:
        cells = [counts.get((moment, fault), [0, 0]) for fault in FAULTS]
        lines.append([moment, *(f"{equal} of {total}" for equal, total in cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    main()
