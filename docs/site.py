"""What the site needs beyond the pages as they are: files from outside docs/, formulas without scripts."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = (
    "CONTRIBUTING.md",
    "results/README.md",
    "results/preset.md",
    "results/algorithms.md",
    "results/early.md",
    "results/tried-goals.csv",
    "results/tried-noise.csv",
    "results/small-noise/table.csv",
    "results/rewards-as-they-are/table.csv",
    "results/fits.md",
    "results/fits-in-training.png",
    "results/algorithms-triangle.png",
    "results/families-triangle.png",
    "results/families/families.png",
    "results/learning-rate.png",
    "results/wear.png",
    "results/sac/A1.1-return.png",
    "results/sac/A1.1-return-time.png",
    "results/queue.sh",
    "results/harvest.sh",
    "results/report.html",
    "results/table.csv",
    "results/starts.csv",
    "results/drives.csv",
    "results/drives-robots.csv",
)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in OUTSIDE:
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links that hold in the repository, as they hold in the site, where docs/ is the root."""
    place = page.file.src_uri
    if place == "CONTRIBUTING.md":
        return markdown.replace("](docs/", "](")
    if place.startswith("results/"):
        # Run directories are not part of the site.
        return re.sub(r"\[([^\]]+)\]\([\w.-]+/\)", r"\1", markdown.replace("](../docs/", "](../"))
    return markdown.replace("](../", "](")


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw by themselves."""
    return FORMULA.sub(
        lambda found: convert(
            html.unescape(found[2]).strip(), display="block" if found[1] == "div" else "inline"
        ),
        content,
    )
