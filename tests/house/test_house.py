"""Who may depend on whom: read from the imports themselves, wherever in a file they stand."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import tape

ROOT = Path(__file__).resolve().parents[2]


def modules(house: str) -> dict[str, Path]:
    """The modules of a package by name, its packages under their own names."""
    found = {}
    for path in (ROOT / house).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def parsed(path: Path) -> ast.Module:
    """A file, read once for all tests, which leave the tree as it is."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that a file consists of."""
    return tuple(ast.walk(parsed(path)))


@pytest.fixture(scope="module", autouse=True)
def forgotten():
    """Millions of nodes, when all tests are done."""
    yield
    parsed.cache_clear()
    nodes.cache_clear()


def only_for_types(found: Iterable[ast.AST]) -> set[ast.AST]:
    """What stands under ``if TYPE_CHECKING:``, which never runs."""
    blocks = [node for node in found if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


@cache
def imports(name: str, path: Path, known: frozenset[str]) -> set[str]:
    """The modules among `known` that a file imports, inside functions too."""
    return imports_in(nodes(path), name, path.name == "__init__.py", known)


def imports_in(nodes: Iterable[ast.AST], name: str, is_package: bool, known: set[str]) -> set[str]:
    """The same of what the code of a module consists of."""
    unused = only_for_types(nodes)
    package = name if is_package else name.rpartition(".")[0]
    found: set[str] = set()
    for node in nodes:
        if node in unused:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            inside = {f"{base}.{alias.name}" for alias in node.names} & known
            found |= inside or {base}
    return {m for m in found if m.split(".")[0] in ("ops", "tape")} - {name}


def graph(*houses: str) -> dict[str, set[str]]:
    paths = {name: path for house in houses for name, path in modules(house).items()}
    known = frozenset(modules("ops") | modules("tape"))
    return {name: imports(name, path, known) for name, path in paths.items()}


def test_ops_does_not_know_tape():
    for name, used in graph("ops").items():
        assert not {m for m in used if m.split(".")[0] == "tape"}, f"{name} imports {used}"


@pytest.mark.parametrize("house", ["ops", "tape"])
def test_no_import_cycles(house):
    """A package's own ``__init__`` gathers its rooms and is imported by none of them."""
    edges = graph(house)
    assert len(edges) > 10
    try:
        order = list(TopologicalSorter(edges).static_order())
    except CycleError as error:
        pytest.fail(f"import cycle: {' → '.join(reversed(error.args[1]))}")
    assert set(edges) <= set(order)


def test_the_cycle_test_sees_cycles(tmp_path):
    """Imports of several spellings, also inside functions, are edges."""
    (tmp_path / "a.py").write_text("def f():\n    from . import b\n    from .c import x\n    import tape.d\n")
    assert imports("tape.a", tmp_path / "a.py", frozenset({"tape.a", "tape.b", "tape.c"})) == {
        "tape.b",
        "tape.c",
        "tape.d",
    }
    (tmp_path / "e.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import x\n")
    assert imports("tape.e", tmp_path / "e.py", frozenset({"tape.b"})) == set()


def outside_of_functions(tree: ast.AST) -> list[ast.AST]:
    """What a file consists of, without the bodies of its functions."""
    found: list[ast.AST] = [tree]
    for node in found:
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        found += [inner for inner in ast.iter_child_nodes(node) if not (is_function and inner in node.body)]
    return found


def at_once(name: str, path: Path, known: set[str]) -> set[str]:
    """The modules among `known` that a file imports as it is imported itself, its packages among them."""
    package = name.rpartition(".")[0]
    found = imports_in(outside_of_functions(parsed(path)), name, path.name == "__init__.py", known) & known
    return found | {m.rpartition(".")[0] for m in found} | ({package} if package else set()) - {name}


WITH_THE_LIBRARY = {"ops", "tape", "tape.autograd"}
"""The packages that are there, rooms and all, once the library has been imported."""


def test_imports_go_one_way():
    """Threads that import rooms wait for each other, and for packages, but never in a circle (`tape.base.rooms`)."""
    paths = modules("ops") | modules("tape")
    edges = {name: at_once(name, path, set(paths)) - WITH_THE_LIBRARY for name, path in paths.items()}
    try:
        list(TopologicalSorter(edges).static_order())
    except CycleError as error:
        pytest.fail(f"threads may wait in a circle: {' → '.join(reversed(error.args[1]))}")
    code = "import sys, tape; print(*[m for m in sys.modules if m.split('.')[0] in ('ops', 'tape')])"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(there) >= WITH_THE_LIBRARY


LATER = {
    ("tape.gradcheck.__main__", "tape.gradcheck.terminal.command"),  # the command under the package's name
    ("tape.base.describing", "tape.surface.formulas"),  # help, when somebody asks for it
    ("tape.base.describing", "tape.surface.formulas"),
    ("tape.base.printing", "tape.surface.pictures"),  # notebooks
    ("tape.numpy.arrays.conversions", "tape.surface.pictures"),
    ("tape.base.jit_door", "tape.jit.machine.kept"),  # the door to the jitted half stands before it
    ("tape.base.jit_door", "tape.jit.machine.object_layout"),
    ("tape.history.node", "tape.autograd.graph"),  # a node's class says that it is PyTorch's
    ("tape.recording.calls", "tape.numpy.dispatch"),  # a call that meets an array goes there
}
"""What is imported, from a room further down, when it is first asked for."""


@cache
def opened(path: Path, known: frozenset[str]) -> set[str]:
    """The modules that a file names in full, as `tape.base.rooms` wants them."""
    found = {node.value for node in nodes(path) if type(node) is ast.Constant}
    return {name for name in found if isinstance(name, str)} & known


def room(module: str, packages: set[str]) -> str:
    """The folder of a module, by its name; a module that lies beside the folders is a room of its own."""
    parent = module.rpartition(".")[0]
    return module if module in packages or parent in ("ops", "tape") else parent


@pytest.fixture(scope="module")
def paths() -> dict[str, Path]:
    return modules("ops") | modules("tape")


@pytest.fixture(scope="module")
def packages(paths) -> set[str]:
    return {name for name, path in paths.items() if path.name == "__init__.py"}


@pytest.fixture(scope="module")
def on_the_map() -> dict[str, str]:
    """The rooms of the README in order, with their sentences."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## The house")[2]
    rows = re.findall(r"^\| `((?:ops|tape)[\w/]*)(?:/|\.py)` \| (.*) \|$", text, re.MULTILINE)
    return {name.replace("/", "."): sentence for name, sentence in rows}


def test_the_map_has_every_room_and_its_sentence(paths, packages, on_the_map):
    sentences = {name: ast.get_docstring(parsed(paths[name])) for name in paths}
    rooms = {room(name, packages) for name in paths}
    assert on_the_map == {name: (sentences[name] or "").partition("\n")[0] for name in rooms}


def test_a_room_imports_those_before_it_on_the_map(paths, packages, on_the_map):
    place = {name: k for k, name in enumerate(on_the_map)}
    wrong = set()
    for name, path in paths.items():
        now = {(name, other) for other in imports(name, path, frozenset(paths)) & set(paths)} - LATER
        later = {(name, other) for other in opened(path, frozenset(paths))} - LATER if name not in packages else set()
        for _, other in now | later:
            here, there = room(name, packages), room(other, packages)
            if place[there] > place[here] and not here.startswith(f"{there}."):
                wrong.add((name, other))
    assert wrong == set()


def floors(names: Iterable[str], room_of: Callable[[str], str], edges: dict[str, set[str]]) -> int:
    """How many rooms the longest chain of imports goes through; a room's own package does not count."""
    below: dict[str, set[str]] = {room_of(name): set() for name in names}
    for name, used in edges.items():
        here = room_of(name)
        below[here] |= {there for there in map(room_of, used) if there != here and not here.startswith(f"{there}.")}
    height: dict[str, int] = {}
    for here in TopologicalSorter(below).static_order():
        height[here] = 1 + max((height[there] for there in below[here]), default=0)
    return max(height.values())


def test_the_house_has_few_floors(paths, packages):
    """Counted by the first folder below `ops` and `tape`, and by every folder for itself."""
    known = frozenset(paths)
    edges = {
        name: {m for m in (imports(name, path, known) & known) | opened(path, known) if (name, m) not in LATER}
        for name, path in paths.items() if name not in packages
    }  # fmt: skip
    edges |= {name: imports(name, paths[name], known) & known for name in packages}
    assert floors(paths, lambda name: ".".join(name.split(".")[: 1 if name.startswith("ops") else 2]), edges) <= 10
    assert floors(paths, lambda name: room(name, packages), edges) <= 17


def test_floors_are_counted():
    edges = {"t.a.x": {"t.b.y"}, "t.b.y": {"t.c"}, "t.c": set(), "t.c.z": {"t.c"}}
    assert floors(edges, lambda name: name, edges) == 3
    assert floors(edges, lambda name: "t" if name.startswith("t.a") else "u", edges) == 2


def test_what_is_opened_later_is(paths):
    known = frozenset(paths)
    asked = {name: opened(paths[name], known) | imports(name, paths[name], known) for name, _ in LATER}
    assert {(name, other) for name, other in LATER if other not in asked[name]} == set()


def test_no_room_has_more_than_25_modules():
    rooms = {path.parent for top in ("ops", "tape", "tests") for path in (ROOT / top).rglob("*.py")}
    for room in rooms:
        assert len([*room.glob("*.py")]) <= 25, room


TESTED_IN = {
    "jit": "recording", "base": "recording", "backprop": "recording", "autograd": "history", "utils": "custom",
    "dask": "on_dask", "surface": "house", "testing": "house",
}  # fmt: skip
"""Rooms whose tests lie in a folder of another name; the README says so."""


def test_tests_have_the_same_rooms():
    rooms = {path.parent.name for path in (ROOT / "tape").glob("*/__init__.py")} | {"ops"}
    tested = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("**/test_*.py"))}
    assert {room for room in rooms if TESTED_IN.get(room, room) not in tested} == set()
    assert TESTED_IN.keys() <= rooms - tested


