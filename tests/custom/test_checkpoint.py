"""checkpoint: the same gradients, less memory, and what it does when the function does not do the same again."""

from __future__ import annotations

import contextlib
import gc
import threading
import tracemalloc

import numpy as np
import pytest

import tape
from tape.autograd import grad
from tape.autograd.graph import saved_tensors_hooks
from tape.recording.wengert import current
from tape.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

pytestmark = pytest.mark.usefixtures("either")


def leaf(*values):
    return tape.tensor(np.array(values, float), requires_grad=True)


def block(x, w):
    h = (x * w).sin() + x.exp()
    return (h @ w.reshape(2, 1)).tanh() * h.logsumexp(0)


def with_in_place(x, w):
    y = tape.zeros(2)
    y.add_(3.0)
    return (x * y).exp() * w


def with_split(x, w):
    a, b = tape.split(x * w, 1)
    return a.sin() * b.exp()


def nested(x, w):
    y = x.sin() * w
    return checkpoint(block, checkpoint(lambda y: y.cosh() * w, y), w) * y


@pytest.mark.parametrize("function", [block, with_in_place, with_split, nested])
@pytest.mark.parametrize("use_reentrant", [None, False, True])
def test_the_same_gradients_to_second_order(function, use_reentrant):
    found = []
    for run in (function, lambda *args: checkpoint(function, *args, use_reentrant=use_reentrant)):
        x, w = leaf(0.3, 0.7), leaf(1.5, -0.5)
        z = run(x * 2, w).sum()
        first = grad(z, [x, w], create_graph=True)
        second = grad(sum((g * g).sum() for g in first), [x, w], retain_graph=True)
        z.backward()
        found.append([t.detach().numpy() for t in (*first, *second, x.grad, w.grad)])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_the_function_runs_once_more_for_each_backward():
    runs = []

    def function(x):
        runs.append(tape.is_grad_enabled())
        return x.exp().sin()

    x = leaf(1.0)
    y = checkpoint(function, x)
    y.backward(retain_graph=True)
    y.backward()
    assert runs == [True] * 3
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    runs.clear()
    with tape.no_grad():
        assert not checkpoint(function, x).requires_grad
    assert runs == [False]


def layers(count, run):
    """Peak memory of a forward and backward through layers with large values, above what they begin with."""
    x = leaf(*np.linspace(0, 1, 50_000))

    def layer(y):
        for _ in range(8):
            y = (y.sin() * y).cos()
        return y

    gc.collect()
    current().scan()
    tracemalloc.start()
    y = x
    for _ in range(count):
        y = run(layer, y)
    y.sum().backward()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / x._data.nbytes, x.grad.numpy()


def test_memory_falls():
    """Eight layers of 24 values each: with checkpoints little more than one layer's values and eight arguments."""
    plain, expected = layers(8, lambda layer, y: layer(y))
    checkpointed, found = layers(8, checkpoint)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert plain > 150
    assert checkpointed < 60


def test_memory_falls_further_when_nested():
    """The arguments of inner checkpoints are computed again too."""

    def halves(layer, y):
        def four(y):
            for _ in range(4):
                y = checkpoint(layer, y)
            return y

        return checkpoint(four, y)

    nested_, _ = layers(4, halves)
    flat, _ = layers(16, checkpoint)
    assert nested_ < flat - 4


def test_nothing_is_left_on_the_list():
    gc.collect()
    current().scan()
    n = len(current())
    x, w = leaf(0.3, 0.7), leaf(1.5, -0.5)
    for _ in range(10):
        y = checkpoint(nested, x * 1, w)
    y.sum().backward()
    del y
    gc.collect()
    current().scan()
    assert len(current()) == n


def test_arguments_by_name_and_in_containers():
    x, w = leaf(2.0), leaf(3.0)

    def function(parts, *, scale, power=1):
        a, (b,) = parts["a"], parts["b"]
        return (a * b * scale) ** power

    y = checkpoint(function, {"a": x * 1, "b": [w]}, scale=5.0, power=2, use_reentrant=False)
    y.backward()
    assert (x.grad.item(), w.grad.item()) == (2 * 30 * 15.0, 2 * 30 * 10.0)


def test_results_of_any_kind():
    x = leaf(2.0)
    a, rest = checkpoint(lambda x: (x.exp(), {"b": x * x, "n": 3}), x)
    assert rest["n"] == 3
    (a + rest["b"]).backward()
    assert x.grad.item() == pytest.approx(np.exp(2) + 4)


