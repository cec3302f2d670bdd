"""Looking at programs: the list as text, table and drawing; what it costs."""

from __future__ import annotations

import copy
import io
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from samples import DIFFERENTIABLE, samples

import tape
from tape.program.show.text import index_text, record_text, short


def text(program, **options):
    file = io.StringIO()
    assert program.show(file=file, **options) is None
    return file.getvalue()


def squares(x, w):
    y = x * w + 2.0
    if y.sum() > 0:
        y = -y[1:]
    return (y @ y) / 3, y


@pytest.fixture
def program():
    return tape.record(squares, np.ones(3), tape.ones(3))


def here(name):
    """The line of a statement in `squares`."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return f"test_program_show.py:{next(k for k, line in enumerate(lines, 1) if line.strip() == name)}"


# What the inputs are called.


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "names"),
    [
        (lambda x, y: x * y, (1.0, 2.0), {}, ["x", "y"]),
        (lambda x, n, y: x * y * n, (1.0, 3, 2.0), {}, ["x", "y"]),
        (lambda x, *, y: x * y, (1.0,), {"y": 2.0}, ["x", "y"]),
        (lambda *xs: xs[0] * xs[1], (1.0, 2.0), {}, ["xs[0]", "xs[1]"]),
        (lambda options: options[0] * options[1], ([1.0, 2.0],), {}, ["options[0]", "options[1]"]),
        (lambda p, x: p["w"][0] * x, ({"w": (1.0,), "n": 3}, 2.0), {}, ["p['w'][0]", "x"]),
        (lambda v1, velocity: v1 * velocity, (1.0, 2.0), {}, ["input v1", "velocity"]),
        (tape.func.grad(lambda mass: mass * mass), (1.0,), {}, ["mass"]),
    ],
)
def test_inputs_are_called_as_the_arguments(function, args, kwargs, names):
    program = tape.record(function, *args, **kwargs)
    lines = text(program, recorded=True).splitlines()[1:]
    shown = [line.split("  ")[0].partition(" = ")[2].strip() for line in lines if re.match(r"v\d+ = ", line)]
    assert shown[: len(names)] == names


def test_a_file_and_a_copy_keep_the_names(program, tmp_path):
    program.save(tmp_path / "p")
    assert "v0 = x" in text(tape.load(tmp_path / "p"))
    assert "v0 = x" in text(copy.copy(program))


def test_a_cell_of_a_notebook_stands_for_its_file(monkeypatch):
    """IPython says of the files that it compiles cells from which cells they are."""
    code = compile("def f(x):\n    return x * 2.0\n", "/tmp/ipykernel_1/123.py", "exec")
    cells = {}
    exec(code, cells)
    names = SimpleNamespace(format_code_name=lambda name: ("Cell", "In[7]") if "123.py" in name else None)
    shell = SimpleNamespace(compile=names)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    shown = text(tape.record(cells["f"], np.ones(3)))
    assert "In [7]:2" in shown
    assert "123.py" not in shown
    assert "test_program_show.py:" in text(tape.record(squares, np.ones(3), tape.ones(3)))


# The text.


def test_one_line_for_each_record(program):
    title, *lines = text(program).splitlines()
    assert title == "program of 13 records: 2 inputs, 3 constants, 8 ops; 13 were recorded"
    rows = [re.split(r" {2,}", line) for line in lines]
    first, last, returned, guard = here("y = x * w + 2.0"), here("return (y @ y) / 3, y"), *rows[-2:]
    assert ["v0 = x", "float64[3]"] in rows
    assert ["v2 = v0 * v1", "float64[3]", first] in rows
    assert ["v3 = 2.0", "float64", first] in rows
    assert ["v4 = v2 + v3", "float64[3]", first] in rows
    assert ["v5 = sum(v4)", "float64", here("if y.sum() > 0:")] in rows
    assert ["v7 = v5 > v6", "bool", here("if y.sum() > 0:")] in rows
    assert ["v8 = v4[1:]", "float64[2]", here("y = -y[1:]")] in rows
    assert ["v9 = -v8", "float64[2]", here("y = -y[1:]")] in rows
    assert ["v10 = v9 @ v9", "float64", last] in rows
    assert ["v12 = v10 / v11", "float64", last] in rows
    assert returned == ["return v12, v9"]
    assert guard == ["guard: bool() of v7 gives True", here("if y.sum() > 0:")]


def test_as_recorded_and_after_the_passes():
    program = tape.record(lambda x: (x * 1.0, np.sin(x))[0] + np.exp(x) + np.exp(x), 2.0)
    assert "sin" in text(program, recorded=True)
    assert "sin" not in text(program)
    assert text(program, recorded=True).count("exp(") == 2
    assert text(program).count("exp(") == 1
    assert text(program).startswith(f"program of {len(program)} records")


def test_the_adjoint_list():
    w = tape.tensor([1.0, 2.0], requires_grad=True)
    program = tape.record(lambda x: (np.sin(x * w) * 3.0, x.sum() > 0), np.ones(2))
    shown = text(program, adjoint=True)
    for part in ("v0 = x", "= captured tensor 0", "= adjoint of output 0", "cos(", "test_program_show.py:"):
        assert part in shown
    assert "adjoint of output 1" not in shown
    returned = re.search(r"return (.*)", shown)
    assert returned is not None
    assert len(returned[1].split(", ")) == 2
    assert len(program._derived) == 0  # what is only shown leaves nothing behind


def test_the_adjoint_list_is_the_one_that_runs(program):
    x = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
    second = tape.record(lambda x: (x * x).sum(), x)
    second(x).backward()
    assert second.adjoint() is next(iter(second._derived.values()))[0]
    np.testing.assert_array_equal(second.adjoint().evaluate([np.ones(3), np.float64(1.0)])[0], [2.0, 2.0, 2.0])


def test_adjoint_lists_of_adjoint_lists(program):
    assert "cos" in text(tape.record(lambda x: np.sin(x), 1.0).adjoint(), adjoint=True)


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_every_op_is_shown(op):
    for xs, params in samples(op):
        program = tape.record(lambda *xs, params=params: op(*xs, **params), *map(np.asarray, xs))
        shown = text(program, recorded=True, kernels=True)
        sign = op.symbol or op.name in ("select", "getitem")
        assert sign or f"= {op.name}(" in shown
        guards = shown.count("\nguard: ")
        assert len(shown.splitlines()) == len(program.recorded) + 2 + guards
        ElementTree.fromstring(program.svg())


def test_kernels(program):
    steps = {line.split()[0]: line.split("  ")[-1] for line in text(program, kernels=True).splitlines()[1:-2]}
    assert steps["v2"] == steps["v4"] == steps["v5"]
    assert steps["v2"].startswith("kernel ")
    assert steps["v10"] == "NumPy"


def test_parameters_indices_and_constants():
    x = np.ones((3, 4))

    def f(x):
        return x[1, ..., None], x[:, ::2], x[[0, 2]], x.sum(1, keepdims=True), x * np.arange(12.0).reshape(3, 4), x + 1j

    shown = text(tape.record(f, x))
    for part in ("[1, ..., None]", "[:, ::2]", "[[0, 2]]", "sum(v0, axis=1, keepdims=True)", "= array of shape (3, 4)"):
        assert part in shown
    assert index_text((3,)) == "3,"
    assert short("x" * 100) == "'" + "x" * 38 + "…"


def test_the_middle_of_a_long_list_is_left_out():
    def f(x):
        for _ in range(1000):
            x = np.sin(x)
        return x

    program = tape.record(f, 1.0)
    lines = text(program, most=10).splitlines()
    assert len(lines) == 1 + 10 + 1 + 1
    assert lines[6] == "… 991 more records …"
    assert lines[1].startswith("v0 = ")
    assert lines[-2].startswith("v1000 = sin(v999)")
    assert len(text(program).splitlines()) == 1 + 1000 + 1 + 1


def test_numbers_stand_where_they_are_used():
    program = tape.record(lambda x: x * 2.5, 1.0)
    k = int(program.listing.outputs[0])
    assert record_text(program.listing, k, inline=True) == "v0 * 2.5"


def test_shown_on_the_screen(program, capsys):
    program.show()
    assert capsys.readouterr().out == text(program)


def test_names_of_programs(program):
    assert repr(program) == "<program of 13 records: 2 inputs, 2 outputs, 1 guard>"
    fast = tape.compile(squares)
    fast(np.ones(3), np.ones(3))
    assert repr(fast) == "<compiled squares: 1 program, 1 replay>"


# The drawing.


def boxes(drawing):
    """Position and size of each box, by what is written in it first."""
    root = ElementTree.fromstring(drawing)
    space = "{http://www.w3.org/2000/svg}"
    found = {}
    for group in root.iter(space + "g"):
        rect, label = group.find(space + "rect"), group.find(space + "text")
        found[label.text] = tuple(float(rect.get(key)) for key in ("x", "y", "width", "height"))
    return root, found


def test_the_drawing(program):
    root, found = boxes(program.svg())
    width, height = float(root.get("width")), float(root.get("height"))
    assert {"v0 = x", "v2 = v0 * v1", "v4 = v2 + 2.0", "v8 = v4[1:]", "v12 = v10 / 3"} <= found.keys()
    assert len(found) == 13 - 3
    for x, y, w, h in found.values():
        assert x >= 0
        assert y >= 0
        assert x + w <= width
        assert y + h <= height
    assert found["v2 = v0 * v1"][1] > found["v0 = x"][1]
    assert len(root.findall("{http://www.w3.org/2000/svg}path")) == 9


def test_boxes_do_not_overlap():
    def f(x):
        parts = [np.sin(x[i]) * x[j] for i in range(4) for j in range(4)]
        return tape.stack(parts).sum()

    _, found = boxes(tape.record(f, np.ones(4)).svg(most=1000))
    placed = list(found.values())
    for i, (x, y, w, h) in enumerate(placed):
        for u, v, p, q in placed[:i]:
            assert x + w <= u or u + p <= x or y + h <= v or v + q <= y


def points(path):
    """Points along the curves and lines of an edge, as the standard has them."""
    x = y = 0.0
    for kind, numbers in re.findall(r"([MLC])([^MLC]*)", path.get("d")):
        given = list(map(float, numbers.split()))
        for s in np.linspace(0.0, 1.0, 30):
            corners = [(x, y), *zip(given[::2], given[1::2])]
            while len(corners) > 1 and kind != "M":
                corners = [((1 - s) * a + s * u, (1 - s) * b + s * v) for (a, b), (u, v) in pairwise(corners)]
            yield corners[0] if kind != "M" else (given[0], given[1])
        x, y = given[-2:]


def test_no_edge_runs_behind_a_box():
    def f(x, w):
        y = x * w
        for _ in range(4):
            y = np.sin(y) * x + w
        return y, x - w

    root, found = boxes(tape.record(f, np.ones(3), np.ones(3)).svg(recorded=True, most=1000))
    paths = root.findall("{http://www.w3.org/2000/svg}path")
    assert len(paths) > 12
    for path in paths:
        for u, v in points(path):
            assert not [
                b for b, (x, y, w, h) in found.items() if x + 0.1 < u < x + w - 0.1 and y + 0.1 < v < y + h - 0.1
            ]


def test_an_edge_over_layers_begins_and_ends_at_its_boxes(program):
    root, found = boxes(program.svg())
    for path in root.findall("{http://www.w3.org/2000/svg}path"):
        (x, y), *_, (u, v) = points(path)
        assert [b for b, (left, top, w, h) in found.items() if left < x < left + w and abs(top + h - y) < 0.2]
        assert [b for b, (left, top, w, h) in found.items() if left < u < left + w and abs(top - v) < 0.2]


def test_the_drawing_says_what_it_shows(program):
    root, _ = boxes(program.svg())
    assert root.get("role") == "img"
    assert root.get("aria-label").startswith(
        "Graph of 10 boxes, each below what it reads: v0 = x; v1 = w; v2 = v0 * v1"
    )
    long = ElementTree.fromstring(tape.record(lambda x: sum(np.sin(k * x) for k in range(20)), np.ones(3)).svg())
    assert long.get("aria-label").endswith("more")


def test_what_is_written_in_the_drawing_is_escaped():
    program = tape.record(lambda x: (x < 2) & (x > 1), np.ones(2))
    assert "v0 &lt; 2" in program.svg()
    boxes(program.svg(adjoint=True))


def test_a_long_drawing():
    def f(x):
        y = x
        for _ in range(500):
            y = y * x + 1.0
        return y

    _, found = boxes(tape.record(f, 1.0).svg(most=20))
    assert any(label.startswith("… 98") for label in found)
    assert len(found) <= 21


def test_in_a_notebook(program):
    table = program._repr_html_()
    for part in ("v2 = v0 * v1", "float64[3]", here("y = -y[1:]"), "<svg", "v5 &gt; v6"):
        assert part in table
    ElementTree.fromstring(f"<all>{table}</all>")


# What it costs.


def test_statistics():
    def f(x, w):
        return np.tanh(x @ w).sum() * 1.0 + np.exp(x).sum() * 0.0

    program = tape.record(f, np.ones((3, 4)), np.ones((4, 2)))
    found = program.statistics()
    assert found.recorded == len(program.recorded)
    assert found.records == len(program)
    assert [p.name for p in found.passes] == [
        "prune", "without_covered", "join_products", "expand", "fold", "widen", "merge", "prune",
    ]  # fmt: skip
    assert found.flops == 2 * 3 * 2 * 4 + 6 + 6 + 12 + 12 + 1 + 1
    assert (found.inputs, found.outputs, found.guards, found.replays) == (2, 1, 0, 0)
    assert found.bytes_moved >= 8 * (12 + 8 + 6 + 6 + 12)
    assert found.live_peak >= 8 * 6
    assert sum(k.records for k in found.kernels) + found.steps == 7
    assert (found.numpy, found.stops) == (0, 0)
    assert found.seconds == sum(p.seconds for p in found.passes) > 0
    assert {k.elements for k in found.kernels} >= {6, 12}


def test_flops_are_counted_in_lanes():
    """What an op with a formula does is counted there; what only moves numbers does nothing."""
    for f, flops in (
        (lambda x: x * x + x, 2 * 10),
        (lambda x: x.reshape(2, 5).T, 0),
        (lambda x: tape.where(x > 0, x, -x), 3 * 10),
        (lambda x: x[::2] * 2.0, 5),
        (lambda x: x.cumsum(0), 10),
    ):
        assert tape.record(f, np.ones(10)).statistics().flops == flops
    sigmoid = tape.record(lambda x: tape.sigmoid(x), np.ones(10)).statistics().flops
    assert sigmoid >= 30
    assert sigmoid % 10 == 0


def test_live_peak():
    """Results are let go when nobody needs them."""

    def f(x):
        for _ in range(10):
            x = tape.sort(x)[0]
        return x

    found = tape.record(f, np.ones(1000)).statistics()
    assert 8000 <= found.live_peak <= 4 * 8000


def test_the_tiers_are_told():
    for tier in ("interpret", "optimised"):
        program = tape.record(lambda x: x * x + 1.0, 2.0, tier=tier)
        assert program.statistics().tier == tier
        assert tier in str(program.statistics())
    assert tape.record(lambda x: tape.sort(x)[0], np.ones(3)).statistics().tier == "numpy"


def test_replays_guards_and_adjoints_are_counted():
    program = tape.record(lambda x: x * 2 if x.sum() > 0 else x, np.ones(2))
    for sign in (1, 1, -1):
        if sign > 0:
            program(np.ones(2))
        else:
            with pytest.raises(tape.program.GuardMissed):
                program(-np.ones(2))
    found = program.statistics()
    assert (found.replays, found.missed, found.guards, found.derived) == (3, 1, 1, 0)
    for part in ("records", "flops per replay", "live peak", "guards             1, missed 1 times"):
        assert part in str(found)


def test_statistics_of_compiled_functions():
    fast = tape.compile(lambda x: x * 2 if x.sum() > 0 else x)
    for x in (np.ones(2), -np.ones(2), np.ones(2), np.ones(3)):
        fast(x)
    found = fast.statistics()
    assert (found.signatures, found.eager, len(found.programs), found.missed) == (2, 0, 3, 1)
    assert found.replays == sum(p.replays for p in fast.programs)
    assert "3 of" in str(found)


def test_statistics_say_what_is_compared_at_each_call():
    """Data around a function is compared, unless nobody can write to it; little of it is not worth a word."""
    data, little, fixed = np.ones((100, 100)), np.ones(3), np.ones(50_000)
    fixed.flags.writeable = False

    def loss(w):
        return (data @ w).sum() + (little * w[:3]).sum() + fixed.sum()

    fast = tape.compile(loss)
    fast(np.ones(100))
    assert fast.statistics().compared == data.nbytes + little.nbytes
    assert "compared    80,024 bytes of arrays around it" in str(fast.statistics())
    fast = tape.compile(lambda w, data: (data @ w).sum() + little.sum())
    fast(np.ones(100), data)
    assert fast.statistics().compared == little.nbytes
    assert "compared" not in str(fast.statistics())


# Names of the library.


def test_public_names():
    assert tape.program.compile is tape.compile
    assert tape.program.record is tape.record
    assert tape.program.load is tape.load
    assert isinstance(tape.record(lambda x: x, 1.0), tape.Program)


def test_importing_the_library_leaves_programs_alone():
    code = "import sys, tape; print([m for m in ('tape.program', 'numba') if m in sys.modules]); print(tape.record)"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.startswith("[]\n<function record")
