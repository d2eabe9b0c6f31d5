"""What a fresh interpreter says: for tests of what importing does."""

from __future__ import annotations

import subprocess
import sys


def said_by_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
