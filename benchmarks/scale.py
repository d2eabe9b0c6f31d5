"""`ambidex status` and `ambidex report` on a thousand run directories: seconds and peak memory of each.

python benchmarks/scale.py --runs 1000
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import run

ITERATIONS = 24
TINY = {
    "n_steps": 16,
    "num_envs": 8,
    "batch_size": 32,
    "n_epochs": 1,
    "net_arch": [16, 16],
    "evaluation_every": 2,
    "evaluation_episodes": 4,
    "metrics_every": 2,
    "steps": 128 * ITERATIONS,
    "checkpoint_seconds": 1e9,
    "fit": "pairwise",
}
METHODS = ("ppo", "asl")
KEPT = ("progress.csv", "timings.csv", "evaluations.csv", "symmetry.csv", "truth.json", "symmetry.yaml")


def lay_out(out: Path, count: int, templates: dict[str, Path]) -> None:
    """Runs as a sweep lays them out: two methods, as many seeds as it takes."""
    for number in range(count):
        method = METHODS[number % len(METHODS)]
        seed = number // len(METHODS)
        directory = out / "triangle-rust" / method / f"seed-{seed}"
        directory.mkdir(parents=True)
        for name in KEPT:
            shutil.copy(templates[method] / name, directory)
        about = json.loads((templates[method] / "run.json").read_text())
        about["config"]["seed"] = seed
        (directory / "run.json").write_text(json.dumps(about))


def measure(*arguments: str) -> tuple[float, float]:
    """Wall seconds and peak megabytes of one command."""
    command = [sys.executable, "-c", _MEASURED, *arguments]
    start = time.perf_counter()
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return time.perf_counter() - start, float(said.strip().splitlines()[-1])


_MEASURED = """
import sys
from pathlib import Path
from ambidex.cli import main
sys.argv = ["ambidex", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(int(peak.split()[1]) / 1024, file=sys.stderr)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        templates = {}
        for method in METHODS:
            templates[method] = Path(folder) / "templates" / method
            run.train(resolve("triangle-rust", method, TINY), templates[method])
        out = Path(folder) / "runs"
        lay_out(out, arguments.runs, templates)
        for verb in (["status", str(out)], ["report", str(out), "--out", str(Path(folder) / "page.html")]):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds, megabytes = measure(*verb)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(
                f"{verb[0]:<7} {arguments.runs} runs: {seconds:.1f} s, {busy:.1f} s of a core, "
                f"{megabytes:.0f} MB"
            )


if __name__ == "__main__":
    main()
