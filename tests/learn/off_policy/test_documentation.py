"""The example of the page Algorithms, run as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).parents[3] / "docs" / "algorithms.md"


def test_the_example_of_sac_runs() -> None:
    names: dict[str, Any] = {}
    text = PAGE.read_text().partition("## SAC")[2]
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(block, names)
    learned = np.abs(names["model"].action_maps()["d"].multipliers)
    assert learned.max() > 1.8  # rust of 1, 2 and 3
