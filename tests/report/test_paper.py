"""The published figures, against some that were read off the paper's tables."""

from __future__ import annotations

from ambidex.envs import scenarios
from ambidex.report import paper


def test_figures_of_the_papers_tables() -> None:
    assert paper.results("A1.1")["ppo"] == paper.PaperStatistics(892, 12.6, 680_000, 370_000)
    assert paper.results("A3.2")["psl"] == paper.PaperStatistics(
        1307, 51.2, 4_630_000, 3_150_000, 1.68, 3.00, 0.05
    )


def test_twenty_scenarios_of_four_methods() -> None:
    published = [name for name in scenarios.names() if "-" not in name and paper.results(name)]
    assert len(published) == 20
    assert all(set(paper.results(name)) == set(paper.methods()) for name in published)


def test_the_authors_variant_shares_the_published_figures() -> None:
    assert paper.results("A2.2-authors") == paper.results("A2.2") != {}
    assert paper.target_error("A3.2-authors") == (0.503, 0.106)


def test_the_triangle_has_no_published_figures() -> None:
    assert paper.results("triangle-rust") == {}
    assert paper.target_error("triangle-rust") is None
