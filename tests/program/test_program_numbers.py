"""Operations on numbers: recorded in a short way, which gives the records of the general one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tape
from ops import REGISTRY
from tape.program import record
from tape.program.recorded import traced
from tape.program.recorded.trace import NUMBER, Trace
from tape.program.recorded.traced import Traced
from tape.program.recorded.traced_short_ways import OF_ONE_NUMBER


def general(function, *args):
    """The program of a function whose operations all go the general way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traced, "OF_ONE_NUMBER", frozenset())
        return record(function, *args)


@pytest.mark.parametrize("op", sorted(OF_ONE_NUMBER, key=lambda op: op.name), ids=lambda op: op.name)
@pytest.mark.parametrize("x", [0.3, 0.0, -2.5])
def test_an_op_of_a_number_has_the_record_and_value_of_the_general_way(op, x):
    def f(x):
        return op(x * 1.0)

    with np.errstate(all="ignore"):
        found, expected = record(f, tape.tensor(x)), general(f, tape.tensor(x))
    assert_array_equal(found.recorded.code, expected.recorded.code)
    assert_array_equal(found.recorded.args, expected.recorded.args)
    assert [found.recorded.spec_of(k) for k in range(len(found.recorded))] == [
        expected.recorded.spec_of(k) for k in range(len(expected.recorded))
    ]
    assert found.recorded.location(2) == expected.recorded.location(2)
    assert_array_equal(found(tape.tensor(x)), expected(tape.tensor(x)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex128, np.int64])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_what_is_no_number_of_64_bits_goes_the_general_way(dtype, shape):
    x = tape.tensor(np.full(shape, 2, dtype))

    def f(x):
        return np.exp(-x) * tape.sqrt(abs(x))

    found, expected = record(f, x), general(f, x)
    assert_array_equal(found.recorded.code, expected.recorded.code)
    assert found(x).dtype == f(x).dtype
    assert_array_equal(found(x), f(x))


def test_no_gradient_flows_through_what_is_recorded_without():
    @tape.compile
    def f(x):
        with tape.no_grad():
            y = np.sin(x)
        return x * y, tape.func.grad(lambda x: np.sin(x) * y)(x)

    x = tape.tensor(0.4)
    product, slope = f(x)
    assert product == 0.4 * np.sin(0.4)
    assert slope == np.cos(0.4) * np.sin(0.4)
    assert float(tape.func.grad(lambda x: f(x)[0])(x)) == np.sin(0.4)


@pytest.mark.parametrize("operation", [lambda x: np.exp(x), lambda x: x * x, lambda x: -x])
def test_where_errors_raise_nothing_is_recorded(operation):
    def f(x):
        with np.errstate(over="raise"):
            return operation(x)

    compiled = tape.compile(f)
    with pytest.warns(RuntimeWarning, match="errstate"):
        found = compiled(tape.tensor(0.5))
    assert found == operation(0.5)
    assert not compiled.programs


def test_a_tensor_that_outlived_its_recording_is_refused():
    trace = Trace()
    x = traced.traced(trace, trace.input(np.ones(2)))
    assert type(x[0]) is Traced
    trace.open = False
    with pytest.raises(RuntimeError, match="has left its function"):
        x[0]
    with pytest.raises(RuntimeError, match="has left its function"):
        np.sin(x)


def test_the_class_of_recorded_tensors_is_that_of_tensors():
    """``type(x)(…)`` makes an ordinary tensor while a function is recorded."""

    @tape.compile
    def f(x):
        return (type(x)([1.0, 2.0]) * x).sum()

    for k in range(3):
        assert f(tape.tensor([1.0, 2.0 + k])) == 5.0 + 2 * k
    assert len(f.programs) == 1


def test_plain_numbers_are_known_by_their_rows():
    trace = Trace()
    rows = [trace.operand(c) for c in (0.5, 0.0, -0.0, 3, True, 2j, np.float64(0.5), np.array(0.5))]
    assert [trace.is_number(k) for k in rows] == [True] * 6 + [False] * 2
    assert trace.number(0.5) == rows[0]
    assert trace.spec(rows[0]) is NUMBER
    assert REGISTRY["exp"] in OF_ONE_NUMBER
