"""Changes in place that PyTorch refuses, or makes in memory that is there, beside PyTorch itself."""

from __future__ import annotations

import numpy as np
import pytest

import tape

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:Using backward", "ignore:grad and param do not obey")


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


TOO_LARGE = [
    ("uint8", 300), ("uint8", -256), ("uint8", -0.5), ("int32", 2**40), ("int32", -1e10), ("int64", 1e300),
    ("int16", float("nan")), ("int64", float("-inf")), ("float32", 1e300), ("float16", -1e5), ("bfloat16", 1e39),
]  # fmt: skip
LARGEST = [
    ("uint8", 255), ("uint8", -255), ("int8", -128), ("int32", -2.5), ("int32", 2**31 - 1), ("int64", -(2**63)),
    ("bool", 3), ("bool", float("nan")), ("float32", float("inf")), ("float32", float("nan")), ("float16", 65504.0),
    ("float16", 1.5), ("bfloat16", 1e30), ("float64", 1e300),
]  # fmt: skip
PUTS = {
    "masked_fill": lambda T, x, v: x.masked_fill(T.tensor([True, False]), v),
    "masked_fill_": lambda T, x, v: x.masked_fill_(T.tensor([True, False]), v),
    "index_fill": lambda T, x, v: x.index_fill(0, T.tensor([1]), v),
    "scatter": lambda T, x, v: x.scatter(0, T.tensor([1]), v),
    "fill_": lambda T, x, v: x.fill_(v),
    "full": lambda T, x, v: T.full((2,), v, dtype=x.dtype),
    "full_like": lambda T, x, v: T.full_like(x, v),
    "new_full": lambda T, x, v: x.new_full((2,), v),
    "element": lambda T, x, v: (x.__setitem__(0, v), x)[1],
    "part": lambda T, x, v: (x.__setitem__(slice(0, 1), v), x)[1],
    "tensor": lambda T, x, v: T.tensor([v, 0], dtype=x.dtype),
}


def put_into(put, dtype, value):
    def f(T):
        z = PUTS[put](T, T.zeros(2, dtype=getattr(T, dtype)), value)
        return str(z.dtype).removeprefix("torch."), repr(z.tolist())

    return f


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("put", PUTS)
@pytest.mark.parametrize(("dtype", "value"), TOO_LARGE)
def test_numbers_beyond_those_of_a_dtype_are_refused_or_infinite_where_pytorch_says_so(put, dtype, value):
    expected = same(put_into(put, dtype, value))
    assert expected is RuntimeError or "inf" in expected[1]


@pytest.mark.parametrize("put", PUTS)
@pytest.mark.parametrize(("dtype", "value"), LARGEST)
def test_the_largest_numbers_of_a_dtype_are_put_there(put, dtype, value):
    assert same(put_into(put, dtype, value)) is not RuntimeError


@pytest.mark.parametrize("put", [name for name in PUTS if name not in ("full", "tensor")])
@pytest.mark.parametrize(("dtype", "value"), [("int8", 300), ("int64", float("nan")), ("float32", 1e300)])
def test_compiled_functions_refuse_numbers_that_do_not_fit(put, dtype, value):
    step = tape.compile(lambda x: PUTS[put](tape, x.clone(), value))
    with pytest.raises(RuntimeError, match="without overflow"):
        step(tape.zeros(2, dtype=getattr(tape, dtype)))


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


def a_part_of_another(T, x):
    x.grad = T.zeros(12)[3:9]
    return x.grad._base


def a_column(T, x):
    x.grad = T.zeros(6, 2)[:, 1]
    return x.grad._base


def a_detached_one(T, x):
    whole = T.zeros(6)
    x.grad = whole.detach()
    return whole


def of_a_factor(T, x):
    q, _ = T.linalg.qr(T.eye(6) + T.ones(6, 6), mode="complete")
    x.grad = q[1]
    return q


def its_own(T, x):
    (x * x).sum().backward()
    return x.grad


