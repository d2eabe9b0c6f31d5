"""`evaluate` for the file of a policy that was trained anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from ambidex.cli.options import CHECK_FAILED, print_json, say


def evaluate_file(
    path: Path,
    *,
    symmetry: str | None,
    observations: Path | None,
    groups: Sequence[str],
    threshold: float | None,
    figure: Path | None,
    algorithm: str,
    trust: bool,
    as_json: bool,
) -> None:
    """Say how symmetric it is; exit status 1 past the threshold."""
    if symmetry is None or observations is None:
        raise ValueError(
            f"{path}: give --symmetry and --observations, which the file of a policy does not hold"
        )
    from ambidex.diagnosis.policy_files.evaluation import evaluate_policy_file
    from ambidex.diagnosis.policy_files.words import in_words, verdict

    found = evaluate_policy_file(
        path, symmetry=symmetry, observations=observations, groups=groups, algorithm=algorithm, trust=trust
    )
    if as_json:
        print_json(found.as_dict())
    else:
        say(in_words(found))
    if figure is not None:
        from ambidex.diagnosis.policy_files.picture import save_figure

        save_figure(found, figure, threshold)
    if threshold is not None and found.worst.value > threshold:
        say(f"{path}: {verdict(found, threshold)}", to_stderr=True)
        raise typer.Exit(CHECK_FAILED)
