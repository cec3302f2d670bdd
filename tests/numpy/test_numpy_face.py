"""The array face against NumPy itself: the same programs, on plain arrays and on recorded ones."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from array_programs import ATTRIBUTES, CHANGES, FUNCTIONS, METHODS, NUMBERS, OPERATORS, WRITES, programs
from arrays import agree, compiled_outcome, outcome, recorded_outcome
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import tape
import tape.numpy
from tape.base.tensor import Face

SAMPLES: dict[str, Any] = {
    "vector": np.array([1.5, -2.0, 0.25]), "matrix": np.arange(6.0).reshape(2, 3) - 2,
    "square": np.array([[2.0, 1.0], [0.5, 3.0]]), "block": np.sin(np.arange(12.0)).reshape(2, 3, 2),
    "empty": np.zeros((0, 3)), "single": np.array([2.5]), "integers": np.array([3, 0, -2]),
    "bools": np.array([True, False, True]), "float32": np.arange(6, dtype=np.float32).reshape(3, 2),
    "complex": np.array([1 + 2j, 0.5 - 1j]), "no axes": np.array(1.5), "integer": np.array(3),
}  # fmt: skip

TEXTS = {"attributes": ATTRIBUTES, "methods": METHODS, "operators": OPERATORS, "writes": WRITES, "changes": CHANGES,
         "functions": FUNCTIONS}  # fmt: skip

EXCEPTIONS = {
    # Two errors at once, of which NumPy tells the other one.
    ("x += np.ones((4, 4))", "integers"), ("x += np.ones((4, 4))", "bools"), ("np.sum(x, out=x)", "bools"),
    ("x.sum(out=np.zeros(()))", "complex"),  # NumPy warns and drops the imaginary part; refused
}  # fmt: skip
"""Programs and samples where the face is known to answer otherwise, each with its reason."""


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("about", TEXTS)
def test_as_numpy_without_gradients(about, sample):
    x = SAMPLES[sample]
    for program in programs(TEXTS[about]):
        if (program, sample) in EXCEPTIONS:
            continue
        expected = outcome(program, x.copy())
        found = outcome(program, tape.numpy.array(x), names={"np": tape.numpy})
        assert agree(expected, found), f"{program!r} of {sample}: NumPy {expected}, recorded {found}"


@pytest.mark.parametrize("sample", [name for name, x in SAMPLES.items() if x.dtype.kind == "f" and x.ndim])
@pytest.mark.parametrize("about", TEXTS)
def test_as_numpy_with_gradients(about, sample):
    x = SAMPLES[sample]
    for program in programs(TEXTS[about]):
        if (program, sample) in EXCEPTIONS:
            continue
        kept = x.copy()
        expected, found = outcome(program, x.copy()), recorded_outcome(program, x)
        assert agree(expected, found, refused=True), f"{program!r} of {sample}: NumPy {expected}, recorded {found}"
        np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("sample", ["vector", "matrix", "integers"])
@pytest.mark.parametrize("about", TEXTS)
def test_as_numpy_when_compiled(about, sample):
    x = SAMPLES[sample]
    for program in programs(TEXTS[about]):
        if (program, sample) in EXCEPTIONS:
            continue
        for expected, found in compiled_outcome(program, [x, x[::-1].copy(), (2 * x + 1).astype(x.dtype)]):
            assert agree(expected, found, refused=True), f"{program!r} of {sample}: NumPy {expected}, compiled {found}"


@pytest.mark.parametrize("value", [np.float64(1.5), np.float64(-2.25), np.int64(2), np.float32(0.5), np.bool_(True)])
def test_numbers_are_numpys_scalars(value):
    for program in programs(NUMBERS):
        if (program, str(value.dtype)) in EXCEPTIONS:
            continue
        expected = outcome(program, value)
        found = outcome(program, tape.numpy.array(value)[()], names={"np": tape.numpy})
        assert agree(expected, found), f"{program!r} of {value!r}: NumPy {expected}, recorded {found}"


def test_everything_that_an_array_has():
    """Every name in ``dir(np.ndarray)`` is there, but for those that C code looks up on types."""
    x = tape.numpy.array([[1.0, 2.0]])
    hidden = {"__array_interface__", "__array_struct__", "__buffer__", "__class_getitem__", "__array_finalize__",
              "__array_wrap__", "__setstate__", "__array_prepare__"}  # fmt: skip
    missing = [name for name in dir(np.ndarray) if name not in hidden and not hasattr(x, name)]
    assert not missing


shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)


@given(
    hnp.arrays(st.sampled_from([np.float64, np.float32, np.complex128, np.int64]), shapes, elements=st.integers(-4, 4)),
    st.data(),
)
def test_any_index_reads_and_writes_as_numpys(x, data):
    index = data.draw(hnp.basic_indices(x.shape, allow_ellipsis=True, allow_newaxis=True))
    for program in ("x[i]", "x[i] = 2", "x[i] += 1", "y = x.T\ny[...] = y + x[i].sum()"):
        expected = outcome(program, x.copy(), names={"i": index})
        found = outcome(program, tape.numpy.array(x), names={"i": index, "np": tape.numpy})
        assert agree(expected, found), f"{program!r} at {index}: NumPy {expected}, recorded {found}"


@given(
    hnp.arrays(
        np.float64, hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4), elements=st.integers(-4, 4)
    ),
    st.data(),
)
def test_any_array_of_places_reads_and_writes_as_numpys(x, data):
    index = data.draw(hnp.integer_array_indices(x.shape))
    for program in ("x[i]", "x[i] = 2", "np.add.at(x, i, 1.5)"):
        expected = outcome(program, x.copy(), names={"i": index})
        found = outcome(program, tape.numpy.array(x), names={"i": index, "np": tape.numpy})
        assert agree(expected, found), f"{program!r} at {index}: NumPy {expected}, recorded {found}"


BINARY = ["x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x ** y", "x < y", "x == y", "np.maximum(x, y)"]
dtypes = st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.uint8, np.complex128])


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3), dtypes, dtypes, st.sampled_from(BINARY), st.data())
def test_any_two_arrays_meet_as_numpys(shapes, first, second, program, data):
    numbers = st.integers(1, 5)
    x, y = (
        data.draw(hnp.arrays(kind, shape, elements=numbers))
        for kind, shape in zip((first, second), shapes.input_shapes)
    )
    expected = outcome(program, x, y)
    for xs in ((tape.numpy.array(x), y), (x, tape.numpy.array(y)), (tape.numpy.array(x), tape.numpy.array(y))):
        found = outcome(program, *xs, names={"np": tape.numpy})
        assert agree(expected, found), f"{program!r}: NumPy {expected}, recorded {found}"


def test_the_namespace_is_numpys():
    """Every public name is there, with NumPy's signature; what makes arrays makes some that take recorded values."""
    assert set(dir(tape.numpy)) >= {name for name in dir(np) if not name.startswith("_")}
    for name in dir(np):
        if name.startswith("_") or name in ("core", "f2py", "testing"):
            continue
        theirs, ours = getattr(np, name), getattr(tape.numpy, name)
        try:
            expected = inspect.signature(theirs) if callable(theirs) else None
        except ValueError:
            continue
        assert expected is None or inspect.signature(ours) == expected, name
    assert tape.numpy.array([1.0]).__array_namespace__() is tape.numpy
    for program in ("np.zeros(2)", "np.arange(3.0)", "np.linspace(0, 1, 3)", "np.eye(2)", "np.asarray([1, 2])",
                    "np.full((2, 2), 1.5)", "np.ones(2).T", "np.linalg.inv(np.eye(2))"):  # fmt: skip
        assert isinstance(eval(program, {"np": tape.numpy}), Face), program


