"""Of unusual arguments NumPy raises the same, or gives the same, whether they are recorded or plain.

All functions, methods and constructors meet all kinds of arrays and all kinds of odd arguments; some of these calls are
made, chosen by their texts.  What is refused here and computed there says so, and is refused at the function's end.
"""

from __future__ import annotations

import copy
import functools
import warnings
from zlib import crc32

import numpy as np
import pytest
from outcomes import same

import tape
from ops import REGISTRY
from tape.base.errors import unswallowed
from tape.base.tensor import Face
from tape.numpy.composed import COMPOSED
from tape.numpy.looks import LOOKS
from tape.recording.numpy_bridge import signature_of

rng = np.random.default_rng(0)
ARRAYS = {"float64()": np.float64(0.7)} | {
    f"{dtype}{shape}": (rng.normal(size=shape) * 3).astype(dtype)[()]
    for dtype, shapes in {
        "float64": [(3,), (3, 3), (2, 3, 4), (0,), (0, 3)], "float32": [(3,)], "int64": [(), (3,)], "bool": [(), (3,)],
        "complex128": [(3,), (3, 3)],
    }.items() for shape in shapes
}  # fmt: skip
ODD = [
    (-1,), (7,), (1.5,), ("x",), ([0, 0],), (None,), ((0, 5),), (True,), ((),), (np.arange(3.0),),
    (np.array([True, False, True]),), (0, 0), (1, -1), (-1, 9), (0, None, "x"),
]  # fmt: skip
NAMED = [
    -1, 7, 1.5, "x", [0, 0], None, (0, 5), True, False, (), 0, 1, "int", np.arange(3.0), np.array([True, False, True]),
    np.zeros(5), np.zeros((3, 3)),
]  # fmt: skip
UFUNCS = {np.add, np.exp, np.hypot, np.divmod, np.matmul, np.vecdot, np.frexp, np.power, np.isnan, np.bitwise_and}
"""Those that stand for all."""
OPTIONS = "where", "dtype", "casting", "out", "order", "axis", "axes", "keepdims", "subok", "initial"
OF_MEMORY = {"shares_memory", "may_share_memory", "empty_like", "empty"}
OF_A_FUNCTION = {"vectorize", "apply_along_axis", "apply_over_axes", "piecewise"}
QUIRKS = {
    "broadcast_arrays",  # of texts beside numbers
    "diagflat",  # on a diagonal whose number is none, before NumPy 2.2
    "fftn",  # over no axis: an array of a number
    "ifftn",
    "insert",  # nothing at a place that is not there
    "polyder",  # so many times as a complex number says
    "polyint",
    "unique",  # in any order
}
"""Functions that NumPy lets do what nobody means."""


def functions():
    """NumPy's functions that are answered otherwise, by name."""
    answered = {f for op in REGISTRY.values() for f in op.numpy} | set(COMPOSED) | set(LOOKS)
    chosen = [f for f in answered if f in UFUNCS or not isinstance(f, np.ufunc)]
    found = {f"{getattr(f, '__module__', 'numpy')}.{f.__name__}": f for f in chosen}
    left_out = OF_MEMORY | OF_A_FUNCTION | QUIRKS
    return {name: f for name, f in sorted(found.items()) if f.__name__ not in left_out and "scipy" not in name}


def calls_of(f):
    """Calls of a function, by text."""
    for odd in [(), *ODD]:
        yield f"x, {odd}", lambda x, odd=odd: f(x, *copy.deepcopy(odd))
        yield f"x, x, {odd}", lambda x, odd=odd: f(x, x, *copy.deepcopy(odd))
        yield f"{odd}, x", lambda x, odd=odd: f(*copy.deepcopy(odd), x)
    for odd in [(), (0,), (7,), ("x",), ((0, 1),)]:
        if f in SEQUENCES:
            yield f"[x, x], {odd}", lambda x, odd=odd: f([x, x], *odd)
    if isinstance(f, np.ufunc):
        names = OPTIONS
    else:
        signature = signature_of(f)
        names = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD][1:] if signature else ()
    for name in (*names, "nosuch"):
        for value in NAMED:
            yield f"x, {name}={value}", lambda x, n=name, v=value: f(x, **{n: copy.deepcopy(v)})
            yield f"x, x, {name}={value}", lambda x, n=name, v=value: f(x, x, **{n: copy.deepcopy(v)})


SEQUENCES = {np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.block, np.select}
METHODS = """
all any argmax argmin argpartition argsort astype choose clip compress conj copy cumprod cumsum diagonal dot flatten
item max mean min nonzero prod ravel repeat reshape round searchsorted squeeze std sum swapaxes take trace transpose var
view fill partition put sort
""".split()  # noqa: SIM905
IN_PLACE = {"fill", "partition", "put", "sort"}
OF_METHODS = "axis dtype out keepdims initial where ddof kind order copy casting mode side decimals".split()  # noqa: SIM905


