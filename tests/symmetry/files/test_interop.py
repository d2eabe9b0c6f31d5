from __future__ import annotations

import numpy as np
import pytest
import yaml
from hypothesis import given

from ambidex.symmetry import IndexMap, load
from ambidex.symmetry.files.interop import (
    from_cusrl,
    from_signed_list,
    read_paper_file,
    to_cusrl,
    to_signed_list,
    write_paper_file,
)
from tests.symmetry.files.export.robots import MIRROR
from tests.symmetry.strategies import signed_permutations
from tests.symmetry.tables import ANT, ant, ant_tables


def cassie_mirror(signed: list[float], vector: np.ndarray) -> np.ndarray:
    """As that code does it: a matrix with one entry per row, multiplied from the right."""
    matrix = np.zeros((len(signed), len(signed)))
    for row, entry in enumerate(signed):
        matrix[row, abs(int(entry))] = np.sign(entry)
    return vector @ matrix


@given(part=signed_permutations())
def test_a_signed_list_does_in_its_own_code_what_the_map_does(part):
    vector = np.arange(1.0, part.size + 1)
    assert (cassie_mirror(to_signed_list(part), vector) == part(vector)).all()
    assert from_signed_list(to_signed_list(part)) == part


def test_a_signed_list_as_people_write_it():
    """The first two actions of a leg change sign, as Cassie's hip roll and yaw do."""
    mirrored = from_signed_list([-5, -6, 7, 8, 9, -0.1, -1, 2, 3, 4])
    assert mirrored == IndexMap([5, 6, 7, 8, 9, 0, 1, 2, 3, 4], [-1, -1, 1, 1, 1, -1, -1, 1, 1, 1])
    assert to_signed_list(mirrored) == [-5, -6, 7, 8, 9, -0.1, -1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"element 5 .* is 0, which has no sign"):
        from_signed_list([-5, -6, 7, 8, 9, 0, -1, 2, 3, 4])


@given(part=signed_permutations())
def test_cusrl_gathers_and_then_flips(part):
    destination, flipped = to_cusrl(part)
    vector = np.arange(1.0, part.size + 1)
    mirrored = vector[destination]
    mirrored[flipped] *= -1
    assert (mirrored == part(vector)).all()
    assert from_cusrl(destination, flipped) == part


def test_what_these_formats_cannot_say_is_refused():
    with pytest.raises(ValueError, match="knows indices and signs only"):
        to_cusrl(IndexMap([0], [2.0]))
    with pytest.raises(ValueError, match="knows indices and signs only"):
        to_signed_list(load("triangle")["a"].observation_map @ IndexMap([*range(10)], [2.0] * 10))
    with pytest.raises(ValueError, match="flipped_indices: 3"):
        from_cusrl([0, 1], [3])


def test_the_papers_files_are_read_and_written(tmp_path):
    entries = [{"algorithm": "asl", **renamed(ant_tables(name))} for name in ANT]
    path = tmp_path / "parameters.yaml"
    path.write_text(yaml.safe_dump([{"clip_range": 0.4}, {"use_sym_learning": True}, entries]))
    assert read_paper_file(path, names=list(ANT)) == ant()
    assert read_paper_file(path).names == ("t1", "t2", "t3", "t4", "t5", "t6", "t7")
    copy = tmp_path / "copy.yaml"
    write_paper_file(load("ant"), copy)
    assert yaml.safe_load(copy.read_text()) == [renamed(ant_tables(name)) for name in ANT]
    assert read_paper_file(copy, names=list(ANT)) == ant()


def renamed(tables: dict[str, list[int]]) -> dict[str, list[int]]:
    return {key.replace("multipliers", "multiplier"): value for key, value in tables.items()}


def test_wrong_paper_files_are_refused(tmp_path):
    path = tmp_path / "parameters.yaml"
    path.write_text("- obs_indices: [0]\n")
    with pytest.raises(ValueError, match="no entry has all of obs_indices"):
        read_paper_file(path)
    write_paper_file(load("triangle-paper"), path)
    with pytest.raises(ValueError, match="has 5 transforms, but 1 names"):
        read_paper_file(path, names=["a"])
    with pytest.raises(ValueError, match="transform 'xz': this format has indices and multipliers only"):
        write_paper_file(MIRROR, path)