@pytest.mark.parametrize("held", [a_part_of_another, a_column, a_detached_one, of_a_factor, its_own])
@pytest.mark.parametrize("saved", ["whole", "part", "element", "not"])
def test_whoever_looks_at_a_gradient_sees_what_is_added(held, saved):
    """And a record that has saved it, or memory that it is a part of, says so."""

    def f(T):
        x = T.linspace(0.5, 1.0, 6).requires_grad_()
        whole = held(T, x)
        w, v = T.ones(1, requires_grad=True), whole._version
        element, twin = whole[(1,) * whole.ndim], whole.detach()[0]
        part = {"whole": whole, "part": whole[1:4], "element": element}.get(saved)
        y = None if part is None else (part * w).sum()
        (x * x * x).sum().backward()
        seen = [(t * 1.0).tolist() for t in (whole, element, twin, x.grad)]
        if y is not None:
            y.backward()
        return [np.round(t, 5).tolist() for t in seen], whole._version - v

    assert (same(f) is RuntimeError) == (saved != "not")


@pytest.mark.parametrize("held", [a_detached_one, its_own])
def test_what_was_saved_of_a_gradient_may_be_guarded_while_that_is_added_to(held):
    def f(T):
        x, w = T.ones(6, requires_grad=True), T.ones(1, requires_grad=True)
        whole = held(T, x)
        with T.autograd.graph.allow_mutation_on_saved_tensors():
            y = (whole * w).sum()
            (x * x).sum().backward()
            y.backward()
        return w.grad.tolist()

    assert same(f) is not RuntimeError


def test_numbers_of_a_gradient_are_seen_elsewhere():
    def f(T):
        x, buffer = T.tensor(2.0, requires_grad=True), T.zeros(3)
        x.grad = buffer[1]
        other = buffer[1]
        (x * x).backward()
        flat = x.grad.view(1)
        first = flat[0]
        (x * x).backward()
        return [(t * 1.0).tolist() for t in (buffer, other, flat, first, x.grad)]

    assert same(f) is not RuntimeError


@pytest.mark.parametrize("make", [lambda T: T.zeros(1).expand(6), lambda T: T.zeros(2, 1)[:1].expand(6, 1)[:, 0]])
def test_an_expanded_gradient_is_not_added_to(make):
    def f(T):
        x = T.ones(6, requires_grad=True)
        x.grad = make(T)
        (x * x).sum().backward()

    assert same(f) is RuntimeError


RESIZED = [
    [(2, 2), (6,)],
    [(2,), (3, 2), (1,), (6,)],
    [(1, 2), (2, 2), (5,)],
    [(0,), (2, 3)],
    [(6,), (3,), (3, 2)],
    [(), (3,)],
    [(2,), (), (2, 3)],
]


@pytest.mark.parametrize("sizes", RESIZED)
@pytest.mark.parametrize(
    "make", [lambda T: T.arange(6.0), lambda T: T.arange(8.0)[2:], lambda T: T.arange(6).view(2, 3)]
)
def test_a_tensor_that_shrinks_and_grows_has_its_numbers_again(sizes, make):
    def f(T):
        x, seen = make(T).clone(), []
        for size in sizes:
            x.resize_(size)
            seen.append(x.tolist())
            if x.numel():
                x.view(-1)[-1] += 10
        return seen

    assert same(f) is not RuntimeError


@pytest.mark.parametrize("sizes", [[(0,), (2, 2)], [(), (0,), ()], [(0, 3), (3,)], [(1,), (0,), (2,)]])
def test_a_part_that_shrinks_to_nothing_grows_where_it_was(sizes):
    def f(T):
        x, seen = T.arange(9.0)[2:][1:], []
        for size in sizes:
            x.resize_(size)
            seen.append(x.tolist())
            x.add_(10.0)
        return seen, x._base.tolist()

    assert same(f) is not RuntimeError


@pytest.mark.parametrize("smaller", [(), (0,), (1,), (4,)])
@pytest.mark.parametrize("which", [0, 1])
def test_memory_that_detached_tensors_look_at_too_does_not_grow_without_them(smaller, which):
    x = tape.arange(4.0)
    x.resize_(*smaller)
    both = x, x.detach()
    with pytest.raises(RuntimeError, match="other tensors or arrays look at"):
        both[which].resize_(6)
    assert both[0].shape == both[1].shape


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