def test_closures_over_leaves():
    x, w = leaf(2.0), leaf(3.0)
    checkpoint(lambda x: (x * w).exp(), x).backward()
    assert w.grad.item() == pytest.approx(2 * np.exp(6))
    checkpoint(lambda: (w * w).exp()).backward()
    assert w.grad.item() == pytest.approx(2 * np.exp(6) + 6 * np.exp(9))


def test_the_same_random_numbers_again():
    x = leaf(1.0, 2.0, 3.0)

    def function(x):
        return x * tape.rand(3) * np.random.rand(3) + (x * tape.randn(3)).exp()  # noqa: NPY002

    tape.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    y = checkpoint(function, x)
    before = tape.rand(1).item(), np.random.rand()  # noqa: NPY002
    y.sum().backward()
    after = tape.rand(1).item(), np.random.rand()  # noqa: NPY002
    found = x.grad.numpy().copy()
    x.grad = None
    tape.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    function(x).sum().backward()
    np.testing.assert_allclose(found, x.grad.numpy())
    assert before == (tape.rand(1).item(), np.random.rand())  # noqa: NPY002
    assert after == (tape.rand(1).item(), np.random.rand())  # noqa: NPY002


def test_random_numbers_that_go_on():
    x = leaf(1.0)
    draws = []
    y = checkpoint(lambda x: (x * draws.append(tape.rand(1).item()) if False else x).exp(), x, preserve_rng_state=False)
    y.backward()
    seen = []
    y = checkpoint(lambda x: (seen.append(tape.rand(1).item()), x.exp())[1], x, preserve_rng_state=False)
    y.backward()
    assert len(set(seen)) == 2


def test_arguments_changed_in_place_afterwards():
    """Backward is that of the numbers which the function has seen."""
    c, x = tape.tensor([2.0, 3.0]), leaf(1.0, 2.0)
    y = checkpoint(lambda x, c: (x * c).exp(), x, c)
    c.mul_(100)
    with tape.no_grad():
        x.zero_()
    y.sum().backward(retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), [2 * np.exp(2), 3 * np.exp(6)])
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [4 * np.exp(2), 6 * np.exp(6)])


def test_arguments_changed_in_place_by_the_function():
    def function(x, c):
        c.mul_(2)
        return (x * c).exp()

    c, x = tape.tensor([1.0, 2.0]), leaf(1.0, 2.0)
    y = checkpoint(function, x, c)
    assert c.tolist() == [2.0, 4.0]
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert c.tolist() == [2.0, 4.0]
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.array([2 * np.exp(2), 4 * np.exp(8)]))


def test_a_saved_value_changed_within():
    """What is computed again is kept as it was when it was saved."""

    def function(x):
        c = tape.tensor([2.0])
        y = x * c
        c.mul_(10)
        return y * c

    x = leaf(3.0)
    checkpoint(function, x).sum().backward()
    assert x.grad.item() == 40.0


def test_a_leaf_that_changed():
    x, w = leaf(2.0), leaf(3.0)
    y = checkpoint(lambda x: checkpoint(lambda x: (x * w).exp(), x), x)
    with tape.no_grad():
        w.add_(1)
    with pytest.raises(CheckpointError, match="changed in place") as caught:
        y.backward()
    assert "checkpoint(function, leaf)" in str(caught.value)


def changing(first, then):
    runs = []

    def function(x):
        runs.append(1)
        return (first if len(runs) == 1 else then)(x)

    return function


MISTAKES = {
    "fewer": (lambda x: x.exp().sin(), lambda x: x.exp(), ["different number", "2 and 1", "needed by sin", __file__]),
    "none": (lambda x: x.exp(), lambda x: x + 1, ["different number", "1 and 0"]),
    "shape": (lambda x: x.exp(), lambda x: x[:1].exp(), ["different metadata", "value 0", "[1] instead of float64[2]"]),
    "dtype": (lambda x: x.exp(), lambda x: x.float().exp(), ["different metadata", "float32[2] instead of float64[2]"]),
}


@pytest.mark.parametrize(("first", "then", "words"), MISTAKES.values(), ids=list(MISTAKES))
def test_a_function_that_does_something_else(first, then, words):
    y = checkpoint(changing(first, then), leaf(1.0, 2.0))
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    assert all(word in str(caught.value) for word in words), caught.value
    assert (current().busy, current().extend == current().rows.extend) == (0, True)


