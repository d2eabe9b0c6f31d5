from __future__ import annotations

import copy
import textwrap

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ambidex.common.yaml import from_yaml
from ambidex.symmetry import DictMap, MatrixMap, Symmetry, SymmetryGroup, catalog_names, load, parse, save
from ambidex.symmetry.files.descriptions import ParsedDescription
from ambidex.symmetry.isometry import named, rotation
from tests.symmetry.strategies import index_maps
from tests.symmetry.tables import ant_tables
from tests.symmetry.test_discrete import choice_maps

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)


def write(folder, text: str):
    path = folder / "robot.yaml"
    path.write_text(textwrap.dedent(text))
    return path


def assert_same(one: SymmetryGroup, two: SymmetryGroup) -> None:
    """Exact to the last bit, with names, order, kinds and layout."""
    assert one == two
    assert one.names == two.names
    assert one.is_closed == two.is_closed
    assert one.layout == two.layout
    for left, right in zip(one, two, strict=True):
        assert left.kind == right.kind
        assert type(left.action_map) is type(right.action_map)
        assert (left.action_map.matrix == right.action_map.matrix).all()
        assert type(left.observation_map) is type(right.observation_map)
        if not isinstance(left.observation_map, DictMap):
            assert (left.observation_map.matrix == right.observation_map.matrix).all()
        assert (left.isometry is None) == (right.isometry is None)
        if left.isometry is not None:
            np.testing.assert_allclose(left.isometry, right.isometry, atol=1e-15)


def random_matrices(size: int) -> st.SearchStrategy[MatrixMap]:
    def matrix(seed: int) -> MatrixMap:
        return MatrixMap(np.random.default_rng(seed).normal(size=(size, size)))

    return st.integers(0, 2**32 - 1).map(matrix)


observations = st.one_of(
    index_maps(4),
    random_matrices(4),
    st.fixed_dictionaries({"policy": index_maps(3), "critic state": random_matrices(2)}).map(DictMap),
)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)


@same_folder
@given(
    data=st.data(), name=names, kind=st.sampled_from([None, "reflection", "rotation"]), closed=st.booleans()
)
def test_tables_of_every_kind_survive(data, tmp_path, name, kind, closed):
    action = data.draw(st.one_of(index_maps(), random_matrices(3), choice_maps()))
    group = SymmetryGroup([Symmetry.from_maps(name, data.draw(observations), action, kind)], is_closed=closed)
    save(group, tmp_path / "robot.yaml")
    assert_same(load(tmp_path / "robot.yaml"), group)


@pytest.mark.parametrize("name", catalog_names())
def test_descriptions_by_name_survive_by_name(name, tmp_path):
    path = tmp_path / "copy.yaml"
    save(load(name), path)
    assert_same(load(path), load(name))
    assert "multipliers" not in path.read_text()
    save(load(path), tmp_path / "again.yaml")
    assert (tmp_path / "again.yaml").read_text() == path.read_text()


BIPED = """
    robot: biped
    limbs:
      left: {at: [0, 1], joints: {hip: x, knee: y}}
      right: {at: [0, -1], joints: {hip: x, knee: y}}
    observations:
      policy:
        - {history: 2, newest: first, fields: [{joints: {joint: [position, velocity]}}]}
        - clock: {phase: [sin, cos]}
        - orientation: {quaternion: wxyz}
      critic:
        - terrain: {heights: {shape: [2, 3], rows: x, columns: -y}}
    actions:
      - target: joint
    transforms:
      mirror: {isometry: xz, phase: half}
"""


def test_a_layout_of_everything_survives(tmp_path):
    group = load(write(tmp_path, BIPED))
    save(group, tmp_path / "copy.yaml")
    assert_same(load(tmp_path / "copy.yaml"), group)
    assert "{isometry: xz, phase: half}" in (tmp_path / "copy.yaml").read_text()


def test_moves_by_name_survive_as_tables(tmp_path):
    file = write(
        tmp_path,
        """
        joints: [left, right]
        observations: [{v: vector}, {position: joint}]
        actions: [{torque: joint}]
        transforms: {mirror: {isometry: xz, moves: {left: -right}}}
        """,
    )
    save(load(file), tmp_path / "copy.yaml")
    assert_same(load(tmp_path / "copy.yaml"), load(file))


