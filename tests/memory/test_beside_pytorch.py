"""Changes in place that PyTorch refuses, or makes in memory that is there, beside PyTorch itself."""

from __future__ import annotations

import pytest
import torch

import tape

pytestmark = pytest.mark.filterwarnings("ignore:Using backward")


def outcome(f, T):
    """What a function gives, as lists, or the kind of error."""
    try:
        return f(T)
    except (RuntimeError, TypeError) as error:
        return type(error)


def same(f):
    expected = outcome(f, torch)
    assert outcome(f, tape) == expected
    return expected


def change_unpacked(x):
    first, *_ = x
    first.mul_(3)


CHANGES = {
    "all": lambda x: [row.mul_(2) for row in x],
    "element": lambda x: [row.__setitem__(..., 5.0) for row in x],
    "first": lambda x: next(iter(x)).add_(1),
    "zip": lambda x: [a.add_(b) for a, b in zip(x, x)],
    "unpacked": change_unpacked,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("shape", [(3, 2), (3,)], ids=["rows", "elements"])
def test_what_iteration_gives_is_one_of_several_views(change, shape):
    def recorded(T):
        w = T.ones(shape, requires_grad=True)
        x = w * 1
        change(x)
        x.sum().backward()
        return w.grad.tolist()

    def plain(T):
        x = T.ones(shape)
        change(x)
        return x.tolist()

    def under_no_grad(T):
        w = T.ones(shape, requires_grad=True)
        x = w * 1
        with T.no_grad():
            change(x)
        x.sum().backward()
        return x.tolist(), w.grad.tolist()

    assert same(recorded) is RuntimeError
    assert same(plain) is not RuntimeError
    assert same(under_no_grad) is not RuntimeError


def test_iteration_reads_rows_with_their_gradients():
    def f(T):
        w = T.ones(3, 2, requires_grad=True)
        a, b, c = w * 2
        (a * b + c).sum().backward()
        return w.grad.tolist(), [row.tolist() for row in w], len(list(T.ones(0, 2)))

    assert same(f) is not RuntimeError
    assert same(lambda T: list(T.tensor(1.0))) is TypeError


def test_a_compiled_function_raises_as_well():
    @tape.compile
    def f(w):
        x = w * 1
        for row in x:
            row.mul_(2)
        return x.sum()

    with pytest.warns(RuntimeWarning, match="without compiling"):
        assert f(tape.ones(2, 2)).item() == 8
    with pytest.raises(RuntimeError, match="modified inplace"):
        f(tape.ones(2, 2, requires_grad=True))


INTO_WHOLE = [
    lambda T, x, v: x.masked_fill(T.tensor([True, False]), v),
    lambda T, x, v: x.masked_fill_(T.tensor([True, False]), v),
    lambda T, x, v: x.index_fill(0, T.tensor([0]), v),
    lambda T, x, v: x.scatter(0, T.tensor([0]), v),
]
SOURCES = [
    lambda T, x, v: x.index_put((T.tensor([0]),), v), lambda T, x, v: x.index_copy(0, T.tensor([0]), v),
    lambda T, x, v: x.index_add(0, T.tensor([0]), v), lambda T, x, v: x.scatter_add(0, T.tensor([0]), v),
    lambda T, x, v: x.masked_scatter(T.tensor([True, False]), v), lambda T, x, v: x.put(T.tensor([0]), v),
    lambda T, x, v: x.scatter(0, T.tensor([0]), v), lambda T, x, v: x.scatter_(0, T.tensor([0]), v),
]  # fmt: skip


@pytest.mark.parametrize("put", INTO_WHOLE)
@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "float32"])
def test_a_number_that_is_put_into_a_tensor_takes_its_dtype(put, dtype):
    for value in (0.5, 2, 2.7, True):

        def f(T, value=value):
            z = put(T, T.ones(2, dtype=getattr(T, dtype)), value)
            return z.tolist(), str(z.dtype).split(".")[-1]

        given, expected = f(tape), f(torch)
        assert given[1] == expected[1]
        assert given[0] == pytest.approx(expected[0])


@pytest.mark.parametrize("put", SOURCES)
def test_a_tensor_of_fractions_is_not_put_into_one_of_whole_numbers(put):
    for dtypes in (("int64", "float32"), ("float32", "complex64"), ("bool", "int64")):

        def f(T, dtypes=dtypes):
            into, source = (getattr(T, name) for name in dtypes)
            return put(T, T.ones(2, dtype=into), T.ones(1, dtype=source)).tolist()

        assert same(f) is RuntimeError


@pytest.mark.parametrize(("dtype", "value"), [("int32", 2**40), ("float32", 1j)])
def test_numbers_that_do_not_fit_are_refused(dtype, value):
    assert same(lambda T: INTO_WHOLE[0](T, T.ones(2, dtype=getattr(T, dtype)), value)) is RuntimeError


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_a_gradient_is_added_to_where_it_is(first, second):
    def f(T):
        x = T.tensor([2.0], requires_grad=True)
        (x**3).sum().backward(create_graph=first)
        g, seen = x.grad, x.grad.detach()
        (x**2).sum().backward(create_graph=second)
        return x.grad is g, x.grad.tolist(), seen.tolist(), x.grad.requires_grad, g.requires_grad

    assert same(f) is not RuntimeError


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_that_was_saved_and_then_added_to_is_found_out(create_graph):
    def f(T):
        x, w = T.tensor([2.0], requires_grad=True), T.tensor([3.0], requires_grad=True)
        (x**3).sum().backward(create_graph=create_graph)
        y = (x.grad * w).sum()
        (x**2).sum().backward()
        y.backward()
        return w.grad.tolist()

    assert same(f) is RuntimeError


RESIZED = [[(2, 2), (6,)], [(2,), (3, 2), (1,), (6,)], [(1, 2), (2, 2), (5,)], [(0,), (2, 3)], [(6,), (3,), (3, 2)]]


@pytest.mark.parametrize("sizes", RESIZED)
@pytest.mark.parametrize(
    "make", [lambda T: T.arange(6.0), lambda T: T.arange(8.0)[2:], lambda T: T.arange(6).view(2, 3)]
)
def test_a_tensor_that_shrinks_and_grows_has_its_numbers_again(sizes, make):
    def f(T):
        x, seen = make(T).clone(), []
        for size in sizes:
            x.resize_(*size)
            seen.append(x.tolist())
            if x.numel():
                x.view(-1)[-1] += 10
        return seen

    assert same(f) is not RuntimeError


def test_other_memory_is_not_remembered():
    def f(T):
        x = T.arange(6.0)
        x.resize_(2)
        x.data = T.ones(3)
        x.resize_(3)
        return x.tolist()

    same(f)
    x = tape.arange(6.0)
    x.resize_(2)
    y = x[:1]
    with pytest.raises(RuntimeError, match="cannot grow"):
        x.resize_(4)
    assert y.tolist() == [0.0]
