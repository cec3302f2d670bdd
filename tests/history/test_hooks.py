"""Hooks of tensors, nodes and leaves: their order, what they may replace, and what happens when they fail."""

from __future__ import annotations

import gc
import itertools
import threading

import numpy as np
import pytest
from peer import torch

import tape
from tape.autograd import grad
from tape.history.hooks import LEAVES, move_retained
from tape.recording.wengert import current

pytestmark = pytest.mark.usefixtures("either")


def leaf(*values):
    return tape.tensor(np.array(values, float), requires_grad=True)


def events_of(library, run):
    """What hooks of every kind see of a small program, in order."""
    x = library.ones(2, dtype=library.float64, requires_grad=True)
    w = library.ones(2, dtype=library.float64, requires_grad=True)
    y = x * 2
    u = y * w
    z = u * 3
    events: list = []

    def see(name):
        return lambda *args: events.append((name, [[None if g is None else g.tolist() for g in gs] for gs in args]))

    for name, t in {"x": x, "w": w, "y": y, "u": u}.items():
        t.register_hook(lambda g, name=name: events.append((f"{name} first", g.tolist())))
        t.register_hook(lambda g, name=name: events.append((f"{name} second", g.tolist())))
    y.retain_grad()
    for name, t in {"y": y, "u": u}.items():
        t.grad_fn.register_hook(see(f"{name} after"))
        t.grad_fn.register_prehook(see(f"{name} before"))
    for name, node in {"x": y.grad_fn.next_functions[0][0], "w": u.grad_fn.next_functions[1][0]}.items():
        node.register_hook(see(f"{name} leaf after"))
        node.register_prehook(see(f"{name} leaf before"))
    x.register_post_accumulate_grad_hook(lambda t: events.append(("x has", t.grad.tolist())))
    run(library, x, w, y, z)
    return events, [None if t.grad is None else t.grad.tolist() for t in (x, w, y)]


RUNS = {
    "backward": lambda library, x, w, y, z: z.sum().backward(),
    "create_graph": lambda library, x, w, y, z: library.autograd.grad(z.sum(), [x, w], create_graph=True),
    "one result": lambda library, x, w, y, z: z.sum().backward(inputs=[y]),
    "one result and a leaf": lambda library, x, w, y, z: z.sum().backward(inputs=[y, x]),
    "one result, recorded": lambda library, x, w, y, z: z.sum().backward(inputs=[y], create_graph=True),
    "one leaf": lambda library, x, w, y, z: z.sum().backward(inputs=[w]),
    "grad": lambda library, x, w, y, z: library.autograd.grad(z.sum(), [x, w]),
    "grad of a result": lambda library, x, w, y, z: library.autograd.grad(z.sum(), [y]),
    "twice": lambda library, x, w, y, z: [z.sum().backward(retain_graph=True) for _ in range(2)],
}


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
def test_the_order_is_pytorchs(run):
    """Of all kinds of hooks, between the records and between the leaves too."""
    assert events_of(tape, run) == events_of(torch, run)


def replaced(library):
    x = library.tensor([1.0, 2.0], dtype=library.float64, requires_grad=True)
    y = x * 3
    z = (y * y).sum()
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
    y.grad_fn.register_hook(lambda bars, gs: (bars[0] + gs[0], None))
    z.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda gs: (gs[0] - 1,))
    x.register_hook(lambda g: g * 5)
    z.backward()
    return x.grad.tolist()


def test_what_hooks_of_nodes_return_replaces_gradients():
    assert replaced(tape) == replaced(torch)


def test_a_gradient_that_a_hook_takes_away():
    x = leaf(1.0, 2.0)
    y = x * 3
    with y.grad_fn.register_prehook(lambda gs: (None,)):
        assert grad(y.sum(), x, allow_unused=True, retain_graph=True) == (None,)
    with y.grad_fn.register_hook(lambda bars, gs: (None, None)):
        assert grad(y.sum(), x, allow_unused=True, retain_graph=True) == (None,)
    accumulator = y.grad_fn.next_functions[0][0]
    with accumulator.register_prehook(lambda gs: (None,)):
        y.sum().backward(retain_graph=True)
        assert x.grad is None
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_nodes_with_several_results():
    x = leaf(1.0, 2.0, 3.0)
    a, b = tape.split(x * 1, [2, 1])
    seen = []
    a.grad_fn.register_prehook(lambda gs: seen.append([None if g is None else g.tolist() for g in gs]))
    a.grad_fn.register_hook(lambda bars, gs: (bars[0] * 2,))
    (b * 5).sum().backward(retain_graph=True)
    assert seen == [[None, [5.0]]]
    assert x.grad.tolist() == [0.0, 0.0, 10.0]
    a.grad_fn.register_prehook(lambda gs: (gs[0] * 10, gs[1]))
    (a.sum() + b.sum()).backward()
    assert x.grad.tolist() == [20.0, 20.0, 12.0]