JUNK = [
    None,
    0,
    -1,
    2.5,
    10**30,
    float("nan"),
    True,
    "x",
    "",
    [],
    [1, 2],
    [None],
    ["x"],
    {},
    {"a": 1},
    {1: 2},
]


def places(content, path=()):
    if path:
        yield path
    if isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from places(content[key], (*path, key))


def test_whatever_stands_in_a_file_it_loads_or_is_refused_in_words(tmp_path):
    content = from_yaml(textwrap.dedent(BIPED))
    refused = 0
    for path in list(places(content)):
        for junk in JUNK:
            changed = copy.deepcopy(content)
            holder = changed
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = junk
            try:
                ParsedDescription.from_content("robot.yaml", changed).group()
            except ValueError as error:
                refused += 1
                assert str(error)
    assert refused > 500


def test_a_changed_table_survives_although_the_layout_says_otherwise(tmp_path):
    ant = load("ant")
    rusty = [*ant["xz"].action_map.multipliers]
    rusty[0] *= 1 / 3
    changed = Symmetry("xz", **{**ant_tables("xz"), "act_multipliers": rusty}, isometry=named("xz"))
    group = SymmetryGroup([changed, ant["r90"]], layout=ant.layout)
    save(group, tmp_path / "ant.yaml")
    assert_same(load(tmp_path / "ant.yaml"), group)


def test_isometries_without_a_name_survive(tmp_path):
    file = write(
        tmp_path,
        """
        observations: [{v: vector}]
        actions: [{force: vector}]
        generators: {turn: {isometry: {axis: [1, 1, 1], degrees: 120}}, half: {isometry: {normal: [1, 2, 3]}}}
        """,
    )
    with pytest.raises(ValueError, match=r"robot.yaml: .*more than 1024 elements"):
        load(file)
    file.write_text(file.read_text().replace(", half: {isometry: {normal: [1, 2, 3]}}", ""))
    group = load(file)
    assert group.names == ("turn", "turn^2")
    np.testing.assert_allclose(group["turn"].isometry, rotation([1, 1, 1], 120))
    save(group, tmp_path / "copy.yaml")
    assert_same(load(tmp_path / "copy.yaml"), group)


def test_raw_tables_are_read_as_they_stand(tmp_path):
    group = load(
        write(
            tmp_path,
            """
            transforms:
              xz:
                observation: {indices: [0, 2, 1], multipliers: [-1, 1, 1]}
                action: {indices: [1, 0], multipliers: [0.5, 2]}
                kind: reflection
              other:
                observation: {matrix: [[1, 0, 0], [0, 0.6, 0.8], [0, -0.8, 0.6]]}
                action: {indices: [0, 1], multipliers: [1, 1]}
            """,
        )
    )
    assert group.names == ("xz", "other")
    assert group["xz"].observation(np.array([1.0, 2.0, 3.0])).tolist() == [-1, 3, 2]
    assert group["xz"].action(np.array([1.0, 2.0])).tolist() == [1, 2]
    assert group["xz"].kind == "reflection"
    assert not group.is_closed
    assert group.layout is None


def test_products_of_raw_generators(tmp_path):
    turn = (
        "{observation: {indices: [1, 2, 0], multipliers: [1, 1, 1]}, action: {choices: [2], indices: [1, 0]}}"
    )
    group = load(write(tmp_path, f"generators:\n  turn: {turn}\nnames: {{turn^2: twice}}\n"))
    assert group.names[:2] == ("turn", "twice")
    assert len(group) == 5
    assert group.is_closed


def test_every_broken_table_is_named_at_once(tmp_path):
    path = write(
        tmp_path,
        """
        transforms:
          a: {observation: {indices: [0, 0], multipliers: [1, 1]}, action: {indices: [0], multipliers: [0]}}
          b: {observation: {indices: [0, 1], multipliers: [1]}, action: {indices: [7], multipliers: [1]}}
        """,
    )
    with pytest.raises(ValueError) as caught:
        load(path)
    message = str(caught.value)
    assert message.count(str(path)) == 4
    for part in (
        "'a', observation",
        "'a', action 0",
        "'b', observation: 2 indices",
        "'b', action 0: index 7",
    ):
        assert part in message
    parsed = parse(path)
    assert parsed.tables["a"]["observation"] == {"indices": [0, 0], "multipliers": [1, 1]}
    assert {finding.code for finding in parsed.findings()} == {
        *("not-a-permutation", "bad-multiplier", "size", "index-out-of-range")
    }