def calls_of_method(name):
    """Calls of a method, by text; of one that changes its array, what that is afterwards."""

    def call(x, *args, **kwargs):
        y = x.copy() if name in IN_PLACE else x
        result = getattr(y, name)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        return y if name in IN_PLACE else result

    for odd in [(), *ODD]:
        yield f"{odd}", lambda x, odd=odd: call(x, *odd)
        yield f"x, {odd}", lambda x, odd=odd: getattr(x.copy(), name)(x, *odd)
    for named in OF_METHODS:
        for value in NAMED:
            yield f"{named}={value}", lambda x, n=named, v=value: call(x, **{n: v})
            yield f"1, {named}={value}", lambda x, n=named, v=value: call(x, 1, **{n: v})


CONSTRUCTORS = "array asarray asanyarray ascontiguousarray copy full_like zeros_like ones_like require".split()  # noqa: SIM905
OF_CONSTRUCTORS = "dtype copy order subok ndmin requirements shape fill_value".split()  # noqa: SIM905


def calls_of_constructor(name):
    """Calls of a constructor of an array, by text."""

    def call(x, **kwargs):
        construct = getattr(np, name)
        return construct(x, **kwargs)

    for named in OF_CONSTRUCTORS:
        for value in [*NAMED, "C", "F"]:
            yield f"x, {named}={value}", lambda x, n=named, v=value: call(x, **{n: v})
            yield f"[x, x], {named}={value}", lambda x, n=named, v=value: call([x, x], **{n: v})


ALL = {
    "functions": lambda: {f"{name}({text})": c for name, f in functions().items() for text, c in calls_of(f)},
    "methods": lambda: {f"x.{name}({text})": c for name in METHODS for text, c in calls_of_method(name)},
    "constructors": lambda: {f"np.{n}({text})": c for n in CONSTRUCTORS for text, c in calls_of_constructor(n)},
}
SHARES = {"functions": 96, "methods": 48, "constructors": 32}


@functools.cache
def every(kind):
    """All calls of a kind."""
    return ALL[kind]()


def some(name, kind, fewer=1):
    """One of so many calls of an array with a name, by what its text is."""
    share = SHARES[kind] * fewer
    return {text: call for text, call in every(kind).items() if not crc32(f"{name} {text}".encode()) % share}


def outcome(call, x):
    """What a call gives, or raises, and whether that is a refusal of this library's."""
    scope = unswallowed()
    with scope, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = plain(call(x.copy()))
        except Exception as error:
            found = error
        is_refused = bool(scope.noted)
        scope.noted.clear()
    return found, is_refused


def plain(x):
    if isinstance(x, (tuple, list)):
        return [plain(part) for part in x] if isinstance(x, list) else tuple([plain(part) for part in x])
    if isinstance(x, Face):
        value = x._tensor.detach().numpy().copy()
        return value if x._is_array else value[()]
    return x


def are_random(text):
    """Whether a call leaves elements as they were in memory."""
    return "where=" in text and ("clip" in text or "out=" in text)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("name", ARRAYS)
def test_they_raise_and_give_what_they_do_of_plain_arrays(name, kind):
    x, differing = ARRAYS[name], []
    calls = some(name, kind)
    expected = {text: outcome(call, x)[0] for text, call in calls.items()}

    given = {}

    def f(z):
        y = z.astype(x.dtype) + (1j * x.imag if x.dtype.kind == "c" else np.zeros((), x.dtype))
        given.update({text: outcome(call, y) for text, call in calls.items()})
        return (z * z).sum()

    tape.func.grad(f)(np.real(x).astype(float))
    for text, (found, is_refused) in given.items():
        wanted = expected[text]
        if isinstance(wanted, Exception):
            is_right = isinstance(found, type(wanted)) or is_refused
        else:
            is_right = is_refused or are_random(text) or same(found, plain(wanted))
        if not is_right:
            differing.append((text, wanted, found))
    assert differing == []
    assert len(calls) > 5


@pytest.mark.parametrize("name", ["float64(3,)", "float64(3, 3)"])
def test_compiled_functions_raise_it(name):
    x, differing = ARRAYS[name], []
    calls = some(name, "functions", 20)
    for text, call in calls.items():
        wanted = outcome(call, x)[0]
        found = outcome(tape.compile(call), x)[0]
        if isinstance(wanted, Exception) and not isinstance(found, type(wanted)):
            differing.append((text, wanted, found))
    assert differing == []
    assert calls
