"""The report as one HTML file that opens from disk: no server, no network, nothing beside it."""

from __future__ import annotations

from importlib import resources
from typing import Any

from ambidex.common.numerals import number, plural, small
from ambidex.common.words import listed, suggestion
from ambidex.envs import scenarios
from ambidex.experiment.many_runs.reading import Run
from ambidex.experiment.one_run.trust.identity import COPIES
from ambidex.report import paper
from ambidex.report.cards import cards
from ambidex.report.charts.charts import SECTIONS, Chart, charts
from ambidex.report.charts.colours import colours
from ambidex.report.charts.interactive import figure_json, plotly_script
from ambidex.report.summary import MethodSummary, ScenarioSummary, Summary, in_paper_order
from ambidex.report.tables import maps_table, overall_table, pairs_table, results_table, scores_table
from ambidex.report.wording import method_name

_BAND_OPACITY = (0.16, 0.24)


def render(summary: Summary) -> str:
    """The page's HTML."""
    return from_template(
        "page.html",
        title=_title(summary),
        lead=_lead(summary),
        cards=cards(summary),
        overall=overall_table(summary),
        scenarios=[_section(scenario, summary.seed) for scenario in summary.scenarios],
        unreadable=summary.unreadable,
        provenance=_provenance(summary),
        bootstrap_seed=summary.seed,
    )


