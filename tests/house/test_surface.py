"""What is public, and what tools are told of it: names, signatures, help."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import re
import subprocess
import sys
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pytest
from numpy_calls import CALLS
from samples import samples

import tape
from ops import REGISTRY
from tape.base.describing import Description
from tape.base.signatures import words_of
from tape.numpy.arrays.face import Array
from tape.recording.calls import derived as first
from tape.recording.functions import FUNCTIONS, INTERNAL, SCIPYS, SHORT, SPELLINGS, TRANSFORMS

ROOMS = ("autograd", "fft", "func", "gradcheck", "linalg", "numpy", "special", "testing", "utils")
MACHINERY = {
    "Any", "CONSTRUCTORS", "FUNCTIONS", "REGISTRY", "SHORT", "TYPE_CHECKING", "describe", "facing", "on_demand",
}  # fmt: skip
"""What the package's own module works with."""


# Names.


def test_dir_is_the_public_surface():
    """Every public function of the registry, what the package imports by name, the rooms, and nothing else."""
    shown = dir(tape)
    assert len(shown) == len(set(shown))
    ops = {name for name in REGISTRY if name not in INTERNAL and not name.startswith((TRANSFORMS, SCIPYS, "numpy_"))}
    assert ops <= set(shown)
    opened = {"Program", "bfloat16", "checkpoint", "compile", "dask", "load", "record", "save", "stop_gradient", "vmap"}
    here = {k for k, v in vars(tape).items() if not isinstance(v, ModuleType) and k[0] != "_" and "numpy_" not in k[:6]}
    assert set(shown) == (here - MACHINERY) | opened | set(ROOMS)


def test_rooms_and_helpers_are_not_in_it():
    assert {name for name in dir(tape) if isinstance(getattr(tape, name), ModuleType)} <= {*ROOMS, "dask"}
    assert not [name for name in dir(tape) if name.startswith("_")]


def test_a_star_import_opens_no_room():
    loaded = "tape.program.plans.plan"
    code = f"import sys; from tape import *; print({loaded!r} in sys.modules, exp)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False <function exp")


# Signatures.


def callables():
    for name in dir(tape):
        yield f"tape.{name}", getattr(tape, name)
    for room in (*ROOMS, *(["dask"] if find_spec("distributed") else [])):
        module = getattr(tape, room)
        if room != "numpy":  # its functions are NumPy's
            for name in getattr(module, "__all__", ()):
                yield f"tape.{room}.{name}", getattr(module, name)
    for cls in (tape.Tensor, Array):
        for name in dir(cls):
            if not name.startswith("_") and inspect.isroutine(value := inspect.getattr_static(cls, name)):
                yield f"{cls.__name__}.{name}", value


def unknown(value):
    """Exceptions are made by the library, classes with a metaclass's call by their users' methods."""
    return not callable(value) or (isinstance(value, type) and issubclass(value, Exception))


PUBLIC = {name: value for name, value in callables() if not unknown(value)}


def test_every_public_callable_has_a_signature_of_its_own():
    """No bare ``*args, **kwargs``: what is variadic says so, by that name, in its docstring."""
    bare = []
    for name, value in PUBLIC.items():
        for p in inspect.signature(value).parameters.values():
            starred = p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            if starred and not re.search(rf"\b{p.name}\b", inspect.getdoc(value) or ""):
                bare.append(f"{name}: {p}")
    assert len(PUBLIC) > 1000
    assert bare == []


def test_every_public_callable_is_documented():
    assert [name for name, value in PUBLIC.items() if not inspect.getdoc(value)] == []


def test_signatures_are_worked_out_when_they_are_asked_for():
    code = (
        "import gc, tape; from tape.base.signatures import Lazy; from tape.base.describing import Description\n"
        "assert not [x for x in gc.get_objects() if type(x) is Lazy and x._found is not None]\n"
        "docs = [f.__doc__ for f in tape.recording.functions.FUNCTIONS.values()]\n"
        "print(sum(type(d) is Description for d in docs), sum(getattr(d, '_whole', None) is not None for d in docs))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    described, worked_out = map(int, done.stdout.split())
    assert described > 300
    assert worked_out == 0


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (tape.exp, "(input, *, out=None)"),
        (tape.atan2, "(input, other, *, out=None)"),
        (
            tape.sum,
            "(input, dim=None, keepdim=False, *, axis=None, keepdims=False, dtype=None, out=None)",
        ),
        (tape.Tensor.exp_, "(self)"),
        (tape.ones(2).exp, "(*, out=None)"),
        (tape.topk, "(input, k, dim=-1, largest=True, *, axis=-1, dtype=None, out=None)"),
        (tape.Tensor.transpose_, "(self, dim0=None, dim1=None)"),
        (tape.Tensor.normal_, "(self, mean=0.0, std=1.0, *, generator=None)"),
        (tape.addcmul_, "(input, other, z, value=1, *, dtype=None)"),
    ],
)
def test_signatures_have_the_names_that_the_functions_take(function, parameters):
    signature = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    assert str(inspect.Signature(bare)) == parameters
    assert str(signature) == str(pickle.loads(pickle.dumps(signature)))


def derived():
    """The functions that are derived from an op and not replaced by one of its own, with inputs."""
    for name, function in FUNCTIONS.items():
        op = REGISTRY.get(name)
        known = op is not None and (op.cases or op.domain or name in CALLS)
        if known and function is first[name] and name in dir(tape):
            yield name


