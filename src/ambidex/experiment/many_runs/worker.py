"""One run of a sweep in a process of its own.

``python -m ambidex.experiment.many_runs.worker CONFIG DIRECTORY``

The sweep holds the other end of its standard input.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from pathlib import Path

from ambidex.experiment.configure.config import RunConfig
from ambidex.experiment.one_run.run import RunFailed, train_or_resume


def main(config: str, directory: str) -> int:
    """Bring the run to its end; what stops it is the last line on standard error."""
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    try:
        train_or_resume(RunConfig.model_validate_json(config), Path(directory))
    except (ValueError, OSError, RunFailed) as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        traceback.print_exc()
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _end_with_the_sweep() -> None:
    """End when the sweep is gone, however it ended; a run may end at any moment and is resumed later."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
