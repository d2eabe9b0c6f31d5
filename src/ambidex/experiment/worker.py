"""One run of a sweep in a process of its own: ``python -m ambidex.experiment.worker CONFIG DIRECTORY``."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from ambidex.experiment.config import RunConfig
from ambidex.experiment.run import RunFailed, train_or_resume


def main(config: str, directory: str) -> int:
    """Bring the run to its end; what stops it is the last line on standard error."""
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


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