@pytest.mark.parametrize("name", list(derived()))
def test_a_function_takes_its_arguments_by_the_names_of_its_signature(name):
    op, function = REGISTRY[name], FUNCTIONS[name]
    words, signature = words_of(op, SPELLINGS), inspect.signature(function)
    if function in SHORT:
        words = dict(zip(op.operands, ("input", "other")))
    for operands, params in (CALLS[name] if name in CALLS else samples(op))[:2]:
        if op.variadic:
            given = {"tensors": list(operands), **params}
        else:
            given = {**dict(zip(op.operands or inspect.signature(op.forward).parameters, operands)), **params}
        if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
            pytest.skip("variadic: its operands have no names")
        named = {words.get(k, k): v for k, v in given.items()}
        bound = signature.bind(**named)
        try:
            result = function(*bound.args, **bound.kwargs)
        except TypeError as error:
            raise AssertionError(f"{name}{signature} does not take {named}") from error
        same(result, op(*operands, **params))
        same(function(**named), result)
        told = str(signature.return_annotation).partition("[")[0]
        assert told == ("tuple" if isinstance(result, tuple) else type(result).__name__), name


def same(result, expected):
    for z, right in zip(parts(result), parts(expected), strict=True):
        np.testing.assert_array_equal(np.asarray(getattr(z, "_data", z)), np.asarray(right))


def parts(z):
    return z if isinstance(z, (tuple, list)) else (z,)


# Help.


def test_help_tells_signature_shape_domain_derivative_and_an_example():
    text = pydoc.render_doc(tape.log, renderer=pydoc.plaintext)
    for part in (
        "log(input: 'Operand', *, out: 'Tensor | None' = None) -> 'Tensor'", "Natural logarithm", "Shape: that of the",
        "x a number above 0", "∂z/∂x = 1 / x", ">>> tape.log(x)", ".sum().backward(); x.grad",
    ):  # fmt: skip
        assert part in text
    assert pydoc.render_doc(tape.Tensor.log, renderer=pydoc.plaintext).split("\n")[3:] == text.split("\n")[3:]


def test_help_of_a_linear_and_a_general_op():
    assert "x̄ = broadcast_to(reshape(g, shape=…), shape=x.shape)" in str(tape.sum.__doc__)
    assert "x̄ = g * z − z * sum(g * z, axis=axis, keepdims=True)" in str(tape.softmax.__doc__)
    assert "ȳ = mT(x) @ g" in str(tape.matmul.__doc__)
    assert "flip(cumsum(flip(g, axis=axis), axis=axis), axis=axis)" in str(Array.cumsum.__doc__)
    assert "No derivative" in str(tape.isnan.__doc__)


DESCRIBED = [name for name, f in FUNCTIONS.items() if name in REGISTRY and type(f.__doc__) is Description]
WITHOUT = {
    "apply_along_axis", "bmm", "cast", "chain_contract", "deposit", "exchanged", "exchanges", "gather", "getitem",
    "index_add", "index_reduce", "lookup", "mT", "mm", "numpy_svd", "outer_sum", "overwrite", "piecewise", "repeat",
    "scatter_add", "select", "slogdet", "split", "take_along_axis", "unbind", "vector_products",
}  # fmt: skip
"""Functions whose declared inputs do not fit into a line, or are none."""


def test_every_op_is_described():
    assert len(DESCRIBED) > 330
    lacking = set()
    for name in DESCRIBED:
        text = str(FUNCTIONS[name].__doc__)
        assert "erivative" in text or "Linear" in text, name
        assert "Shape" in text, name
        if ">>>" not in text:
            lacking.add(name)
    assert lacking <= WITHOUT


def test_the_formula_of_a_rule_is_what_the_rule_computes():
    """Every partial that is shown, evaluated as Python, is the derivative by differences."""
    seen = 0
    for name in DESCRIBED:
        op, text = REGISTRY[name], str(FUNCTIONS[name].__doc__)
        if op.kind != "elementwise" or not op.domain or len(op.domain) > 2:
            continue
        for i, x in enumerate(op.operands):
            shown = re.search(rf"∂z/∂{x} = (.*)", text)
            if shown is None:
                continue
            operands, _ = samples(op)[0]
            operands = tuple(np.asarray(v, float) for v in np.broadcast_arrays(*operands))
            values = {**dict(zip(op.operands, operands)), "z": op(*operands)}
            found = eval(shown[1].replace("−", "-"), {**REGISTRY, "nan": np.nan, **values})
            h = 1e-6
            ends = [op(*(v + s * h if k == i else v for k, v in enumerate(operands))) for s in (1, -1)]
            np.testing.assert_allclose(
                np.broadcast_to(found, ends[0].shape), (ends[0] - ends[1]) / (2 * h), rtol=1e-4, atol=1e-6, err_msg=name
            )
            seen += 1
    assert seen > 60


def test_a_description_is_a_whole_text_to_whoever_reads_it():
    text = tape.exp.__doc__
    assert isinstance(text, str)
    assert str(text) == f"{text}" == text.expandtabs() == "".join(text)
    assert len(text) == len(str(text))
    assert "Derivative" in text
    assert pickle.loads(pickle.dumps(text)) == str(text)


@pytest.mark.parametrize(("wrong", "meant"), [("tape.ones(2).bckward()", "backward"), ("tape.func.gradd", "grad")])
def test_python_tells_which_name_was_meant(wrong, meant):
    code = f"import tape; {wrong}"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert told.rstrip().endswith(f"Did you mean: '{meant}'?")
