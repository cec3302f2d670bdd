"""Hooks of results of ops with several: called together, in the order in which they were hung there, as in PyTorch."""

from __future__ import annotations

import gc
import itertools

import pytest

import tape
from tape.recording.wengert import current

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("either"), pytest.mark.filterwarnings("ignore:Using backward")]

SEVERAL = {
    "unbind": lambda m, x: x.unbind(), "unbind of columns": lambda m, x: x.unbind(1), "split": lambda m, x: x.split(2),
    "split at": lambda m, x: x.split([1, 2], 1), "chunk": lambda m, x: x.chunk(2), "topk": lambda m, x: x.topk(2),
    "sort": lambda m, x: x.sort(), "max": lambda m, x: x.max(0), "std_mean": lambda m, x: m.std_mean(x, 1),
    "var_mean": lambda m, x: m.var_mean(x), "svd": lambda m, x: m.linalg.svd(x), "qr": lambda m, x: m.linalg.qr(x),
    "tensor_split": lambda m, x: x.tensor_split(3), "broadcast_tensors": lambda m, x: m.broadcast_tensors(x, x[:1]),
}  # fmt: skip


def several(library, op):
    """A leaf, and the results with fractions of an op of it."""
    numbers = [[1.0, 2.0, 4.0], [3.0, 5.0, 7.0], [2.0, 9.0, 1.0]]
    x = library.tensor(numbers, dtype=library.float64, requires_grad=True)
    return x, [z for z in SEVERAL[op](library, x * 1) if z.is_floating_point()]


def numbers(gs):
    return [None if g is None else [round(v, 6) for v in g.flatten().tolist()] for g in gs]


def squares(zs):
    return sum([(z * z).sum() for z in zs[1:]], (zs[0] * zs[0]).sum())


TARGETS = {
    "leaf": lambda x, zs: [x], "results": lambda x, zs: zs, "last": lambda x, zs: zs[-1:],
    "leaf and first": lambda x, zs: [x, zs[0]],
}  # fmt: skip
USES = {"all": squares, "first": lambda zs: zs[0].sum() * 3, "last": lambda zs: (zs[-1] * zs[-1]).sum()}


def calls(library, op, asked, use, create_graph):
    """What hooks see, in order, what they leave, and what is kept."""
    x, zs = several(library, op)
    events = []
    for i in (*range(1, len(zs)), 0):
        zs[i].register_hook(lambda g, i=i: events.append((i, numbers([g]))))
        zs[i].retain_grad()
    zs[0].register_hook(lambda g: None if g is None else g * 10)
    zs[-1].register_hook(lambda g: events.append(("second", numbers([g]))))
    targets = TARGETS[asked](x, zs)
    found = library.autograd.grad(
        USES[use](zs), targets, allow_unused=True, retain_graph=True, create_graph=create_graph
    )
    events += [numbers(found), numbers([z.grad for z in zs])]
    USES[use](zs).backward(inputs=targets, retain_graph=True, create_graph=create_graph)
    events += [numbers([z.grad for z in zs]), numbers([x.grad])]
    library.autograd.backward(zs, [library.ones_like(z) for z in zs], create_graph=create_graph)
    return [*events, numbers([z.grad for z in zs]), numbers([x.grad])]


@pytest.mark.parametrize("asked", TARGETS)
@pytest.mark.parametrize("op", SEVERAL)
def test_hooks_of_results_are_called_as_pytorch_calls_them(op, asked):
    for use, create_graph in itertools.product(USES, [False, True]):
        expected = calls(torch, op, asked, use, create_graph)
        assert calls(tape, op, asked, use, create_graph) == expected, (use, create_graph)


@pytest.mark.parametrize("output", [0, 1])
def test_an_output_that_is_one_of_several_results_shows_them_all(output):
    def seen(library):
        _, zs = several(library, "unbind")
        w = library.ones(2, dtype=library.float64, requires_grad=True)
        events = []
        for i in (1, 0):
            zs[i].register_hook(lambda g, i=i: events.append((i, numbers([g]))))
        weights = [library.ones_like(zs[output])]
        found = library.autograd.grad([zs[output]], [w], weights, allow_unused=True)
        return events, found

    assert seen(tape) == seen(torch)


def test_a_hook_that_gets_none_gives_none():
    def outcome(library):
        _, zs = several(library, "unbind")
        zs[1].register_hook(lambda g: library.ones(3, dtype=library.float64))
        zs[0].sum().backward()

    for library in (torch, tape):
        with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
            outcome(library)


@pytest.mark.parametrize("mode", ["all", "any"])
@pytest.mark.parametrize("used", [(0,), (1,), (0, 2)])
def test_a_hook_of_several_gradients_of_results_of_one_op(mode, used):
    def seen(library):
        x, zs = several(library, "unbind")
        events = []
        handle = library.autograd.graph.register_multi_grad_hook(
            (*zs, x), lambda gs: events.append(numbers(gs if mode == "all" else [gs])), mode=mode
        )
        total = sum([zs[i].sum() for i in used])
        total.backward(retain_graph=True)
        library.autograd.grad(total, zs[:2], retain_graph=True, allow_unused=True)
        total.backward(retain_graph=True)
        handle.remove()
        total.backward()
        return events

    expected = seen(torch)
    assert seen(tape) == expected
    assert expected


def test_a_result_that_is_gone_is_still_shown():
    def seen(library):
        _, zs = several(library, "unbind")
        events = []
        zs[1].register_hook(lambda g: events.append(numbers([g])))
        first = zs[0]
        del zs
        first.sum().backward()
        return events

    assert seen(tape) == seen(torch) == [[None]]


def test_hooks_of_results_that_hold_them_go_with_them():
    x = tape.ones(3, 2, requires_grad=True)
    for _ in range(400):
        for z in x.unbind():
            z.register_hook(lambda g, z=z: None)
        z.sum().backward()
    tape.autograd.grad(x.sum(), x)
    gc.collect()
    current().scan()
    assert len(current().hooks) < 1200


def test_a_compiled_function_runs_as_it_is_where_results_have_hooks():
    def f(x):
        w = (x * 2).requires_grad_()
        first, second = w.unbind()
        second.register_hook(lambda g: None if g is None else g * 5)
        return tape.autograd.grad((first * 3).sum() + second.sum(), w)[0]

    expected = f(tape.ones(2, 2)).tolist()
    step = tape.compile(f)
    with pytest.warns(RuntimeWarning, match="one of several results"):
        assert step(tape.ones(2, 2)).tolist() == expected == [[3, 3], [5, 5]]
    assert step(tape.ones(2, 2)).tolist() == expected


def test_hooks_of_what_comes_of_another_result_than_the_target():
    def seen(library):
        _, zs = several(library, "unbind")
        events = []
        other = zs[1] * 2
        other.register_hook(lambda g: events.append(numbers([g])))
        total = other.sum() * 3 + zs[0].sum()
        found = library.autograd.grad(total, [zs[0]], retain_graph=True)
        return events, numbers(found), numbers(library.autograd.grad(total, zs[:2]))

    assert seen(tape) == seen(torch)
