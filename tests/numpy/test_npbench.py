"""The runner of NPBench, on a checkout of three small kernels of its own."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.npbench import command, table
from benchmarks.npbench.contenders import compiled
from benchmarks.npbench.judge import judge, prepared, weights_of
from benchmarks.npbench.process import findings, run
from benchmarks.npbench.suite import Kernel, Unfit, kernels, places
from click.testing import CliRunner

INPUTS = """
import numpy as np
def initialize(N):
    rng = np.random.default_rng(1)
    return rng.random((N, N)), rng.random(N)
"""
RETURNS = "import numpy as np\ndef kernel(A, b):\n    return np.tanh(A @ b) * 3, 'done', np.int64(4)\n"
CHANGES = "def kernel(A, b):\n    A[1:, 0] -= 2.0 * A[:-1, 1]\n    b *= 2\n"
SINGLE = "import numpy as np\ndef kernel(A, b):\n    return np.sum(A.astype(np.float32), axis=0) * b\n"


def checkout(folder, name, source, **info):
    info = {
        "relative_path": f"some/{name}", "module_name": name, "func_name": "kernel",
        "parameters": {"S": {"N": 40}, "M": {"N": 50}},
        "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["A", "b"]},
        "input_args": ["A", "b"], "array_args": ["A", "b"], "output_args": [],
    } | info  # fmt: skip
    place = folder / "npbench" / "benchmarks" / "some" / name
    place.mkdir(parents=True)
    (place / f"{name}.py").write_text(INPUTS)
    (place / f"{name}_numpy.py").write_text(source)
    (folder / "bench_info").mkdir(exist_ok=True)
    (folder / "bench_info" / f"{name}.json").write_text(json.dumps({"benchmark": info}))


@pytest.fixture
def root(tmp_path):
    checkout(tmp_path, "returns", RETURNS)
    checkout(tmp_path, "changes", CHANGES)
    checkout(tmp_path, "single", SINGLE)
    return tmp_path


def kernel(root, name) -> Kernel:
    return kernels(root, [name])[0]


def test_kernels_are_found_by_name(root):
    assert [k.name for k in kernels(root)] == ["changes", "returns", "single"]
    with pytest.raises(ValueError, match="no kernel nothing; there are changes, returns, single"):
        kernels(root, ["nothing"])
    with pytest.raises(ValueError, match="give the folder of a checkout"):
        kernels(root / "npbench")


def test_what_is_returned_or_else_changed_is_summed(root):
    given = np.arange(4.0).reshape(2, 2), np.ones(2)
    returning = replace(kernel(root, "returns").case({"N": 2}), arguments=dict(zip("Ab", given)))
    total = returning.total(kernel(root, "returns").function())
    assert total(*given) == np.tanh(given[0] @ given[1]).sum() * 3
    changing = kernel(root, "changes").case({"N": 2})
    assert changing.changed == ("A", "b")
    assert changing.total(kernel(root, "changes").function())(*given) == 6 - 2 * 1 + 2 * 2
    assert given[1].sum() == 2


def test_kernels_without_float_arrays_are_named(root):
    bare = kernel(root, "returns")
    with pytest.raises(Unfit, match="no float inputs"):
        replace(bare, info=dict(bare.info) | {"input_args": ["N"]}).case({"N": 3})
    with pytest.raises(Unfit, match="no preset L; there are S, M"):
        bare.sizes("L")
    assert bare.small() == {"N": 9}


def wrong_by(factor):
    """Right gradients of the kernel ``changes``, times a factor."""

    def differentiated(A, b):
        w, v = np.cos(1 + np.arange(A.size)).reshape(A.shape), np.cos(2 + np.arange(b.size))
        g = w.copy()
        g[:-1, 1] -= 2 * w[1:, 0]
        out = A.copy()
        out[1:, 0] -= 2 * A[:-1, 1]
        return (out * w).sum() + (2 * b * v).sum(), [factor * g, 2 * v]

    return differentiated


def test_gradients_are_judged_by_differences(root):
    k = kernel(root, "changes")
    case = prepared(k)
    weights = weights_of(k, case)
    assert judge(k, case, wrong_by(1.0), weights) == ("right", "")
    verdict, why = judge(k, case, wrong_by(1.0001), weights)
    assert verdict == "wrong"
    assert why.startswith("along A, b: ")
    assert judge(k, case, lambda A, b: (0.0, [A, b]), weights)[1].startswith("value 0.0 instead of")
    assert judge(k, case, lambda A, b: (0.0, [A[0], b]), weights)[1].startswith("the gradient of A has shape (9,)")
    assert judge(k, case, lambda A, b: (np.multiply(A, 2, out=A).sum(), [A, b]), weights)[1] == "it changed A"


def test_differences_are_those_of_float64_where_the_kernel_rounds(root):
    k = kernel(root, "single")
    case = prepared(k)
    assert case.inputs[0].dtype == np.float32
    exact = lambda A, b: (  # noqa: E731
        float((A.sum(0) * b * weights[0]).sum()), [np.broadcast_to(b * weights[0], A.shape), A.sum(0) * weights[0]],
    )  # fmt: skip
    weights = weights_of(k, case)
    assert judge(k, case, exact, weights) == ("right", "")


COMPLEX = """
import numpy as np
def initialize(N):
    rng = np.random.default_rng(1)
    return rng.random((N, N)) + 1j * rng.random((N, N)), rng.random(N)