def test_hooks_of_nodes_are_differentiated():
    x = leaf(2.0)
    y = x * x
    y.grad_fn.register_hook(lambda bars, gs: (bars[0] * x, bars[1]))
    (g,) = grad(y, x, create_graph=True)
    assert g.item() == 2.0 * 2.0 + 2.0
    (h,) = grad(g, x)
    assert h.item() == 2 * 2.0 + 1


def test_a_hook_that_keeps_what_it_gets():
    """The sweep goes on in other memory."""
    x = leaf(1.0, 2.0)
    y = x * 1
    kept = []
    y.register_hook(kept.append)
    y.grad_fn.register_hook(lambda bars, gs: kept.extend([bars[0], gs[0]]))
    z = (x * 5 + y * 2).sum()
    z.backward()
    assert [g.tolist() for g in kept] == [[2.0, 2.0]] * 3
    assert x.grad.tolist() == [7.0, 7.0]


@pytest.mark.parametrize("where", ["tensor", "before", "after", "leaf", "leaf before", "leaf after", "accumulated"])
def test_a_hook_that_fails_leaves_everything_usable(where):
    x, w = leaf(1.0), leaf(2.0)
    y = x * w
    z = y * w
    accumulator = y.grad_fn.next_functions[0][0]

    def fail(*args):
        raise ZeroDivisionError("in a hook")

    register = {
        "tensor": y.register_hook,
        "before": y.grad_fn.register_prehook,
        "after": y.grad_fn.register_hook,
        "leaf": x.register_hook,
        "leaf before": accumulator.register_prehook,
        "leaf after": accumulator.register_hook,
        "accumulated": x.register_post_accumulate_grad_hook,
    }[where]
    with register(fail), pytest.raises(ZeroDivisionError, match="in a hook"):
        z.backward(retain_graph=True)
    wengert = current()
    assert (wengert.busy, wengert.task, wengert.where, wengert.recording) == (0, None, None, True)
    x.grad = w.grad = None
    z.backward()
    assert (x.grad.item(), w.grad.item()) == (4.0, 4.0)


def test_hooks_that_run_a_backward():
    """Nothing is recorded in hooks unless they ask for it, and what they set is set back."""
    x, w = leaf(3.0), leaf(2.0)
    inner = []

    def hook(g):
        (h,) = grad(w * w * g, w)
        inner.append(h.item())
        (w * 10).backward()
        return g * h

    y = x * 5
    y.register_hook(hook)
    with pytest.raises(RuntimeError, match="does not require grad"):
        y.backward()
    z = x * 5
    z.register_hook(lambda g: (tape.set_grad_enabled(True), hook(g))[1])
    z.backward()
    assert inner == [4.0]
    assert (x.grad.item(), w.grad.item()) == (20.0, 10.0)
    assert tape.is_grad_enabled()


def test_hooks_added_and_removed_by_hooks():
    x = leaf(1.0)
    y = x * 2
    z = y * 3
    calls = []
    handle = y.register_hook(lambda g: calls.append("removed too late"))
    z.register_hook(lambda g: handle.remove())
    z.register_hook(lambda g: x.register_hook(lambda g: calls.append("leaf")) and None)
    u = x * 7
    z.register_hook(lambda g: u.register_hook(lambda g: calls.append("new chain")) and None)
    (z + 0).sum().backward()
    (z2 := u * 2).register_hook(lambda g: u.grad_fn.register_prehook(lambda gs: calls.append("before")) and None)
    z2.backward()
    assert calls == ["leaf", "new chain", "before", "leaf"]


