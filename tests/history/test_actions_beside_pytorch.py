"""Random sequences of what users do to tensors, their gradients and hooks: every step beside PyTorch."""

from __future__ import annotations

import random
import warnings

import pytest

import tape
from tape.recording.wengert import current

torch = pytest.importorskip("torch")


class Program:
    """Tensors in one library, what was done to them, and what that showed."""

    def __init__(self, library, seed):
        self.m, self.rng, self.events = library, random.Random(seed), []
        self.handles, self.hooks, self.done = [], 0, set()
        numbers = [[1.0, 2.0, 4.0], [3.0, 5.0, 0.5]]
        leaf = library.tensor(numbers, dtype=library.float64, requires_grad=True)
        self.leaves = [leaf, library.tensor(numbers[1], dtype=library.float64, requires_grad=True)]
        self.tensors = [*self.leaves, leaf * 2.0]

    def pick(self):
        return self.rng.choice(self.tensors)

    def keep(self, *made):
        self.tensors += made

    def see(self, *parts):
        self.events.append(parts)

    def hook(self, kind, changes):
        self.hooks += 1
        number = self.hooks

        def seen(*gs):
            flat = [g for part in gs for g in (part if isinstance(part, tuple) else (part,))]
            self.see(kind, number, [values(g) for g in flat])
            return gs[0] * 2.0 if changes and gs[0] is not None else None

        return seen


def values(t):
    return None if t is None else [str(round(v, 6) + 0.0) for v in t.detach().reshape(-1).tolist()]


def elementwise(p):
    x = p.pick()
    ops = [lambda: x * x, lambda: x.sin(), lambda: x + 1.0, lambda: (x * 0.1).exp(), lambda: x / 2.0]
    p.keep(p.rng.choice(ops)())


def product(p):
    x, y = p.pick(), p.pick()
    p.keep(x * y.sum() if x.shape != y.shape else x * y)


def view(p):
    x = p.pick()
    looks = [lambda: x[:1], lambda: x.reshape(-1), lambda: x[..., 1:], lambda: x[0]]
    looks_at_numbers = [lambda: x.unsqueeze(0), lambda: x.expand(2)]
    p.keep(p.rng.choice(looks if x.ndim else looks_at_numbers)())


def several(p):
    x = p.pick()
    ops = [lambda: x.unbind(), lambda: x.split(1), lambda: x.chunk(2, -1), lambda: p.m.var_mean(x, -1)]
    p.keep(*p.rng.choice(ops)())


def change(p):
    x = p.pick()
    whole = [lambda: x.mul_(2.0), lambda: x.add_(p.leaves[1].sum()), lambda: x.zero_(), lambda: x.sin_()]
    p.rng.choice([*whole, lambda: x[:1].mul_(3.0)])()


def change_without_recording(p):
    with p.m.no_grad():
        change(p)


def detach(p):
    p.keep(p.pick().detach())


def hook(p):
    p.handles.append(p.pick().register_hook(p.hook("hook", p.rng.random() < 0.3)))


def node_hook(p):
    x = p.pick()
    if x.grad_fn is not None:
        p.handles.append(x.grad_fn.register_prehook(p.hook("before", False)))


def accumulation_hook(p):
    x = p.rng.choice(p.leaves)
    p.handles.append(x.register_post_accumulate_grad_hook(lambda t: p.see("has", values(t.grad))))


def hook_of_many(p):
    tensors = [x for x in (p.pick(), p.pick()) if x.requires_grad]
    if tensors:
        mode = p.rng.choice(["all", "any"])
        seen = p.hook(mode, False)
        register = p.m.autograd.graph.register_multi_grad_hook
        p.handles.append(register(tensors, lambda gs: seen(*(gs if mode == "all" else [gs])), mode=mode))


def remove(p):
    if p.handles:
        p.handles.pop(p.rng.randrange(len(p.handles))).remove()


def retain(p):
    p.pick().retain_grad()


def total(p):
    return (p.pick() * 1.0).sum() + (p.pick() * 3.0).sum()


def backward(p):
    total(p).backward(retain_graph=True)


def backward_recorded(p):
    total(p).backward(create_graph=True)


def backward_to(p):
    total(p).backward(inputs=[p.pick(), p.pick()], retain_graph=True)


def gradients(p):
    targets = [p.pick(), p.pick(), p.leaves[0]]
    unused = p.rng.random() < 0.7
    asked = targets[: p.rng.randint(1, 3)]
    found = p.m.autograd.grad(total(p), asked, allow_unused=unused, retain_graph=True)
    p.see("grad", [values(g) for g in found])


def second(p):
    (g,) = p.m.autograd.grad(total(p), p.leaves[:1], create_graph=True)
    found = p.m.autograd.grad((g * g).sum(), p.leaves, allow_unused=True, retain_graph=True)
    p.see("second", [values(g) for g in found])


def no_gradient(p):
    p.rng.choice(p.leaves).grad = None


def gradient_assigned(p):
    x = p.rng.choice(p.leaves)
    x.grad = p.m.ones_like(x).detach()


ACTIONS = [
    elementwise, product, view, several, change, change_without_recording, detach, hook, node_hook, accumulation_hook,
    hook_of_many, remove, retain, backward, backward, backward_recorded, backward_to, gradients, second, no_gradient,
    gradient_assigned,
]  # fmt: skip


WITHOUT = {
    change: {several},
    change_without_recording: {several},
    backward_to: {change, change_without_recording},
    gradients: {hook_of_many},
    second: {hook_of_many},
}
"""What is not done after what, as PyTorch refuses more then: it bars all of several views when one has changed, runs
the rules of targets, and takes no hooks of several leaves in grad."""


def events_of(library, seed, steps):
    p = Program(library, seed)
    for _ in range(steps):
        action = p.rng.choice(ACTIONS)
        if not p.done.isdisjoint(WITHOUT.get(action, ())):
            continue
        p.done.add(action)
        state, before = p.rng.getstate(), len(p.events)
        try:
            action(p)
            p.see(action.__name__)
        except (RuntimeError, IndexError):
            del p.events[before:]  # some hooks may have run
            p.see(action.__name__, "raised")
            if action.__name__ not in SAFE:
                break
        p.rng.setstate(state)
        p.rng.random()
        for t in p.tensors:
            p.see(t.requires_grad, t.is_leaf, values(t), t.is_leaf and values(t.grad))
    return p.events


SAFE = {"hook", "retain", "gradients"}
"""After an error of any other action, the libraries may have got differently far."""


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_every_step(first):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + 20):
            expected = events_of(torch, seed, 30)
            assert events_of(tape, seed, 30) == expected, seed
            current().hooks.clear()  # they hold the tensors that they hang on
