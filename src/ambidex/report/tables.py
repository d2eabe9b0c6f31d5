"""The report's tables, and each as Markdown, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ambidex.common.escaping import printable
from ambidex.common.numerals import NOTHING, number, plural, score, steps
from ambidex.common.words import listed
from ambidex.report import paper
from ambidex.report.records import as_csv, results
from ambidex.report.statistics import FEW_POINTS
from ambidex.report.summary import MethodSummary, ScenarioSummary, Summary
from ambidex.report.wording import bounds, method_name, pair_name, plain_name


@dataclass(frozen=True)
class Row:
    """A table's row; a quiet one stands beside the row above it for comparison."""

    cells: list[str]
    quiet: bool = False


@dataclass(frozen=True)
class Table:
    """A table as it is read.

    :param columns: for each column the heading of its group (or "") and its own
    """

    key: str
    title: str
    columns: list[tuple[str, str]]
    rows: list[Row]
    note: str = ""
    groups: list[tuple[str, int]] = field(init=False)

    def __post_init__(self) -> None:
        groups: list[tuple[str, int]] = []
        for group, _ in self.columns:
            if groups and group and groups[-1][0] == group:
                groups[-1] = (group, groups[-1][1] + 1)
            else:
                groups.append((group, 1))
        object.__setattr__(self, "groups", groups)


_MAXIMUM = "Maximum return (5-point window)"
_LAST = "Value distance (last 5 points)"


def results_table(scenario: ScenarioSummary) -> Table:
    """The table in the paper's layout (tab:stats_A1), the paper's figures under ours."""
    rows = []
    for method in scenario.methods:
        rows.append(Row([method_name(method.method), str(len(method.runs)), *_cells(method.statistics)]))
        if method.method in scenario.published:
            published = scenario.published[method.method]
            rows.append(Row(["paper", str(paper.SEEDS), *_cells(published)], quiet=True))
    columns = [
        ("", "Algorithm"),
        ("", "Seeds"),
        (_MAXIMUM, "Mean µ"),
        (_MAXIMUM, "SD"),
        (_MAXIMUM, "Step"),
        ("", "First step ≥ 0.9 µ"),
        ("", "Value distance"),
        (_LAST, "Mean"),
        (_LAST, "SD"),
    ]
    title = f"{scenario.name}: statistics in the paper's layout"
    return Table("results", title, columns, rows, _caution(scenario))


def _caution(scenario: ScenarioSummary) -> str:
    found = []
    if scenario.differing:
        found.append(
            f"The methods were run with different {listed(scenario.differing)}: compare them with care."
        )
    counts = [len(method.returns.steps) for method in scenario.methods if method.returns is not None]
    if counts and min(counts) < FEW_POINTS:
        found.append(
            f"Only {plural(min(counts), 'evaluation')}: a window of five is most of such a curve, so that "
            "maximum, step and final return say little."
        )
    return " ".join(found)


def _cells(row: paper.PaperStatistics) -> list[str]:
    return [
        score(row.max_return_mean),
        number(row.max_return_sd, 1),
        steps(row.max_return_timestep),
        steps(row.timestep_90pct),
        number(row.value_distance_mean, 2),
        number(row.value_distance_final_mean, 2),
        number(row.value_distance_final_sd, 2),
    ]


def scores_table(scenario: ScenarioSummary) -> Table:
    """The final return by seed: interquartile mean, interval, probability of improvement over PPO."""
    plain = plain_name(method.method for method in scenario.methods)
    columns = [
        ("", "Algorithm"),
        ("", "Seeds"),
        ("Final return", "IQM"),
        ("Final return", "95 % interval"),
        (f"Better than {plain}", "Probability"),
        (f"Better than {plain}", "95 % interval"),
    ]
    rows = [
        Row(
            [
                method_name(method.method),
                str(len(method.runs)),
                score(method.final.value),
                bounds(method.final),
                number(method.improvement.value, 2) if method.improvement else NOTHING,
                bounds(method.improvement, 2),
            ]
        )
        for method in scenario.methods
        if method.final is not None
    ]
    note = (
        "Final return: each seed's mean over its last five evaluations. IQM: the mean of the middle half of "
        "the seeds. Intervals: percentile bootstrap over the seeds. Probability: how often a seed of it "
        f"beats a seed of {plain}; an interval without width only says that these seeds do not overlap."
    )
    return Table("scores", f"{scenario.name}: final return over seeds", columns, rows, note)


def pairs_table(method: MethodSummary) -> Table | None:
    """The learned ratio of each pair of actuators beside the truth, None where nothing was fitted."""
    if method.fit is None or not method.fit.pairs:
        return None
    known = any(pair.truth is not None for pair in method.fit.pairs)
    columns = [("", "Pair"), ("", "Learned m"), *([("", "True m"), ("", "Error")] if known else [])]
    rows = []
    for pair in method.fit.pairs:
        truth = [number(pair.truth, 3), number(pair.error, 3)] if known else []
        rows.append(Row([pair_name(pair.name), number(pair.mean, 3), *truth]))
    note = (
        "a′[u] = ±m a[q] for the pair q→u: how much more actuator u needs than q for the mirrored movement."
    )
    return Table("pairs", f"Ratios that {method_name(method.method)} learned", columns, rows, note)