def test_early_stop_and_the_checks_that_can_be_left_out():
    first, more = (lambda x: x.exp()), (lambda x: x.exp().sin())
    checkpoint(changing(first, more), leaf(1.0)).backward()
    for switch in (
        lambda: (contextlib.nullcontext(), {"early_stop": False}),
        lambda: (set_checkpoint_early_stop(False), {}),
    ):
        context, named = switch()
        with context, set_checkpoint_debug_enabled(True):
            y = checkpoint(changing(first, more), leaf(1.0), **named)
        with pytest.raises(CheckpointError, match="1 and 2"):
            y.backward()
    y = checkpoint(changing(first, lambda x: x.float().exp()), x := leaf(1.0), determinism_check="none")
    y.backward()
    assert x.grad.item() == pytest.approx(np.e)
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(first, leaf(1.0), determinism_check="some")


def test_errors_of_the_function_come_through():
    x = leaf(1.0)
    with pytest.raises(ZeroDivisionError):
        checkpoint(lambda x: x.exp() * (1 / 0), x)
    failures = [None, ZeroDivisionError(), None]

    def function(x):
        if failure := failures.pop(0):
            raise failure
        return x.exp()

    y = checkpoint(function, x)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert (current().busy, current().extend == current().rows.extend) == (0, True)
    y.backward()
    assert x.grad.item() == pytest.approx(np.e)


def test_a_function_that_differentiates():
    def function(x):
        y = x.exp()
        (g,) = grad(y * y, y, create_graph=True)
        return g * x

    x = leaf(0.5)
    checkpoint(function, x).backward()
    assert x.grad.item() == pytest.approx(3 * np.exp(0.5))


def test_what_is_computed_again_is_not_for_the_user():
    x, held = leaf(0.5), []

    def function(x):
        held.append(x.exp())
        return held[-1] * x

    checkpoint(function, x).backward()
    with pytest.raises(CheckpointError, match="Differentiate what checkpoint"):
        held[1].backward()


def test_no_program_catches_the_stop():
    def function(x):
        y = x.exp()
        with contextlib.suppress(Exception):
            y = y.sin()
        return y

    x = leaf(1.0)
    checkpoint(function, x).backward()
    assert x.grad.item() == pytest.approx(np.cos(np.e) * np.e)


def test_contexts_of_both_runs():
    log = []

    @contextlib.contextmanager
    def noted(name):
        log.append(name)
        yield
        log.append(f"end of {name}")

    y = checkpoint(lambda x: x.exp(), leaf(1.0), context_fn=lambda: (noted("first"), noted("second")))
    y.backward()
    assert log == ["first", "end of first", "second", "end of second"]


def test_hooks_of_tensors_within_and_around():
    x, seen = leaf(2.0), []

    def function(x):
        y = x.exp()
        y.register_hook(lambda g: seen.append(g.item()))
        return y * y

    z = checkpoint(function, x)
    z.register_hook(lambda g: g * 2)
    z.backward()
    assert seen == [pytest.approx(4 * np.exp(2))]
    assert x.grad.item() == pytest.approx(4 * np.exp(4))


def test_together_with_hooks_on_saved_tensors():
    x, w = leaf(0.3, 0.7), leaf(1.5, -0.5)
    block(x, w).sum().backward()
    expected = x.grad.numpy().copy()
    put_away = saved_tensors_hooks(lambda t: t.detach().numpy().copy(), tape.as_tensor)

    def within(x, w):
        with put_away:
            return block(x, w)

    for run in (lambda: checkpoint(within, x * 1, w), lambda: within(checkpoint(lambda x: x * 1.0, x), w)):
        x.grad = None
        run().sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), expected)
    with put_away:
        y = checkpoint(block, x * 1, w)
    x.grad = None
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_backward_in_another_thread():
    x = leaf(2.0)
    y = checkpoint(lambda x: x.exp().sin(), x * 1)
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    assert x.grad.item() == pytest.approx(np.cos(np.exp(2)) * np.exp(2))


@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_sequential(segments):
    steps = [tape.sin, tape.exp, lambda x: x * x, tape.tanh, tape.sqrt]
    x = leaf(0.5)
    checkpoint_sequential(steps, segments, x).backward()
    expected = x.grad.item()
    x.grad = None
    y = x
    for step in steps:
        y = step(y)
    y.backward()
    assert x.grad.item() == pytest.approx(expected)


def test_mistakes_of_sequential():
    for segments in (0, 3):
        with pytest.raises(ValueError, match="1 to 2 segments"):
            checkpoint_sequential([tape.sin, tape.exp], segments, leaf(0.5))
    with pytest.raises(ValueError, match="Unexpected keyword arguments: speed"):
        checkpoint_sequential([tape.sin], 1, leaf(0.5), speed=3)


def test_it_is_found_where_pytorch_has_it():
    assert tape.checkpoint is checkpoint
    assert tape.utils.checkpoint.checkpoint is checkpoint
