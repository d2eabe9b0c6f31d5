"""`export_module`: a description as a module that stands alone, with what it was made of in its header."""

from __future__ import annotations

import hashlib
import keyword
import textwrap
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Literal, get_args

from ambidex.common.files import write_text
from ambidex.common.words import suggestion
from ambidex.symmetry.discrete import ChoiceMap
from ambidex.symmetry.files.descriptions import description_text, load, read_text
from ambidex.symmetry.files.export import cusrl, plain, rsl_rl
from ambidex.symmetry.findings import Finding
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.linting.lint import lint
from ambidex.symmetry.maps import DictMap

Target = Literal["rsl_rl", "cusrl", "numpy", "jax", "torch"]
MOST_FINDINGS = 8  # that the header lists


def export_module(
    description: str | Path | SymmetryGroup,
    path: str | Path,
    to: Target,
    *,
    elements: Sequence[str] | None = None,
    groups: Sequence[str] = (),
    pass_through: Sequence[str] = (),
) -> list[Finding]:
    """Write a Python module that does a description's transforms and needs nothing of this package.

    :param description: a file, a name of the catalog, or a group
    :param path: the module to write, such as ``my_robot_symmetry.py``
    :param to: what the module is for
    :param elements: the transforms to take, in this order; all of them by default
    :param groups: for rsl_rl: the groups of observations that are the description's one vector; ``policy`` by
        default. A description of several groups says their names itself.
    :param pass_through: for rsl_rl: groups of observations that no transform changes
    :returns: what `lint` found, which the module's header says too
    """
    path = Path(path)
    if to not in get_args(Target):
        raise ValueError(
            f"--to is {', '.join(get_args(Target))}, got {to!r}{suggestion(to, get_args(Target))}"
        )
    if path.suffix != ".py" or not path.stem.isidentifier() or keyword.iskeyword(path.stem):
        raise ValueError(f"{path}: a module is called as Python can import it, such as my_robot_symmetry.py")
    if isinstance(description, SymmetryGroup):
        whole, text = description, description_text(description)
        where = whole.layout.robot if whole.layout and whole.layout.robot else "a group"
    else:
        whole, (_, text) = load(description), read_text(description)
        where = Path(description).name
    findings = lint(whole)
    group = whole if elements is None else _chosen(whole, elements)
    _check_groups(group, to, groups, pass_through)
    if to == "rsl_rl":
        use, body = rsl_rl.USE, rsl_rl.body(group, groups or ("policy",), pass_through)
    elif to == "cusrl":
        use, body = cusrl.USE, cusrl.body(group, groups or ("observation",))
    else:
        use, body = plain.USE[to], plain.body(group, to)
    write_text(
        path,
        _header(where, text, to, group, findings, use.format(module=path.stem, first=group.names[0])) + body,
    )
    return findings


def _chosen(group: SymmetryGroup, elements: Sequence[str]) -> SymmetryGroup:
    for name in elements:
        if name not in group:
            raise ValueError(
                f"no transform is called {name!r}; there are {', '.join(group.names)}"
                f"{suggestion(name, group.names)}"
            )
    return SymmetryGroup([group[name] for name in elements], layout=group.layout)


def _check_groups(
    group: SymmetryGroup, to: Target, groups: Sequence[str], pass_through: Sequence[str]
) -> None:
    first = next(iter(group))
    if to in ("rsl_rl", "cusrl") and isinstance(first.action_map, ChoiceMap):
        raise ValueError(f"{to} mirrors continuous actions only, and these are discrete choices")
    if to != "rsl_rl" and (groups or pass_through):
        raise ValueError(f"groups of observations (--group, --pass-through) are for rsl_rl, not for {to}")
    described = list(first.observation_map) if isinstance(first.observation_map, DictMap) else list(groups)
    if groups and isinstance(first.observation_map, DictMap):
        raise ValueError(f"--group: the description names its groups itself: {', '.join(described)}")
    both = next((name for name in pass_through if name in (described or ["policy"])), None)
    if both is not None:
        raise ValueError(f"--pass-through: the observations {both!r} are described")


def _header(
    where: str, text: str, to: Target, group: SymmetryGroup, findings: list[Finding], use: str
) -> str:
    from ambidex import __version__

    verdict = [f"lint          {len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}"]
    verdict += [f"    {finding}" for finding in findings[:MOST_FINDINGS]]
    lines = [
        f'"""The symmetries of {where} for {to}: {", ".join(group.names)}.',
        "",
        *use.splitlines(),
        "",
        f"written by    ambidex {__version__} on {date.today().isoformat()}",
        f"description   sha256 {hashlib.sha256(text.encode()).hexdigest()}",
        *verdict,
        *_names(group),
        "",
        "Change the description and export again, rather than this file.",
        '"""',
        "",
    ]
    return "\n".join(line.replace("\\", "\\\\") for line in lines) + "\n"


def _names(group: SymmetryGroup) -> list[str]:
    """What the elements are, where the description says so."""
    if group.layout is None:
        return []
    observed = group.layout.observation_names
    sides = observed if isinstance(observed, dict) else {"observations": observed}
    lines = []
    for side, names in {**sides, "actions": group.layout.action_names}.items():
        numbered = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        lines += textwrap.wrap(numbered, 110, initial_indent=f"{side:14}", subsequent_indent=" " * 14)
    return lines