NAMES_OF_PYTORCH = {"forward_ad", "function", "grad_mode", "gradcheck", "hooks"}


def test_a_name_occurs_once(paths, packages):
    last = [name.rpartition(".")[2] for name in paths]
    assert {name for name in last if last.count(name) > 1} <= NAMES_OF_PYTORCH


def classes(path: Path) -> list[str]:
    """The classes that a file defines, also inside others and inside functions."""
    return [node.name for node in nodes(path) if type(node) is ast.ClassDef]


def test_a_class_name_occurs_once(paths):
    count = Counter(name for path in paths.values() for name in classes(path))
    assert {name for name, n in count.items() if n > 1} == set()


def test_a_rule_of_more_than_a_line_has_a_name(paths):
    """In stack traces, and to whoever reads the declaration: no lambda goes over the end of its line."""
    long = {
        f"{path.relative_to(ROOT)}:{node.lineno}" for path in paths.values()
        for node in nodes(path)
        if type(node) is ast.Lambda and node.end_lineno > node.lineno
    }  # fmt: skip
    assert long == set()


def test_importing_ops_leaves_scipy_and_numba_alone():
    code = "import sys, ops; print([m for m in ('scipy', 'numba', 'tape') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_no_room_takes_the_place_of_something_public():
    """Importing a room puts it under its name; what users mean by that name must have come later."""
    code = "import sys, tape; print(*(m[5:] for m in sys.modules if m.startswith('tape.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    rooms = {path.stem for path in Path(tape.__file__).parent.glob("[!_]*")} - set(loaded)
    assert [room for room in rooms if not isinstance(getattr(tape, room, tape), ModuleType)] == []
