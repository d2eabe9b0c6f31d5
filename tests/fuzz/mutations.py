"""Real files, changed as damage or malice would change them: bytes, values, cells, headers."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

NASTY: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    1.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    10**30,
    10**5000,
    "",
    "a",
    "x" * 20_000,
    "\x1b]0;owned\x07\x1b[2J",
    "=cmd|' /C calc'!A0",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "../../../../../../escaped",
    "/dev/zero",
    "$\\frac{$",
    "os:system",
    "os:X-v0",
    "\ud800",
    "a\x00b",
    "\u202egnp.exe",
    [],
    {},
    [[]],
    [1] * 1000,
    {"a": {"b": {}}},
    ["x", 1, None],
]


def mutate(path: Path, chance: random.Random) -> str:
    """Change one file; what was done, for the message of a failure."""
    kinds: list[Callable[[Path, random.Random], str]] = [_bytes]
    if path.suffix == ".json":
        kinds += [_json] * 3
    elif path.suffix in (".yaml", ".yml"):
        kinds += [_yaml] * 3
    elif path.suffix == ".csv":
        kinds += [_cell] * 3
    elif path.suffix == ".safetensors":
        kinds += [_header, _arrays]
    elif path.suffix == ".npz":
        kinds += [_npz]
    return chance.choice(kinds)(path, chance)


def _bytes(path: Path, chance: random.Random) -> str:
    content = bytearray(path.read_bytes())
    place = chance.randrange(len(content) + 1)
    how = chance.choice(["cut", "flip", "insert", "drop", "double", "empty", "noise", "deep", "not UTF-8"])
    if how == "cut":
        content = content[:place]
    elif how == "flip" and content:
        for _ in range(chance.choice([1, 1, 10])):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif how == "insert":
        content[place:place] = chance.choice(
            [b"\x00", b"\n", b"*a", b"&a ", b"{", b"]", b"'", b"\x1b[31m", b": "]
        )
    elif how == "drop":
        del content[place : place + chance.choice([1, 10, 1000])]
    elif how == "double":
        content += content[place:]
    elif how == "empty":
        content = bytearray()
    elif how == "noise":
        content = bytearray(chance.randbytes(chance.choice([1, 100, 5000])))
    elif how == "deep":
        content = bytearray(chance.choice([b"[", b'{"a":', b"- "]) * chance.choice([500, 200_000]))
    else:
        content[place:place] = b"\xff\xfe"
    path.write_bytes(bytes(content))
    return f"{path.name}: {how} at {place}"


def _places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [here]
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        found += _places(part, (*here, key))
    return found


def _change(value: Any, chance: random.Random) -> tuple[Any, str]:
    places = [place for place in _places(value) if place]
    if not places:
        return chance.choice(NASTY), "the whole"
    *outer, last = chance.choice(places)
    inside = value
    for key in outer:
        inside = inside[key]
    how = chance.choice(["set", "set", "set", "drop", "rename"])
    nasty = chance.choice(NASTY)
    if how == "drop":
        del inside[last]
    elif how == "rename" and isinstance(inside, dict):
        inside[str(nasty)[:100] if nasty != 10**5000 else "big"] = inside.pop(last)
    else:
        inside[last] = nasty
    shown = "10**5000" if nasty == 10**5000 else repr(nasty)[:60]
    return value, f"{how} {'.'.join(map(str, (*outer, last)))} {shown}"


def _json(path: Path, chance: random.Random) -> str:
    value, what = _change(json.loads(path.read_text()), chance)
    path.write_text(_dumped(value), encoding="utf-8", errors="surrogatepass")
    return f"{path.name}: {what}"


def _dumped(value: Any) -> str:
    import sys

    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(value)
    finally:
        sys.set_int_max_str_digits(digits)


def _yaml(path: Path, chance: random.Random) -> str:
    value, what = _change(yaml.safe_load(path.read_text()), chance)
    path.write_text(_dumped(value), encoding="utf-8", errors="surrogatepass")  # JSON is YAML, nearly
    return f"{path.name}: {what}"


def _cell(path: Path, chance: random.Random) -> str:
    lines = [line.split(",") for line in path.read_text().splitlines()]
    row = chance.randrange(len(lines))
    nasty = chance.choice([*NASTY, "1e400", "-5", "nan", "1e300", '"', "0x10", "٣"])
    text = "9" * 5000 if nasty == 10**5000 else str(nasty)
    column = chance.randrange(len(lines[row]))
    lines[row][column] = text
    path.write_text("\n".join(map(",".join, lines)) + "\n", encoding="utf-8", errors="surrogatepass")
    return f"{path.name}: row {row} column {column} is {text[:40]!r}"


def _header(path: Path, chance: random.Random) -> str:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    what = chance.choice(["kind", "value", "length"])
    if what == "kind":
        header[chance.choice([name for name in header if name != "__metadata__"])]["dtype"] = chance.choice(
            ["BF16", "F8_E4M3", "F64", "U8", "C64", "x"]
        )
    else:
        header, what = _change(header, chance)
    text = _dumped(header).encode("utf-8", "surrogatepass")
    claimed = chance.choice([len(text)] * 5 + [2**63, 0, len(text) * 2])
    path.write_bytes(claimed.to_bytes(8, "little") + text + content[8 + length :])
    return f"{path.name}: header {what}"


def _arrays(path: Path, chance: random.Random) -> str:
    from safetensors.numpy import load, save

    arrays = dict(load(path.read_bytes()))
    name = chance.choice(sorted(arrays))
    how = chance.choice(["drop", "double", "reshape", "nan", "integers"])
    if how == "drop":
        del arrays[name]
    elif how == "double":
        arrays[name] = arrays[name] * 2
    elif how == "reshape":
        arrays[name] = arrays[name].reshape(-1)[:1].copy()
    elif how == "nan" and arrays[name].dtype.kind == "f":
        arrays[name] = np.full_like(arrays[name], np.nan)
    else:
        arrays[name] = np.zeros(arrays[name].shape, np.int64)
    path.write_bytes(save({name: np.asarray(array) for name, array in arrays.items()}))
    return f"{path.name}: {how} {name}"


def _npz(path: Path, chance: random.Random) -> str:
    import zipfile

    names = ["observations", "actions", "next_observations"]
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in names}
    how = chance.choice(["rows", "objects", "drop", "shape", "nan", "huge member"])
    if how == "rows":
        return _huge_header(path, chance)
    if how == "huge member":
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("zeros.npy", b"\0" * 10_000_000)
        return f"{path.name}: a member of zeros"
    name = chance.choice(names)
    if how == "drop":
        del arrays[name]
    elif how == "shape":
        arrays[name] = arrays[name].reshape(-1)
    elif how == "nan":
        arrays[name] = arrays[name] * np.nan
    else:
        arrays[name] = np.array([object()], dtype=object)
    np.savez(path, **arrays)
    return f"{path.name}: {how} {name}"


def _huge_header(path: Path, chance: random.Random) -> str:
    import io
    import zipfile

    file = io.BytesIO()
    shape = chance.choice([(10**14, 28), (-1, 3), (2**62, 2**62), (0, 10**18), ()])
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("observations", "actions", "next_observations"):
            archive.writestr(f"{name}.npy", file.getvalue() + b"\0" * 64)
    return f"{path.name}: announces {shape}"


def rehash(checkpoint: Path) -> None:
    """Make a changed checkpoint look as if it had been written so."""
    manifest = checkpoint / "manifest.json"
    try:
        about = json.loads(manifest.read_text())
        about["sha256"] = {
            name: hashlib.sha256((checkpoint / name).read_bytes()).hexdigest() for name in about["sha256"]
        }
        manifest.write_text(json.dumps(about))
    except (ValueError, KeyError, TypeError, OSError):  # it is the manifest that was changed
        return
