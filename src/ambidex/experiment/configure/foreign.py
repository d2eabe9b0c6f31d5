"""Code that a file names: a configuration is data, and runs what it names only where its reader trusts it."""

from __future__ import annotations

from ambidex.common.escaping import quoted
from ambidex.envs import scenarios
from ambidex.experiment.configure.config import RunConfig


def refuse_foreign_code(config: RunConfig, where: str, *, trust: bool) -> None:
    """Refuse an environment ``module:Name-v0``, for which Gymnasium imports the module.

    :param where: the file that names it
    :param trust: that its reader knows where it comes from
    """
    name = config.env or scenarios.get(str(config.scenario)).env
    if ":" in name and not trust:
        module = name.partition(":")[0]
        raise ValueError(
            f"{where} names the environment {quoted(name)}, which runs the Python module {quoted(module)}; "
            "if you know where it comes from, give --trust"
        )