def test_a_leaf_gets_its_gradient_when_it_is_complete():
    """As in PyTorch before the records that come later in the sweep, where hooks can see it."""
    x, w = leaf(2.0), leaf(3.0)
    early = x * x
    late = early * w
    seen = []
    w.register_post_accumulate_grad_hook(lambda t: seen.append("w"))
    early.register_hook(lambda g: seen.append(("early", w.grad.item())))
    x.register_post_accumulate_grad_hook(lambda t: seen.append("x"))
    late.backward()
    assert seen == ["w", ("early", 4.0), "x"]
    assert (x.grad.item(), w.grad.item()) == (12.0, 4.0)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_leaves_of_one_record_come_in_the_order_of_its_operands(order):
    """Wherever they lie in memory, and whichever was read again before."""

    def seen(library):
        events: list = []
        made = [library.tensor([1.0], dtype=library.float64, requires_grad=True) for _ in order]
        for i, x in enumerate(made):
            x.register_hook(lambda g, i=i: events.append(i))
        z = library.cat([made[i] for i in order])
        (z * made[0] * made[2]).sum().backward()
        return events

    assert seen(tape) == seen(torch) == list(order)


def test_gradients_are_complete_with_hooked_leaves_on_several_lists():
    """Where another thread's list is reached, more may come from there: leaves wait."""
    x = leaf(2.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    box = []
    thread = threading.Thread(target=lambda: box.append(x * x))
    thread.start()
    thread.join()
    (box[0] * x).backward()
    assert seen == [12.0]
    assert x.grad.item() == 12.0


def test_a_hooked_leaf_among_outputs():
    x = leaf(2.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    tape.autograd.backward([x, x * 3])
    assert seen == [4.0]
    x.register_hook(lambda g: g * 2)
    assert grad(x, x)[0].item() == 2.0


def test_post_accumulate_hooks_must_return_nothing():
    x = leaf(1.0)
    with x.register_post_accumulate_grad_hook(lambda t: t), pytest.raises(RuntimeError, match="should return None"):
        (x * 2).backward()
    x.register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", None))
    (x * 2).backward()
    assert x.grad is None


@pytest.mark.parametrize(
    ("result", "error", "words"),
    [
        (lambda bars, gs: 3, TypeError, ["expected tuple", "'int'", "None or a tuple"]),
        (lambda bars, gs: bars[0], TypeError, ["expected tuple", "'Tensor'"]),
        (lambda bars, gs: (bars[0],), RuntimeError, ["incorrect number of values (got 1, but expected 2)"]),
        (lambda bars, gs: (bars[0], bars[0]), RuntimeError, ["can't replace a None gradient", "gradient 1"]),
        (lambda bars, gs: (tape.ones(3), None), RuntimeError, ["changed the size", "(2,)", "(3,)"]),
        (lambda bars, gs: (bars[0].float(), None), RuntimeError, ["changed the type", "float32", ".to(float64)"]),
        (lambda bars, gs: ("x", None), TypeError, ["str"]),
    ],
)
def test_mistakes_in_what_hooks_of_nodes_return(result, error, words):
    y = leaf(1.0, 2.0) * 3
    y.grad_fn.register_hook(result)
    with pytest.raises(error) as caught:
        y.sum().backward()
    assert all(word in str(caught.value) for word in words), caught.value


def test_what_cannot_be_called_is_no_hook():
    y = leaf(1.0) * 3
    for register in (y.grad_fn.register_hook, y.grad_fn.register_prehook):
        with pytest.raises(TypeError, match="can be called"):
            register(3)


def test_retain_grad_follows_a_tensor_to_another_record():
    x = leaf(2.0)
    y, before = x * 3, None
    y.retain_grad()
    before, y._node = y._node, (y * 2)._node
    move_retained(y, before)
    (y * 5).backward()
    assert y.grad.item() == 5.0


def test_hooks_on_one_tensor_in_threads():
    """Every thread's backward through a shared leaf and a shared record sees the hooks, and nothing is lost."""
    x = leaf(*np.ones(10))
    y = x * 2
    lock, seen = threading.Lock(), []

    def note(g):
        with lock:
            seen.append(g.sum().item())

    x.register_hook(note)
    y.register_hook(lambda g: g * 2)

    def work():
        for _ in range(20):
            (y * 1).sum().backward(retain_graph=True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == [40.0] * 80
    assert x.grad.tolist() == [320.0] * 10


def test_hooked_leaves_are_forgotten():
    gc.collect()
    n = len(LEAVES)
    x = leaf(1.0)
    x.register_hook(lambda g: g)
    assert len(LEAVES) == n + 1
    del x
    gc.collect()
    assert len(LEAVES) == n


def test_a_long_list_with_a_hooked_leaf():
    x = leaf(1.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    y = x * 1
    for _ in range(2000):
        y = y * 1.0 + x
    y.backward()
    assert seen == [2001.0]
