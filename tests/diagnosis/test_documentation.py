"""The page Diagnose: its log is made as it is printed, and the command says what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ambidex.diagnosis.motion import diagnose_transitions
from ambidex.diagnosis.words import in_words

PAGE = (Path(__file__).parents[2] / "docs" / "diagnose.md").read_text()
NUMBER = re.compile(r"\d+\.\d+")


def test_the_logged_triangle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = next(
        block for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL) if "np.savez" in block
    )
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    printed = re.search(r"\$ ambidex diagnose --transitions logged.npz.*?\n(.*?)\n```", PAGE, flags=re.DOTALL)
    assert printed
    said = in_words(diagnose_transitions(Path("logged.npz"), symmetry="triangle"))
    assert NUMBER.sub("#", " ".join(said.split())) == NUMBER.sub("#", " ".join(printed[1].split()))
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (said, printed[1])]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.005)
