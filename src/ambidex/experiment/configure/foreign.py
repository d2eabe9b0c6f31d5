"""Code that a file names: a configuration is data, and runs what it names only where its reader trusts it."""

from __future__ import annotations

from ambidex.common.escaping import quoted
from ambidex.experiment.configure.config import RunConfig


def names_code(config: RunConfig) -> bool:
    """Whether the environment is a ``module:Name-v0``, for which Gymnasium imports the module."""
    return ":" in config.environment_id


def refuse_foreign_code(config: RunConfig, where: str, *, trust: bool) -> None:
    """Refuse a configuration that `names_code`.

    :param where: the file that names it
    :param trust: that its reader knows where it comes from
    """
    if names_code(config) and not trust:
        name = config.environment_id
        module = name.partition(":")[0]
        raise ValueError(
            f"{where} names the environment {quoted(name)}, which runs the Python module {quoted(module)}; "
            "if you know where it comes from, give --trust"
        )