def test_what_cannot_be_compiled_is_refused_with_the_files_name(tmp_path):
    parsed = parse(
        write(tmp_path, "observations: [{v: {vector: [x]}}]\nactions: [{n: scalar}]\ngenerators: [r90]")
    )
    for use in (parsed.group, lambda: parsed.tables):
        with pytest.raises(ValueError, match=r"robot.yaml: transform 'r90' mixes"):
            use()


def test_parse_also_gives_the_tables_of_what_is_said_by_name():
    tables = parse("ant").tables
    assert set(tables) == {"xz", "r90"}
    assert tables["r90"]["action"]["indices"] == ant_tables("r90")["act_indices"]
    assert tables["r90"]["observation"]["multipliers"] == ant_tables("r90")["obs_multipliers"]


TABLES = "{observation: {indices: [0], multipliers: [1]}, action: {indices: [0], multipliers: [1]}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"transform:\n  xz: {TABLES}", r"unknown key 'transform'; did you mean 'transforms'"),
        ("robot: x", r"either generators: .* or transforms:"),
        (
            f"transforms: {{xz: {TABLES}}}\ngenerators: {{r: {TABLES}}}",
            r"either generators: .* or transforms:",
        ),
        ("transforms: {xz: xz}", r"transform 'xz': an isometry says nothing without a layout"),
        (
            "transforms: {xz: {observation: {indices: [0], multipliers: [1]}}}",
            r"'xz': the action table is missing",
        ),
        (
            f"transforms: {{xz: {TABLES.replace('indices', 'indexes', 1)}}}",
            r"'indexes'; did you mean 'indices'",
        ),
        (f"transforms: {{xz: {TABLES.replace('[1]', '1', 1)}}}", r"multipliers is missing or not a list"),
        (f"transforms: {{xz: {TABLES}, xz: {TABLES}}}", r"line 1: the key 'xz' is given twice"),
        (f"transforms: {{true: {TABLES}}}", r"the name True is not a text; quote it"),
        (f"transforms: {{xz: {TABLES[:-1]}, kind: mirror}}}}", r"kind is 'reflection' or 'rotation'"),
        (f"transforms: {{xz: {TABLES}}}\nnames: {{a: b}}", r"names: goes with generators:"),
        (f"transforms: {{xz: {TABLES}}}\ngroup: no", r"group is true or false, got 'no'"),
        (f"transforms: {{xz: {TABLES}}}\ngroup: 1", r"group is true or false, got 1"),
        ("transforms: {xz: [1", r"is not YAML"),
        ("- obs_indices: [0]", r"read_paper_file"),
        ("observations: [{h: scalar}]\ngenerators: [xz]", r"needs the section actions:"),
        (
            "observations: [{h: scalar}]\nactions: [{h: scalar}]\ngenerators: [zx]",
            r"'zx': no isometry is called",
        ),
        (
            "observations: [{v: vector}]\nactions: [{v: vector}]\ngenerators: [xz, r90]\nelements: [xz, r90]",
            r"elements: lists xz, r90, but the generators give",
        ),
        (
            "observations: [{v: vector}]\nactions: [{v: vector}]\ngenerators: [xz]\nnames: {yx: a}",
            r"no product is called \['yx'\]",
        ),
    ],
)
def test_wrong_files_are_refused_with_their_name(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_words_that_yaml_takes_for_truth_values_are_names(tmp_path):
    entries = ", ".join(f"{name}: {TABLES}" for name in ("on", "off", "yes", "no", "y", "n"))
    assert load(write(tmp_path, f"transforms: {{{entries}}}")).names == ("on", "off", "yes", "no", "y", "n")


def test_an_empty_file_is_told_what_it_needs(tmp_path):
    with pytest.raises(ValueError, match="the file is empty; it needs generators: or transforms:"):
        load(write(tmp_path, "# nothing yet\n"))


def test_a_missing_file_is_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.yaml")
    with pytest.raises(FileNotFoundError):
        load(str(tmp_path / "nothing.yaml"))


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "ant.yaml"
    save(load("ant"), path)
    before = path.read_text()

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save(load("triangle"), path)
    assert path.read_text() == before
