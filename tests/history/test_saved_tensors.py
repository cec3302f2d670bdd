"""Hooks on saved tensors: put away and got back, on disk, changed in place, and the mistakes."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
from peer import torch

import tape
from tape.autograd import grad
from tape.autograd.graph import (
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from tape.recording.packing import pairs_of
from tape.recording.wengert import current

pytestmark = pytest.mark.usefixtures("either")


def leaf(*values):
    return tape.tensor(np.array(values, float), requires_grad=True)


def away(x):
    return x.detach().numpy().copy()


PROGRAMS = {
    "elementwise": lambda x, y: ((x * y).exp() / (x + 2)).sum(),
    "reductions": lambda x, y: (x.prod() * y.logsumexp(0)) + (x * y).std(),
    "products": lambda x, y: (x.reshape(2, 2) @ y.reshape(2, 2)).sum() + x @ y,
    "broadcast": lambda x, y: (x.reshape(4, 1) * y.exp()).sum(),
    "choices": lambda x, y: x.maximum(y).sum() + x[[0, 2]].sum() * y.sort()[0][1],
    "several results": lambda x, y: (x.split(2)[0] * y.split(2)[1]).sum() * x[0],
    "views": lambda x, y: (x[1:] * y.reshape(2, 2).flatten()[:-1]).pow(3).sum(),
    "matrices": lambda x, y: tape.linalg.inv(x.reshape(2, 2) + 3 * tape.eye(2)).sum() * y.norm(),
    "several saved results": lambda x, y: tape.linalg.svd(x.reshape(2, 2), full_matrices=False)[1].sum() * y[0],
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_gradients_are_the_same(program):
    """First and second order, with every saved value put away."""
    found = []
    for hooked in (False, True):
        x, y = leaf(0.5, 1.5, 2.5, 3.0), leaf(1.0, 0.3, 2.0, 0.7)
        if hooked:
            with saved_tensors_hooks(away, tape.as_tensor):
                z = program(x, y)
        else:
            z = program(x, y)
        first = grad(z, [x, y], create_graph=True)
        second = grad(sum((g * g).sum() for g in first), [x, y], retain_graph=True)
        z.backward()
        found.append([g.detach().numpy() for g in (*first, *second, x.grad, y.grad)])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def packed_by(library, compute):
    log = []

    def pack(x):
        log.append(x.tolist())
        return x * 2

    x = library.tensor([1.0, 2.0], dtype=library.float64, requires_grad=True)
    with library.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        y = compute(x)
    y.sum().backward()
    return sorted(map(str, log)), x.grad.tolist()


@pytest.mark.parametrize(
    "compute",
    [lambda x: x * x, lambda x: x.exp(), lambda x: x.sin().cos(), lambda x: x * 3, lambda x: x + 1, lambda x: x**3],
)
def test_what_is_packed_is_what_is_used(compute):
    """Hooks that give back other numbers show which values are saved, and that the rules read them."""
    assert packed_by(tape, compute) == packed_by(torch, compute)


def test_a_hook_sees_leaves_themselves_and_nothing_else_of_the_history():
    x = leaf(1.0, 2.0)
    seen = []
    with saved_tensors_hooks(lambda t: seen.append((t is x, t.requires_grad, tape.is_grad_enabled())), tape.as_tensor):
        (x * x.exp()).sin()
    assert (True, True, False) in seen
    assert (False, False, False) in seen
    assert tape.is_grad_enabled()


def test_what_was_packed_is_not_kept():
    """The value itself goes when its tensor does."""
    x = leaf(*np.ones(100))
    with saved_tensors_hooks(lambda t: float(t.detach().sum()), lambda s: tape.full((100,), s / 100)):
        y = x * 3
        value = weakref.ref(y._data)
        z = (y * y).sum()
    del y
    gc.collect()
    assert value() is None
    z.backward()
    np.testing.assert_allclose(x.grad.numpy(), 18.0)


def test_records_of_put_away_values_are_reclaimed():
    gc.collect()
    current().scan()
    n = len(current())
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        for _ in range(20):
            y = (x.exp() * x).sin()
    del y
    gc.collect()
    current().scan()
    assert len(current()) <= n


def test_the_innermost_pair_is_used():
    x = leaf(2.0)
    log = []

    def pair(name):
        return saved_tensors_hooks(lambda t: (log.append(name), away(t))[1], tape.as_tensor)

    with pair("outer"):
        y = x.exp()
        with pair("inner"):
            y = y.sin()
        y = y.cos()
    y = y.tanh()
    assert log == ["outer", "inner", "outer"]
    y.backward()
    again = leaf(2.0)
    again.exp().sin().cos().tanh().backward()
    assert x.grad.item() == pytest.approx(again.grad.item())


def test_the_pair_is_the_threads_own():
    x = leaf(2.0)
    log = []
    with saved_tensors_hooks(log.append, tape.as_tensor):
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
    assert log == []


def test_a_pair_ends_with_its_block():
    x = leaf(2.0)
    with pytest.raises(KeyError), saved_tensors_hooks(lambda t: 1 / 0, tape.as_tensor):
        raise KeyError
    x.exp().backward()
    with saved_tensors_hooks(lambda t: 1 / 0, tape.as_tensor), pytest.raises(ZeroDivisionError):
        x.exp()
    assert current().extend == current().rows.extend
    assert x.grad is not None


def test_one_pair_entered_twice():
    x = leaf(2.0)
    pair = saved_tensors_hooks(away, tape.as_tensor)
    with pair:
        with pair:
            y = x.exp()
        y = y.exp()
    y.backward()
    assert x.grad.item() == pytest.approx(np.exp(np.exp(2)) * np.exp(2))


def test_a_hook_that_records():
    """Its own records come before the one whose value it packs, and the list stays in order."""
    x = leaf(2.0)
    other = leaf(3.0)
    inner = []

    def pack(t):
        if not inner:
            with tape.enable_grad():
                inner.append(other * other)
        return away(t)

    with saved_tensors_hooks(pack, tape.as_tensor):
        y = x.exp() * x
    handles = current().rows[0 :: len(current().row(0))]
    assert handles == sorted(handles)
    y.backward()
    inner[0].backward()
    assert (x.grad.item(), other.grad.item()) == (pytest.approx(3 * np.exp(2)), 6.0)


def test_custom_functions():
    class Cube(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, y)
            return x * y, y

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * 3 * y + h * 2 * x

    log = []
    for put_away in (
        saved_tensors_hooks(lambda t: (log.append(t.tolist()), away(t))[1], tape.as_tensor),
        save_on_cpu(),
    ):
        x = leaf(2.0)
        w = x * 1
        with put_away:
            z, y = Cube.apply(w)
        (z + y).sum().backward()
        assert x.grad.tolist() == [16.0]
    assert log == [[2.0], [4.0]]


def test_hooks_on_one_saved_tensor():
    x = leaf(3.0)
    y = x * x
    raw = y.grad_fn._raw_saved_self
    assert raw.unpack_hook is None
    raw.register_hooks(lambda t: t * 2, lambda t: t / 2)
    assert (raw.data.item(), raw.unpack().item(), y.grad_fn._saved_self.item()) == (6.0, 3.0, 3.0)
    with pytest.raises(RuntimeError, match="already been set"):
        raw.register_hooks(away, tape.as_tensor)
    y.backward()
    assert x.grad.item() == 6.0
    with pytest.raises(RuntimeError, match="after it has been freed"):
        raw.register_hooks(away, tape.as_tensor)
    with pytest.raises(RuntimeError, match="second time"):
        raw.unpack()
    with pytest.raises(TypeError, match="two functions"):
        (x * x).grad_fn._raw_saved_self.register_hooks(3, away)


MISTAKES = {
    "unpack gives no tensor": (lambda t: t, lambda t: 3, TypeError, ["expected to be a Tensor", "int"]),
    "unpack gives another shape": (lambda t: t, lambda t: t[:1], RuntimeError, ["(2,)", "(1,)"]),
    "unpack fails": (lambda t: t, lambda t: 1 / 0, ZeroDivisionError, ["division"]),
}


@pytest.mark.parametrize(("pack", "unpack", "error", "words"), MISTAKES.values(), ids=list(MISTAKES))
def test_mistakes_in_unpacking(pack, unpack, error, words):
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(pack, unpack):
        y = x.exp().sum()
    with pytest.raises(error) as caught:
        y.backward()
    assert all(word in str(caught.value) for word in words), caught.value
    assert (current().busy, current().where) == (0, None)


def test_mistakes_in_packing():
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda t: t.mul_(2), tape.as_tensor), pytest.raises(RuntimeError, match="in place"):
        x.exp()
    with pytest.raises(TypeError, match="pack_hook is 3"):
        saved_tensors_hooks(3, away)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unpack_hook is None"):
        saved_tensors_hooks(away, None)  # type: ignore[arg-type]


def test_disabled():
    x = leaf(1.0)
    with disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"), saved_tensors_hooks(away, tape.as_tensor):
            pass
        with disable_saved_tensors_hooks("nor here"):
            pass
        with pytest.raises(RuntimeError, match="not here"), saved_tensors_hooks(away, tape.as_tensor):
            pass
        x.exp().backward()
    with (
        saved_tensors_hooks(away, tape.as_tensor),
        pytest.raises(RuntimeError, match="too late"),
        disable_saved_tensors_hooks("too late"),
    ):
        pass
    with saved_tensors_hooks(away, tape.as_tensor):
        x.exp().backward()
    with pytest.raises(TypeError, match="message"), disable_saved_tensors_hooks(3):  # type: ignore[arg-type]
        pass


def test_entered_in_a_backward():
    """What nobody leaves there ends with that backward, and the hooks can be collected."""

    def run():
        x = leaf(1.0, 2.0)

        def unpack(held):
            pair().__enter__()
            return tape.from_numpy(held)

        within = saved_tensors_hooks(away, unpack)
        pair = weakref.ref(within)
        with within:
            x.exp().sum().backward()
            assert len(pairs_of(current())) == 1
        assert not pairs_of(current())
        return weakref.ref(unpack)

    assert run()() is None


def test_left_in_a_backward():
    x = leaf(1.0, 2.0)
    pair = saved_tensors_hooks(away, lambda held: [pair.__exit__(), tape.from_numpy(held)][1])
    pair.__enter__()
    x.exp().sum().backward()
    assert not pairs_of(current())
    pair.__exit__()
    with saved_tensors_hooks(away, tape.from_numpy):
        pair.__exit__()
        assert len(pairs_of(current())) == 1
    assert x.grad.tolist() == np.exp([1.0, 2.0]).tolist()
