"""The lock that keeps two processes from training in one directory."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_SECONDS = 1.0
_NO_LOCKS_ON_DIRECTORIES = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOTSUP)  # NFS


class Busy(ValueError):
    """A run directory in which another process trains."""


@contextmanager
def lock(directory: Path) -> Iterator[None]:
    """Hold a run directory; the system lets go of it when the process ends, however it ends.

    The directory itself is held besides the file ``lock``, so that nobody gets in by deleting that; a network
    file system that knows no locks on directories has the file alone.
    """
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        file = _open(directory / "lock", os.O_RDWR | os.O_CREAT)
        try:
            holder = _content(directory / "lock", file)
            if not _take(folder) or not _take(file):
                raise Busy(f"{directory} is being trained by another process ({holder or 'unknown'})")
            os.ftruncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(file)
    finally:
        os.close(folder)


def is_locked(directory: Path) -> bool:
    """Whether a process is training in this directory now."""
    handles = []
    try:
        handles.append(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        _try(handles[0], fcntl.LOCK_SH)
        handles.append(_open(directory / "lock", os.O_RDONLY))
        _try(handles[1], fcntl.LOCK_SH)
    except BlockingIOError:
        return True
    except (OSError, ValueError):  # there is no lock, or something that is none
        return False
    finally:
        for handle in handles:
            os.close(handle)
    return False


def _open(path: Path, flags: int) -> int:
    """A regular file, neither a link nor a pipe that would wait for its other end."""
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError(f"{path} is a link; a run has a lock of its own: remove the link") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ValueError(f"{path} is not a regular file, and so no lock of a run; remove it")
    return handle


def _content(path: Path, handle: int) -> str:
    content = os.pread(handle, 100, 0)
    if re.fullmatch(rb"[0-9]{0,20}", content) is None:
        raise ValueError(f"{path} is not the lock of a run, which holds the number of a process")
    return content.decode()


def _take(handle: int) -> bool:
    """Take a lock, with patience for one who only looks whether it is free, or is about to end."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            _try(handle, fcntl.LOCK_EX)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PATIENCE_SECONDS / 100)


def _try(handle: int, kind: int) -> None:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if not stat.S_ISDIR(os.fstat(handle).st_mode) or error.errno not in _NO_LOCKS_ON_DIRECTORIES:
            raise