"""


def test_complex_inputs_are_moved_along_both_axes(root):
    checkout(root, "complex", "def kernel(A, b):\n    return A @ A * b, abs(A).sum()\n")
    (root / "npbench/benchmarks/some/complex/complex.py").write_text(COMPLEX)
    k = kernel(root, "complex")
    case = prepared(k)
    weights = weights_of(k, case)
    assert case.floats == ("A", "b")
    assert len(weights) == 3
    ours = compiled(k, case, weights)
    assert judge(k, case, ours, weights) == ("right", "")
    conjugates = lambda A, b: (ours(A, b)[0], list(map(np.conj, ours(A, b)[1])))  # noqa: E731
    assert judge(k, case, conjugates, weights)[0] == "wrong"
    by_real_parts = lambda A, b: (ours(A, b)[0], [x.real for x in ours(A, b)[1]])  # noqa: E731
    assert judge(k, case, by_real_parts, weights)[0] == "wrong"


def test_jumps_are_no_verdict(root):
    k = kernel(root, "returns")
    jumping = replace(k, info=dict(k.info) | {"module_name": "jumps", "relative_path": "some/returns"})
    (root / "npbench/benchmarks/some/returns/jumps.py").write_text(INPUTS)
    (root / "npbench/benchmarks/some/returns/jumps_numpy.py").write_text(
        "import numpy as np\ndef kernel(A, b):\n    return np.sign(np.sin(A * 1e8)), b * 1\n"
    )
    case = prepared(jumping)
    value = case.total(jumping.function())(*case.inputs)
    assert judge(jumping, case, lambda A, b: (value, [A * 0, b * 0 + 1]), None)[0] == "unsure"


def test_ours_is_right_on_what_is_returned(root):
    k = kernel(root, "returns")
    case = prepared(k)
    weights = weights_of(k, case)
    assert judge(k, case, compiled(k, case, weights), weights) == ("right", "")


def test_results_of_another_version_are_found_by_shape_and_value():
    a, b, c = np.zeros(2), np.ones(2), np.ones(3)
    assert places([b, c], [c, a, b]) == [2, 0]
    with pytest.raises(Unfit, match="other results"):
        places([a], [c])


def test_a_process_says_what_it_finds(root):
    found = run(root, "returns", "compiled", "S", 120, 8)
    assert found["verdict"] == found["at preset"] == "right"
    assert found["first"] > 0
    assert found["again"] > 0


def test_a_process_that_does_not_end_or_breaks_is_told(root):
    path = root / "npbench/benchmarks/some/changes/changes_numpy.py"
    path.write_text("import time\ndef kernel(A, b):\n    time.sleep(60)\n")
    assert run(root, "changes", "numpy", "S", 1.0, 8) == {"verdict": "refused", "reason": "not done after 1 s"}
    path.write_text("import os\ndef kernel(A, b):\n    os._exit(3)\n")
    assert run(root, "changes", "numpy", "S", 60, 8)["reason"].startswith("ended with 3: ")


def test_verdicts_come_without_times_as_well(root):
    assert list(findings(kernel(root, "returns"), "compiled", "none", 0.0)) == [{"verdict": "right", "reason": ""}]


def test_what_is_refused_is_not_timed(root):
    k = kernel(root, "returns")
    (root / "npbench/benchmarks/some/returns/returns_jax.py").write_text(
        "def kernel(A, b):\n    raise TypeError('x')\n"
    )
    pytest.importorskip("jax")
    assert list(findings(k, "jax", "S", 0.0)) == [{"verdict": "refused", "reason": "TypeError: x"}]


def test_the_command_shows_a_table_and_writes_what_was_found(root, tmp_path, monkeypatch):
    found = {
        "numpy": {"first": 1e-3, "again": 1e-3}, "compiled": {"verdict": "right", "first": 0.1, "again": 2e-3},
        "eager": {"verdict": "refused", "reason": "TypeError: no"}, "jax": {"verdict": "wrong", "reason": "along A"},
    }  # fmt: skip
    monkeypatch.setattr(command, "run", lambda root, name, contender, *rest: found.get(contender, {}))
    path = tmp_path / "out.json"
    outcome = CliRunner().invoke(command.main, [str(root), "--kernel", "returns", "--json", str(path)])
    assert outcome.exit_code == 0, outcome.output
    for text in ("100 ms, 2 ms (2×)", "returns eager: TypeError: no", "compiled: all 1: 1 right; * 0:", "not run"):
        assert text in outcome.output
    assert json.loads(path.read_text())["kernels"]["returns"]["jax"]["verdict"] == "wrong"
    assert CliRunner().invoke(command.main, [str(root), "--kernel", "nothing"]).exit_code == 2


def test_the_cells_of_the_table():
    assert table.cell({}, None) == "–"
    assert table.cell({"verdict": "right", "late": "not done after 1 s"}, 1.0) == "right, not done after 1 s"
    timed = {"verdict": "right", "at preset": "wrong", "first": 1.0, "again": 0.5}
    assert table.cell(timed, 0.25) == "WRONG at preset; 1 s, 500 ms (2×)"
