"""What a compiled function reads and changes around itself, and tensors that it makes and writes into."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import compile

ONE = np.ones(2)


def after(change, function, *args):
    """What a compiled function gives after a change, having been called before; it must be what it gives eagerly."""
    fast = compile(function)
    fast(*args), fast(*args)
    change()
    found = fast(*args)
    expected = function(*(tape.tensor(x) if isinstance(x, np.ndarray) else x for x in args))
    assert_allclose(found.numpy() if isinstance(found, tape.Tensor) else found, expected.detach().numpy())
    return fast


# Tensors.


@pytest.mark.parametrize(
    "use",
    [
        lambda x, w: (x * w).sum() + (w * w).sum(), lambda x, w: x * float(w[0]), lambda x, w: x if w[1] > 0 else -x,
        lambda x, w: x * w.tolist()[1], lambda x, w: x[w.long() % 2], lambda x, w: x * w.numpy().sum(),
        lambda x, w: x * w.detach() * 2, lambda x, w: x * w.data, lambda x, w: x * w[1:].sum(),
        lambda x, w: np.sin(w) * x,
        lambda x, w: x * (w + np.ones(2)), lambda x, w: x + w.reshape(2, 1), lambda x, w: x * len(w) * max(w),
    ],
)  # fmt: skip
def test_a_tensor_that_changes_is_read_anew_however_it_is_used(use):
    w = tape.tensor([2.0, 3.0])
    fast = after(lambda: w.copy_(tape.tensor([5.0, -7.0])), lambda x: use(x, w), ONE)
    w.data = tape.tensor([-1.0, 4.0])
    assert_allclose(fast(ONE), use(tape.tensor(ONE), w).numpy())
    assert type(w) is tape.Tensor


def test_gradients_of_tensors_that_meet_no_argument():
    w = tape.tensor([1.0, 2.0], requires_grad=True)
    fast = compile(lambda x: (x * w).sum() + (w**3).sum())
    for _ in range(3):
        w.grad = None
        fast(ONE).backward()
        assert_allclose(w.grad.numpy(), 1 + 3 * w.detach().numpy() ** 2)
        with tape.no_grad():
            w -= 0.1 * w.grad


def test_a_tensor_may_get_another_shape_dtype_or_gradient():
    w = tape.tensor([1.0, 2.0])
    fast = compile(lambda x: (x * w).sum() + w.sum())
    x = np.ones(2, np.float32)
    assert fast(x) == 6
    w.data = tape.tensor([7.0])
    assert fast(x) == 21
    w.data = tape.tensor([1.0, 2.0]).float()
    assert fast(x).dtype == np.float32
    w.requires_grad_()
    fast(x).backward()
    assert_array_equal(w.grad.numpy(), [2, 2])
    array = np.array([1.0, 2.0])
    fast = compile(lambda x: (x * array).sum() + array.sum())
    assert fast(x) == 6
    array.resize((1,), refcheck=False)
    assert fast(x) == 3


# Names, attributes, containers, arrays.


class Base:
    scale = 2.0


class Model(Base):
    def __init__(self):
        self.weight, self.more, self.inner = np.ones(2), [1.0, {"a": 2.0}], None

    def __call__(self, x):
        return self.apply(x)

    def apply(self, x):
        inner = 0 if self.inner is None else self.inner.scale
        return x * self.weight * self.scale + self.more[0] + self.more[1]["a"] + inner


def test_attributes_and_what_is_in_containers():
    class Model(globals()["Model"]):
        scale = 3.0

    model, other = Model(), Model()
    for function in (
        model.apply,
        model,
        lambda x: model(x),
        functools.partial(Model.apply, model),
        lambda x: model.apply(x),
    ):
        after(lambda: setattr(model, "weight", model.weight + 1), function, ONE)
        after(lambda: setattr(model, "scale", model.scale * 3), function, ONE)
        after(lambda: setattr(Model, "scale", Model.scale + 1), other.apply, ONE)
        after(lambda: model.more.__setitem__(0, model.more[0] + 1), function, ONE)
        after(lambda: model.more[1].update(a=model.more[1]["a"] - 4), function, ONE)
        after(lambda: setattr(model, "inner", other), function, ONE)
        after(lambda: setattr(other, "scale", other.scale - 9), function, ONE)
        after(lambda: model.weight.__imul__(-1), function, ONE)
    decorated = compile(Model.apply)
    assert_allclose(decorated(model, ONE), model.apply(ONE))
    model.weight = model.weight * 2
    model.more[0] = 17.0
    assert_allclose(decorated(model, ONE), model.apply(ONE))
    assert_allclose(decorated(other, ONE), other.apply(ONE))


def test_arrays_that_numpy_alone_computes_with():
    small, large, index = np.ones(2), np.ones(20000), np.array([0, 1])
    after(lambda: small.__imul__(3), lambda x: x * (small * 2) + (1.0 if small[0] > 2 else 0.0), ONE)
    after(lambda: large.__setitem__(777, 5), lambda x: x * large.sum(), ONE)
    after(lambda: large.__setitem__(slice(None), large[::-1].copy()), lambda x: x * np.sin(large[:99]).sum(), ONE)
    after(lambda: index.fill(1), lambda x: x[index] * x, np.array([1.0, 2.0]))
    after(lambda: tape.set_default_dtype("float32"), lambda x: x * tape.ones(2, dtype=None), np.float32([1, 2]))
    tape.set_default_dtype("float64")


def test_a_function_that_is_handed_over():
    k = [2.0]
    fast = compile(lambda f, x: f(x) * 2)
    double = lambda x: x * k[0]  # noqa: E731
    assert fast(double, 1.0) == 4
    k[0] = 5.0
    assert fast(double, 1.0) == 10
    assert fast(abs, -3.0) == 6


# What a function changes.


@pytest.mark.parametrize("kind", ["tensor", "array", "number", "dict", "attribute", "argument"])
def test_what_a_function_changes_outside_is_changed_by_every_call(kind):
    state = {"k": 0.0}
    model, tensor, array, number = Model(), tape.zeros(()), np.zeros(()), 0.0

    def f(x):
        nonlocal number
        if kind == "tensor":
            tensor.add_(1)
        elif kind == "array":
            array[...] += 1
        elif kind == "number":
            number += 1
        elif kind == "dict":
            state["k"] += 1
        elif kind == "attribute":
            model.scale -= 1
        else:
            x += 1
        return x * (tensor + float(array) + number + state["k"] + 2 - model.scale)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = compile(f)
        x = np.ones(1)
        found = [fast(x)[0] for _ in range(4)]
    assert found == ([0, 0, 0, 0] if kind == "argument" else [1, 2, 3, 4])


def test_a_traced_value_written_into_what_is_outside():
    kept, array = tape.zeros(2), np.zeros(2)

    def f(x):
        kept.copy_(x)
        array[:] = x.detach().numpy()
        return x * 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = compile(f)
        for k in (1.0, 2.0, 3.0):
            assert_array_equal(fast(tape.tensor(k * ONE)).numpy(), 2 * k * ONE)
            assert_array_equal(kept.numpy(), k * ONE)
            assert_array_equal(array, k * ONE)


@pytest.mark.parametrize("read", [
    lambda seen: lambda: len(seen), lambda seen: functools.partial(len, seen), lambda seen: seen.__len__,
    lambda seen: lambda kept=(seen,): len(kept[0]), lambda seen: lambda: 1,
], ids=["variable", "partial", "method", "inside", "not at all"])  # fmt: skip
def test_what_is_appended_is_appended_at_every_call(read):
    """Also where the function, or another one, reads the list under another name, or only its caller does."""
    seen, expected = [], []
    look, also = read(seen), read(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = compile(lambda x: (seen.append(x.sum() > 5.0), x.sum() * look())[1])
        for k in range(40):
            x = np.array([1.0, k % 3])
            expected.append(x.sum() > 5.0)
            assert fast(x) == x.sum() * also()
    assert len(seen) == 40


@pytest.mark.parametrize("make", [
    lambda: (lambda: None), lambda: functools.partial(len, [1]), lambda: tape.func.grad(lambda x: x),
    lambda: type("Kept", (), {"m": lambda self: None}).m,
], ids=["function", "partial", "gradient", "method"])  # fmt: skip
@pytest.mark.parametrize("read", [
    lambda thing: getattr(thing, "factor", 1.0), lambda thing: thing.factor if hasattr(thing, "factor") else 1.0,
    lambda thing: vars(thing).get("factor", 1.0),
], ids=["getattr", "hasattr", "vars"])  # fmt: skip
def test_an_attribute_that_a_function_does_not_have_yet(make, read):
    thing = make()
    fast = compile(lambda x: x * read(thing))
    for _ in range(3):
        assert fast(2.0) == 2.0
    thing.factor = 5.0
    assert fast(2.0) == 10.0
    del thing.factor
    assert fast(2.0) == 2.0


# Tensors and arrays of the function's own.


def filled(x):
    z, first = tape.zeros(2), x[1] * 2
    z[0] = first
    z[1] = first + x[0]
    return (z * z).sum()


def accumulated(x):
    z, total = tape.zeros(2), tape.zeros(())
    for k in range(3):
        z += x * k
        total += z.sum() * x[0]
    return total + (z.exp() * 0.01).sum()


def multiplied(x):
    z = tape.ones_like(x)
    z *= x
    z[z > 1.5] = x[0]
    return (z**3).sum()


@pytest.mark.parametrize("function", [filled, accumulated, multiplied])
def test_tensors_of_its_own_that_are_written_into(function):
    fast = compile(function)
    for values in ([1.0, 2.0], [3.0, 0.5], [1.0, 2.0]):
        xs = [tape.tensor(values, requires_grad=True) for _ in range(2)]
        found, expected = fast(xs[0]), function(xs[1])
        found.backward(), expected.backward()
        assert_allclose(found.item(), expected.item())
        assert_allclose(xs[0].grad.numpy(), xs[1].grad.numpy())
        assert_allclose(fast(tape.tensor(values)).item(), expected.item())
    assert not fast.statistics().eager


@pytest.mark.parametrize("make", [np.zeros, tape.zeros])
def test_a_buffer_that_is_changed_after_it_was_used(make):
    def f(x):
        buffer, total = make(2), 0.0
        for _ in range(3):
            buffer += 1
            total = total + x * buffer
        return total

    fast = compile(f)
    if make is np.zeros:  # an array of the function's own is left to whoever holds it when it is changed
        assert_array_equal(fast(ONE), 6 * ONE)
        assert not fast.statistics().eager
    with pytest.warns(RuntimeWarning, match="changed in place after it had been used"):
        assert_array_equal(fast(tape.tensor(ONE)).numpy(), 6 * ONE)
    assert_array_equal(fast(tape.tensor(ONE)).numpy(), 6 * ONE)


def test_an_array_that_was_asked_for_cannot_be_written_into():
    def f(x):
        y = x * 2
        y.numpy()[0] = 7
        return y

    fast = compile(f)
    with pytest.warns(RuntimeWarning, match="read-only"):
        first = fast(tape.tensor(ONE))
    assert_array_equal(first.numpy(), [7, 2])
    assert_array_equal(fast(tape.tensor(ONE)).numpy(), [7, 2])


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda x: x if x.requires_grad else x * 2, "requires_grad"),
        (lambda x: x if tape.is_grad_enabled() else x * 2, "gradients"),
    ],
)
def test_what_every_call_decides_for_itself(function, match):
    fast, x = compile(function), tape.ones(1)
    with pytest.warns(RuntimeWarning, match=match):
        assert fast(x) == function(x)
    with tape.no_grad():
        assert fast(x) == function(x)
    assert fast(tape.ones(1, requires_grad=True)) == function(tape.ones(1, requires_grad=True))


def test_surroundings_that_are_new_in_every_call_are_given_up():
    count = 0.0

    def f(x):
        nonlocal count
        count += 1
        return x * count

    fast = compile(f, most_paths=3)
    with pytest.warns(RuntimeWarning, match="new in every call"):
        assert [fast(1.0) for _ in range(8)] == [1, 2, 3, 4, 5, 6, 7, 8]
    around = fast._surroundings
    assert fast(1.0) == 9
    assert fast._surroundings is around  # which are not looked at any more


def test_asking_for_annotations_changes_nothing():
    """Python gives a class without annotations an empty dict when it is asked for them; that is no change."""

    class Plain:
        pass

    fast = compile(lambda x: x if Plain.__annotations__ else x * 2)
    for _ in range(3):
        assert_array_equal(fast(ONE), 2 * ONE)
    assert fast.statistics().replays == 3
    Plain.__annotations__ = {"a": int}
    assert_array_equal(fast(ONE), ONE)

    class Other:
        pass

    names = set(vars(Other))
    fast = compile(lambda x: x * len(vars(Other)) * len(dir(Other)))
    for _ in range(3):
        assert_array_equal(fast(ONE), ONE * len(vars(Other)) * len(dir(Other)))
    assert set(vars(Other)) == names
