"""Numbers that are put into tensors of another dtype, and what is computed of whole numbers, beside PyTorch itself."""

from __future__ import annotations

import numpy as np
import pytest

import tape

torch = pytest.importorskip("torch")

WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
DTYPES = (*WHOLE, "float16", "bfloat16", "float32", "float64", "complex64")


def outcome(f, T):
    """The dtype and numbers of what a function gives, or that it is refused."""
    try:
        z = f(T)
    except (RuntimeError, TypeError, NotImplementedError):
        return "refused"
    return str(z.dtype).split(".")[-1], [None if number != number else number for number in z.reshape(-1).tolist()]


def of(T, dtype, *numbers):
    return T.tensor(numbers).to(getattr(T, dtype))


PUT = {
    "masked_fill": lambda T, x, v: x.masked_fill(T.tensor([True, False]), v),
    "masked_fill_": lambda T, x, v: x.masked_fill_(T.tensor([True, False]), v),
    "index_fill": lambda T, x, v: x.index_fill(0, T.tensor([0]), v),
    "full": lambda T, x, v: T.full((2,), v, dtype=x.dtype),
    "full_like": lambda T, x, v: T.full_like(x, v),
    "new_full": lambda T, x, v: x.new_full((2,), v),
    "fill_diagonal_": lambda T, x, v: x.reshape(2, 1).fill_diagonal_(v),
}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30, 70000.0, 2.5, -1.5])
@pytest.mark.parametrize("dtype", [*WHOLE, "float16", "float32"])
@pytest.mark.parametrize("put", PUT.values(), ids=PUT)
@pytest.mark.parametrize("kind", ["tensor", "NumPy's number"])
def test_a_number_that_has_no_place_in_the_dtype_is_refused(put, dtype, value, kind):
    def f(T):
        v = T.tensor(value, dtype=T.float64) if kind == "tensor" else np.float64(value)
        return put(T, of(T, dtype, 1, 0), v)

    if dtype == "uint8" and value < 0:
        pytest.skip("C leaves open what a negative fraction becomes without a sign")
    if dtype == "float16" and value > 65504 and put is PUT["fill_diagonal_"]:
        pytest.skip("PyTorch puts inf there, as nowhere else")
    assert outcome(f, tape) == outcome(f, torch)


@pytest.mark.parametrize("value", [float("nan"), 3.0])
def test_what_is_put_is_verified_by_replays(value):
    f = tape.compile(lambda v: tape.zeros(2, dtype=tape.int64).masked_fill(tape.tensor([True, False]), v))
    assert f(tape.tensor(2.0)).tolist() == [2, 0]
    assert outcome(lambda T: f(T.tensor(value)), tape) == ("refused" if value != value else ("int64", [3, 0]))


SOURCES = {
    "index_put": lambda x, k, y: x.index_put((k,), y),
    "index_copy": lambda x, k, y: x.index_copy(0, k, y),
    "index_add": lambda x, k, y: x.index_add(0, k, y),
    "scatter": lambda x, k, y: x.scatter(0, k, y),
    "scatter_add": lambda x, k, y: x.scatter_add(0, k, y),
    "scatter_reduce": lambda x, k, y: x.scatter_reduce(0, k, y, "sum"),
    "index_reduce": lambda x, k, y: x.index_reduce(0, k, y, "prod"),
    "masked_scatter": lambda x, k, y: x.masked_scatter(k < 2, y),
    "put": lambda x, k, y: x.put_(k, y),
}


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", SOURCES.values(), ids=SOURCES)
def test_a_source_of_another_dtype_is_refused_or_loses_nothing(call, dtype, source):
    def f(T):
        return call(of(T, dtype, 1, 0, 1), T.tensor([0, 2, 1]), of(T, source, 1, 1, 0))

    got, expected = outcome(f, tape), outcome(f, torch)
    assert got == "refused" or expected in (got, "refused")
    if got != "refused" and dtype != source:
        assert got[0] == dtype
        assert np.can_cast(np.dtype(getattr(tape, source)), np.dtype(getattr(tape, dtype)), "safe")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["add_", "mul_", "sub_", "div_", "pow_"])
def test_a_complex_result_does_not_fit_into_real_memory(name, dtype):
    with pytest.raises(RuntimeError, match="cannot be stored"):
        getattr(of(tape, dtype, 1, 2), name)(of(tape, "complex64", 1, 2))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64"])
def test_means_of_what_is_sent_to_a_place(dtype):
    def f(T):
        return of(T, dtype, 2, 1).scatter_reduce(0, T.tensor([0, 1]), of(T, dtype, 1, 2), "mean")

    assert outcome(f, tape) == outcome(f, torch)


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("name", ["reciprocal", "sigmoid", "logit"])
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_functions_of_whole_numbers(name, dtype):
    got, expected = (getattr(of(T, dtype, 1, 0, 2), name)().double().tolist() for T in (tape, torch))
    assert np.allclose(got, expected, rtol=1e-3, equal_nan=True)


@pytest.mark.parametrize("dtype", WHOLE)
def test_logsigmoid_of_whole_numbers(dtype):
    got = tape.logsigmoid(of(tape, dtype, 1, 0, 2)).double().tolist()
    assert np.allclose(got, torch.nn.functional.logsigmoid(of(torch, dtype, 1, 0, 2).double()).tolist(), rtol=1e-3)


