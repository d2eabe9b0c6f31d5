"""The observations that policies of legged robots usually have, as fields of a layout."""

from __future__ import annotations

from typing import Any


def locomotion_fields(
    joints: Any,
    last_action: list[dict[str, Any]],
    *,
    history: int = 1,
    heights: tuple[int, int] | None = None,
) -> list[dict[str, Any]]:
    """What the robot's base and joints do, what is asked of it, and what it did last.

    Velocities and gravity are in the base's frame; joint positions are relative to a default pose that is its
    own image.

    :param joints: which joints are observed, as after ``of:``; None for all
    :param last_action: the fields of the last action
    :param history: the number of time steps, the newest last
    :param heights: the rows (along x) and columns (along y) of a height map around the base, which has no
        history; None for none
    """
    of = {} if joints is None else {"of": joints}
    fields: list[dict[str, Any]] = [
        {"base_velocity": "vector"},
        {"angular_velocity": "pseudovector"},
        {"projected_gravity": "vector"},
        {"command": {"vector": ["x", "y"]}},
        {"command_turn": {"pseudovector": ["z"]}},
        {"positions": {"joint": "position", **of}},
        {"velocities": {"joint": "velocity", **of}},
        *last_action,
    ]
    if history > 1:
        fields = [{"history": history, "fields": fields}]
    if heights is not None:
        fields.append({"heights": {"heights": {"shape": list(heights), "rows": "x", "columns": "y"}}})
    return fields


def rows_and_columns(text: str) -> tuple[int, int]:
    """``"17x11"`` as (17, 11)."""
    rows, _, columns = text.partition("x")
    if not (rows.isdecimal() and columns.isdecimal()):
        raise ValueError(f"a height map is given by its rows and columns, as 17x11, got {text!r}")
    return int(rows), int(columns)
