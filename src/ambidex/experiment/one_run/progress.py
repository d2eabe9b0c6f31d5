"""What a person sees while a run is under way: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Protocol, Self

from ambidex.common.escaping import printable

LINE_SECONDS = 30.0


class Reporter(Protocol):
    """Told where a run stands after every iteration."""

    def update(self, *, steps: int, episode_return: float | None, best: float | None) -> None: ...

    def warn(self, message: str) -> None: ...


class Silent:
    """Says nothing but warnings, which go to standard error."""

    def update(self, *, steps: int, episode_return: float | None, best: float | None) -> None:
        pass

    def warn(self, message: str) -> None:
        print(f"ambidex: {printable(message)}", file=sys.stderr, flush=True)


class Console(Silent):
    """A progress bar with return, steps/s and time left; on a file, a line now and then.

    :param title: what is being trained
    :param total: training steps at the end
    """

    def __init__(self, title: str, total: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._title = printable(title)
        self._total = total
        self._first: tuple[float, int] | None = None
        self._last_line = 0.0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} steps"),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            disable=not sys.stdout.isatty(),
        )
        self._task = self._bar.add_task(self._title, total=total, figures="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, *, steps: int, episode_return: float | None, best: float | None) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = (now, steps)
            speed = None
        else:
            speed = (steps - self._first[1]) / max(now - self._first[0], 1e-9)
        figures = [
            "" if episode_return is None else f"training return {episode_return:,.1f}",
            "" if best is None else f"best evaluation {best:,.1f}",
            "" if not speed else f"{speed:,.0f} steps/s",
        ]
        text = ", ".join(figure for figure in figures if figure)
        if not self._bar.disable:
            self._bar.update(self._task, completed=min(steps, self._total), figures=text)
        elif now - self._last_line > LINE_SECONDS or steps >= self._total:
            left = (
                f", {(self._total - steps) / speed / 60:,.0f} min left"
                if speed and steps < self._total
                else ""
            )
            print(f"{self._title}: {steps:,} of {self._total:,} steps, {text}{left}", flush=True)
            self._last_line = now

    def warn(self, message: str) -> None:
        from rich.text import Text

        line = Text.assemble(
            ("warning:", "bold red"), " ", printable(message)
        )  # no markup: paths may have brackets
        self._bar.console.print(line, soft_wrap=True)