@pytest.mark.parametrize("wanted", WHOLE)
@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_sums_of_whole_numbers_in_a_dtype(name, dtype, wanted):
    def f(T):
        x, axis = of(T, dtype, 100, 90, 80), (0,) if name.startswith("cum") else ()
        return getattr(x, name)(*axis, dtype=getattr(T, wanted))

    if wanted == "bool" and name.startswith("cum"):
        pytest.skip("PyTorch adds truth values up as NumPy does not")
    assert outcome(f, tape) == outcome(f, torch)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_products_that_are_added_stay_whole(dtype):
    def added(T):
        x = of(T, dtype, 2, 1, 3)
        return T.addcmul(x, x, x)

    def matrices(T):
        x = of(T, dtype, 2, 1, 3).reshape(1, 3)
        return T.addmm(x, x[:, :1], x)

    for f in (added, matrices):
        assert outcome(f, tape) == outcome(f, torch)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_nan_written_into_whole_numbers_by_an_index_is_cast_as_by_fill():
    x, y = tape.zeros(2, dtype=tape.int64), tape.zeros((), dtype=tape.int64)
    x[0] = tape.tensor(float("nan"))
    assert x[0] == y.fill_(tape.tensor(float("nan")))


SOURCELESS = {
    "element": lambda T, z, w: z.__setitem__(0, w[0]),
    "slice": lambda T, z, w: z.__setitem__(slice(None), w),
    "cell": lambda T, z, w: z.__setitem__((0,), w[0]),
    "of a view": lambda T, z, w: z.view(-1).__setitem__(slice(0, 2), w[:2]),
    "of an element": lambda T, z, w: z.view(1, 3).__setitem__((0,), w),
    "copied": lambda T, z, w: z.copy_(w),
}


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("write", SOURCELESS.values(), ids=SOURCELESS)
def test_no_gradient_flows_through_whole_numbers(write, dtype):
    """PyTorch gives such a tensor no history; through one, an element's gradient went on as if it were not rounded."""

    def f(T):
        w, z = T.tensor([1.0, 0.0, 3.0], requires_grad=True), T.zeros(3).to(getattr(T, dtype))
        write(T, z, w)
        (z * 2.0 + w).sum().backward()
        return T.stack([w.grad, z.to(w.dtype)]), z.requires_grad

    (found, has_history), (expected, _) = f(tape), f(torch)
    assert (found.tolist(), has_history) == (expected.tolist(), False)


EMPTY = ("sum", "mean", "std", "var", "amax", "amin", "nansum", "nanmean", "count_nonzero", "all", "any")


@pytest.mark.parametrize("shape", [(2, 3), (3,), (1,)])
@pytest.mark.parametrize("how", [lambda: ([()], {}), lambda: ([[]], {}), lambda: ([], {"dim": ()})])
@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.filterwarnings("ignore:std", "ignore:var")
def test_no_dimensions_are_all_of_them(name, how, shape):
    def f(T):
        args, named = how()
        z = getattr(T, name)(
            T.tensor([3.0, 1.0, 0.0, 2.0, 5.0, 4.0][: int(np.prod(shape))]).reshape(shape), *args, **named
        )
        return z.double()

    found, expected = f(tape), f(torch)
    assert found.shape == expected.shape
    assert np.allclose(found.tolist(), expected.tolist(), rtol=1e-6, equal_nan=True)


COPIES = {
    "max of a number": (lambda T: T.tensor(2.0), lambda x: x.max(0)[0]),
    "min of a number": (lambda T: T.tensor(2.0), lambda x: x.min(0, keepdim=True)[0]),
    "power": (lambda T: T.ones(2, 2), lambda x: x.matrix_power(1)),
    "no turn": (lambda T: T.ones(2, 2), lambda x: x.rot90(0)),
    "full turn": (lambda T: T.ones(2, 2), lambda x: x.rot90(4, (0, 1))),
    "no difference": (lambda T: T.ones(3), lambda x: x.diff(0)),
}


@pytest.mark.parametrize(("make", "function"), COPIES.values(), ids=COPIES)
def test_what_does_nothing_gives_a_copy(make, function):
    def f(T):
        x = make(T)
        z = function(x)
        x.add_(1)
        return z.tolist()

    assert f(tape) == f(torch)


@pytest.mark.parametrize("number", [0.0, 2.0])
def test_a_number_has_no_indices(number):
    assert tuple(tape.tensor(number).nonzero().shape) == tuple(torch.tensor(number).nonzero().shape)
    assert [k.tolist() for k in tape.tensor(number).nonzero(as_tuple=True)] == [
        k.tolist() for k in torch.tensor(number).nonzero(as_tuple=True)
    ]


def steps_of(z):
    return tuple(n for n, m in zip(z.stride(), z.shape) if m > 1)


LAID = {
    "quantiles": lambda T, x: T.quantile(x.real, T.tensor([0.25, 0.5], dtype=x.real.dtype), dim=0),
    "last quantiles": lambda T, x: T.quantile(x.real, T.tensor([0.25, 0.5], dtype=x.real.dtype), dim=-1),
    "kept quantiles": lambda T, x: T.quantile(x.real, T.tensor([0.25, 0.5], dtype=x.real.dtype), dim=1, keepdim=True),
    "one quantile": lambda T, x: T.quantile(x.real, 0.25, dim=0),
    "angle": lambda T, x: T.angle(x),
}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("function", LAID.values(), ids=LAID)
def test_quantiles_and_angles_lie_as_pytorch_has_them(function, dtype, order):
    def f(T):
        x = T.arange(24).to(getattr(T, dtype)).reshape(2, 3, 4).permute(*order)
        z = function(T, x)
        return steps_of(z), z.tolist()

    (steps, found), (expected, numbers) = f(tape), f(torch)
    assert steps == expected
    assert np.allclose(found, numbers)
    x = tape.arange(24).to(getattr(tape, dtype)).reshape(2, 3, 4).permute(*order)
    compiled = tape.compile(lambda x: function(tape, x))
    assert [steps_of(compiled(x)) for _ in range(2)] == [expected] * 2