def maps_table(method: MethodSummary) -> Table | None:
    """Every transform's learned multipliers, and biases where there are any, with the truth under them."""
    if method.fit is None or not method.fit.maps:
        return None
    size = max(len(row.multipliers) for row in method.fit.maps)
    rows = []
    for row in method.fit.maps:
        sides = [("multipliers", row.multipliers)]
        if any(learned.mean or learned.truth for learned in row.biases):
            sides.append(("biases", row.biases))
        for side, elements in sides:
            rows.append(Row([row.transform, side, *(number(one.mean, 2) for one in elements)]))
            if all(one.truth is not None for one in elements):
                rows.append(Row(["", "true", *(number(one.truth, 2) for one in elements)], quiet=True))
    columns = [("", "Transform"), ("", ""), *(("Action element", str(i)) for i in range(size))]
    return Table("maps", f"Action maps that {method_name(method.method)} learned", columns, rows)


def overall_table(summary: Summary) -> Table | None:
    """The methods over all scenarios, None for one scenario."""
    if not summary.overall:
        return None
    plain = plain_name(one.method for one in summary.overall)
    columns = [
        ("", "Algorithm"),
        ("", "Scenarios"),
        (f"Return / {plain}'s", "IQM"),
        (f"Return / {plain}'s", "95 % interval"),
        (f"Better than {plain}", "Probability"),
        (f"Better than {plain}", "95 % interval"),
    ]
    rows = [
        Row(
            [
                method_name(one.method),
                str(len(one.scenarios)),
                number(one.relative.value, 2) if one.relative else NOTHING,
                bounds(one.relative, 2),
                number(one.improvement.value, 2),
                bounds(one.improvement, 2),
            ]
        )
        for one in summary.overall
    ]
    note = f"Final returns divided by {plain}'s mean in the same scenario; resampled within each scenario."
    return Table("overall", "Over all scenarios", columns, rows, note)


def all_tables(summary: Summary) -> list[Table]:
    """Every table of the report in order."""
    tables = [overall_table(summary)]
    for scenario in summary.scenarios:
        tables += [results_table(scenario), scores_table(scenario)]
        for method in scenario.methods:
            tables += [pairs_table(method), maps_table(method)]
    return [table for table in tables if table is not None]


def tables_markdown(summary: Summary) -> str:
    """Every table as Markdown."""
    return "\n".join(markdown(table) for table in all_tables(summary))


def tables_latex(summary: Summary) -> str:
    """Every table as LaTeX."""
    return "\n".join(latex(table) for table in all_tables(summary))


def results_csv(summary: Summary) -> str:
    """One line per scenario, method and source, every number in full."""
    rows = results(summary)
    return as_csv(list(dict.fromkeys(column for row in rows for column in row)), rows)


def markdown(table: Table) -> str:
    """A table as GitHub's Markdown, under its title."""
    heads = [f"{group}: {name}" if group else name for group, name in table.columns]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *(row.cells for row in table.rows)]
    body = "\n".join("| " + " | ".join(_markdown_cell(cell) for cell in line) + " |" for line in lines)
    note = f"\n{table.note}\n" if table.note else ""
    return f"### {table.title}\n\n{body}\n{note}"


def _markdown_cell(text: str) -> str:
    """Nothing in a name ends its cell or begins an element of HTML."""
    return " ".join(printable(text).split()).replace("|", "\\|").replace("<", "&lt;")


def latex(table: Table) -> str:
    """A table in LaTeX that needs no package, with the paper's ruled layout."""
    grouped = any(group for group, _ in table.columns)
    lines = []
    if grouped:
        lines.append(" & ".join(_latex_group(group, span) for group, span in table.groups) + r" \\")
    lines.append(_latex_line([name for _, name in table.columns]) + r" \hline")
    for place, row in enumerate(table.rows):
        last = place + 1 == len(table.rows) or not table.rows[place + 1].quiet
        lines.append(_latex_line(row.cells) + (r" \hline" if last else ""))
    body = "\n".join(f"    {line}" for line in lines)
    layout = "|l|" + "r|" * (len(table.columns) - 1)
    return (
        "\\begin{table}[ht]\n"
        f"  \\caption{{{_tex(table.title)}}}\n"
        "  \\begin{center}\n"
        f"  \\begin{{tabular}}{{{layout}}}\n    \\hline\n{body}\n"
        "  \\end{tabular}\n  \\end{center}\n\\end{table}\n"
    )


def _latex_group(group: str, span: int) -> str:
    return rf"\multicolumn{{{span}}}{{c|}}{{{_tex(group)}}}" if group else ""


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(map(_tex, cells)) + r" \\"


_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "µ": r"$\mu$",
    "≥": r"$\geq$",
    "±": r"$\pm$",
    "→": r"$\rightarrow$",
    "−": "$-$",
    "–": "--",
    "′": "$'$",
}


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)