def from_template(name: str, **values: Any) -> str:
    """One of the package's pages, with its style, its script and plotly inside it.

    :param values: what else the template needs
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ambidex.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    folder = resources.files("ambidex.report") / "templates"
    return environment.get_template(name).render(
        style=_colour_variables() + (folder / "page.css").read_text(encoding="utf-8"),
        script=(folder / "page.js").read_text(encoding="utf-8"),
        plotly=plotly_script(),
        **values,
    )


def _title(summary: Summary) -> str:
    methods = _methods(summary)
    what = listed([method_name(method) for method in methods])
    names = [scenario.name for scenario in summary.scenarios]
    return f"{what} on {listed(names) if len(names) <= 3 else plural(len(names), 'scenario')}"


def _lead(summary: Summary) -> str:
    runs = _runs(summary)
    seeds = sorted({len(method.runs) for scenario in summary.scenarios for method in scenario.methods})
    planned = sorted({run.planned_steps or run.steps for run in runs})
    each = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    length = (
        f"{planned[-1]:,}" if len(planned) == 1 else f"{planned[0]:,} to {planned[-1]:,}" if planned else "no"
    )
    noun = "seed" if seeds == [1] else "seeds"
    return f"{plural(len(runs), 'run')}: {each} {noun} per method and scenario, {length} training steps each."


def _methods(summary: Summary) -> list[str]:
    return in_paper_order({method.method for scenario in summary.scenarios for method in scenario.methods})


def _runs(summary: Summary) -> list[Run]:
    return [run for scenario in summary.scenarios for method in scenario.methods for run in method.runs]


def _section(scenario: ScenarioSummary, seed: int) -> dict[str, Any]:
    anchor = "".join(character if character.isalnum() else "-" for character in scenario.name)
    found = charts(scenario, seed=seed)
    for chart in found:
        _require_place(chart, scenario)

    def drawn(section: str, method: str | None = None) -> list[dict[str, str]]:
        own = [chart for chart in found if chart.section == section and method in (None, chart.method)]
        return [_figure(chart, anchor) for chart in own]

    fits = [
        _fit_section(scenario, method, figures)
        for method, figures in ((method, drawn("fit", method.method)) for method in scenario.methods)
        if method.fit is not None or figures
    ]
    return {
        "name": scenario.name,
        "anchor": anchor,
        "description": _description(scenario),
        "methods": [_method_line(method) for method in scenario.methods],
        "returns": drawn("returns"),
        "results": results_table(scenario),
        "published": bool(scenario.published),
        "scores": scores_table(scenario),
        "symmetry": drawn("symmetry"),
        "fits": fits,
    }


def _require_place(chart: Chart, scenario: ScenarioSummary) -> None:
    """Refuse a chart that the page would silently leave out."""
    if chart.section not in SECTIONS:
        hint = suggestion(chart.section, SECTIONS) or f"; there are {', '.join(SECTIONS)}"
        raise ValueError(f"chart {chart.key!r}: the page has no section {chart.section!r}{hint}")
    if chart.section == "fit" and scenario.get(chart.method) is None:
        raise ValueError(
            f"chart {chart.key!r}: the section 'fit' has a part for each method; "
            f"{chart.method!r} is none on {scenario.name}"
        )


def _figure(chart: Chart, anchor: str) -> dict[str, str]:
    """What is constant is said instead of drawn."""
    said = [f"{label} {small(value, 3)}" for label, value in chart.constants.items()]
    what = chart.caption.partition(". ")[0].removesuffix(".")
    return {
        "id": f"{anchor}-{chart.key}",
        "title": chart.title,
        "caption": f"{what}. Constant, so not drawn: {listed(said)}." if said else chart.caption,
        "json": "" if said else figure_json(chart),
    }


def _description(scenario: ScenarioSummary) -> str:
    """Of one of the package's scenarios, or of a user's file, which every run keeps a copy of."""
    runs = [run for method in scenario.methods for run in method.runs]
    paths = [run.directory / COPIES["scenario"] for run in runs]
    copies = [str(path) for path in paths if path.is_file()]
    named = [str(run.config.get("scenario")) for run in runs]
    try:
        return scenarios.get([*copies, *named, scenario.name][0]).description
    except (ValueError, OSError):
        return ""


def _method_line(method: MethodSummary) -> dict[str, Any]:
    return {
        "key": method.method,
        "name": method_name(method.method),
        "seeds": ", ".join(str(run.seed) for run in method.runs) or "none",
        "steps": max((run.steps for run in method.runs), default=0),
        "missing": [f"seed {seed}: {reason}" for seed, reason in method.missing.items()],
        "notes": method.notes,
    }


def _fit_section(
    scenario: ScenarioSummary, method: MethodSummary, figures: list[dict[str, str]]
) -> dict[str, Any]:
    fit = method.fit
    error = ""
    if fit is not None and fit.final_error is not None:
        error = (
            f"In the last five points the fitted ratios are off by {small(fit.final_error, 3)} on average; "
            f"the description as given, by {number(fit.given_error, 3)}."
        )
        published = paper.target_error(scenario.name)
        if published is not None:
            error += f" The paper's: {published[1]}, from {published[0]}."
    return {
        "name": method_name(method.method),
        "figures": figures,
        "pairs": pairs_table(method),
        "maps": maps_table(method),
        "error": error,
    }


def _provenance(summary: Summary) -> dict[str, list[str]]:
    """What ran, where and from which source, each distinct value once."""
    runs = _runs(summary)
    versions = [" ".join((name, str(version))) for run in runs for name, version in _items(run, "versions")]
    hardware = [", ".join(str(value) for _, value in _items(run, "hardware")) for run in runs]
    found = {
        "Commit": [str(run.about.get("commit") or "not a source checkout") for run in runs],
        "Versions": versions,
        "Hardware": hardware,
        "Commands": [str(run.about.get("command", "")) for run in runs],
    }
    return {name: [one for one in dict.fromkeys(values) if one] for name, values in found.items()}


def _items(run: Run, part: str) -> list[tuple[str, Any]]:
    return list((run.about.get(part) or {}).items())


def _colour_variables() -> str:
    """CSS variables of every colour and its band, for the light and the dark page."""

    def block(theme: int) -> str:
        lines = []
        for name, pair in colours().items():
            red, green, blue = (int(pair[theme][place : place + 2], 16) for place in (1, 3, 5))
            lines.append(f"--{name}: {pair[theme]};")
            lines.append(f"--{name}-band: rgba({red}, {green}, {blue}, {_BAND_OPACITY[theme]});")
        return " ".join(lines)

    dark = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {block(1)} }} }}"
    return f":root {{ {block(0)} }}\n{dark}\n"
