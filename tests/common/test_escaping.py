"""Names from files of others: on a terminal, in a spreadsheet, on a page, as a file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambidex.common.escaping import (
    LONGEST_MESSAGE,
    csv_cell,
    file_name,
    from_csv_cell,
    message,
    printable,
    quoted,
    script_json,
    sentence,
)


def test_what_commands_a_terminal_is_written_out() -> None:
    assert printable("a\x1b[2Jb\x9bc\u202ed\re") == r"a\x1b[2Jb\x9bc\u202ed\re"
    assert printable("läuft\nund läuft\t→") == "läuft\nund läuft\t→"


def test_messages_are_bounded_and_never_empty() -> None:
    assert len(message("x" * 10**6)) < LONGEST_MESSAGE + 10
    assert sentence(ValueError("a\n  b")) == "a b"
    assert sentence(ValueError()) == "ValueError"


@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, list(range(10**5)), {"a": "x" * 10**6}, 10**5000],
    ids=["text", "list", "mapping", "number"],
)
def test_quotes_are_short(value: object) -> None:
    assert len(quoted(value)) < 200


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'=1"])
def test_no_cell_is_a_formula(formula: str) -> None:
    assert csv_cell(formula).startswith("'")


@given(st.text())
def test_cells_are_read_as_they_were_written(text: str) -> None:
    assert from_csv_cell(csv_cell(text)) == text


def test_cells_of_other_programs_stay_as_they_are() -> None:
    assert next(csv.reader(io.StringIO("'quoted',-0.5\n"))) == ["'quoted'", "-0.5"]
    assert (from_csv_cell("'quoted'"), from_csv_cell("-0.5")) == ("'quoted'", "-0.5")


@given(st.text())
def test_no_name_ends_a_script(name: str) -> None:
    text = script_json({"name": f"</script><!--<script>{name}"})
    assert "<" not in text and ">" not in text and "&" not in text
    assert json.loads(text)["name"] == f"</script><!--<script>{name}"


@given(st.text(), st.text())
def test_no_name_leads_elsewhere(one: str, other: str) -> None:
    name = file_name(one, other)
    assert Path(name).name == name and name not in (".", "..", "")
    assert name.isascii() and len(name) <= 120


def test_plain_names_stay() -> None:
    assert file_name("A1.1 on ambidex/Ant-v0", "return") == "A1.1-on-ambidex-Ant-v0-return"
    assert file_name("x/../../../../y") == "x-..-..-..-..-y"


def test_what_the_system_refuses_is_said_without_its_number(tmp_path):
    with pytest.raises(OSError) as missing:
        (tmp_path / "nothing.csv").read_text()
    assert message(missing.value) == f"there is no file {tmp_path / 'nothing.csv'}"
    with pytest.raises(OSError) as nowhere:
        (tmp_path / "no" / "out.onnx").write_text("")
    there = tmp_path / "no"
    assert message(nowhere.value) == f"there is no file {there / 'out.onnx'}, nor a folder {there}"
    with pytest.raises(OSError) as folder:
        tmp_path.read_text()
    assert message(folder.value) == f"{tmp_path}: Is a directory"