def test_programs_of_the_array_api():
    """A function that asks its argument for the namespace to work in."""

    def f(x):
        xp = x.__array_namespace__()
        y = xp.zeros_like(x)
        y[...] = xp.exp(x) * xp.asarray(2.0, dtype=x.dtype)
        return xp.sum(xp.concat([y, xp.reshape(x, (-1,))]) ** 2)

    x = np.array([0.5, -1.0])
    np.testing.assert_allclose(tape.func.grad(f)(x), 8 * np.exp(2 * x) + 2 * x)


def test_a_buffer_with_views_takes_lanes_together_with_them():
    def f(x):
        y = np.zeros(3)
        v = y[1:]
        y[:] = x
        return v.sum()

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(tape.func.vmap(f)(x), x[:, 1:].sum(1))


def test_errors_name_the_line_and_the_function():
    def f(x):
        return np.frompyfunc(np.sin, 1, 1)(x).sum()

    with pytest.raises(TypeError, match=r"vectorized.*(\n.*)*test_numpy_face\.py:\d+ in f"):
        tape.func.grad(f)(np.ones(3))


def test_a_lost_gradient_is_warned_of_at_the_line():
    def f(x):
        return x.sum() * float(x[0])

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tape.func.grad(f)(np.ones(3))
    assert [w.filename.endswith("test_numpy_face.py") for w in told] == [True]
