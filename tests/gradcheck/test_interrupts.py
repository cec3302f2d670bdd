"""An interrupt at any moment of a forward or a backward leaves everything usable.

The interpreter looks for signals when a Python function is entered and when a call returns; here an
interrupt is made to come at each of those moments in turn.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

import ops
import tape
from tape.autograd import grad
from tape.autograd.graph import saved_tensors_hooks
from tape.history.collecting import collect
from tape.recording.wengert import current
from tape.utils.checkpoint import checkpoint

LIBRARY = tuple(str(Path(house.__file__).parent) for house in (tape, ops))

UNSAFE = ("__exit__", "<genexpr>", "gone", "_gone")
"""Python can be interrupted on its way into ``__exit__``, and drops what is raised where a generator is closed or a
weakly held object has gone, or where the collector calls."""


def collects(frame):
    """Whether the collector has called, through however many functions."""
    while frame is not None and frame.f_code is not collect.__code__:
        frame = frame.f_back
    return frame is not None


class Interrupt:
    """Raises KeyboardInterrupt at the n-th moment in which the library's own code could be interrupted."""

    def __init__(self, moment):
        self.left = moment

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if event in ("call", "c_return") and code.co_filename.startswith(LIBRARY) and code.co_name not in UNSAFE:
            self.left -= 1
            if self.left <= 0 and not collects(frame):
                sys.setprofile(None)
                raise KeyboardInterrupt

    def during(self, function):
        """Whether the interrupt came before the function was done."""
        before = sys.getprofile()
        try:
            sys.setprofile(self)
            function()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(before)
        return False


class Twice(tape.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


def leaf(*values):
    return tape.tensor(np.array(values), requires_grad=True)


def plain(x):
    return (tape.exp(x * 0.5) * x + x / 3.0).sum()


def with_stops(x):
    y = Twice.apply(x)
    y.register_hook(lambda g: g * 1)
    return tape.logsumexp(y, dim=0) + tape.split(x, 1)[1].sum()


def put_away(x):
    with saved_tensors_hooks(lambda t: t.detach().numpy().copy(), tape.as_tensor):
        return (x * x * x).sum()


def again(x):
    return checkpoint(lambda x: (x.exp() * x).sin(), x).sum()


def within_modes(x):
    with tape.no_grad():
        c = x * 2
    with tape.inference_mode():
        x * 2
    return (x * c.detach()).sum()


@pytest.fixture(autouse=True)
def errors_as_they_were_handled():
    """An interrupt within `np.errstate`'s own code leaves what it says in force."""
    before = np.geterr()
    yield
    np.seterr(**before)


PROGRAMS = [plain, with_stops, put_away, again, within_modes]


def as_before(program, expected):
    """The state is what it was, and gradients are right."""
    wengert = current()
    assert (wengert.busy, wengert.task, wengert.where, wengert.recording) == (0, None, None, True)
    assert wengert.extend == wengert.rows.extend
    assert not tape.is_inference_mode_enabled()
    x = leaf(0.3, 0.7)
    program(x).backward()
    assert (abs(x.grad.numpy() - expected) <= 1e-12 * abs(expected)).all()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("act", ["backward", "backward in Python", "grad", "create_graph", "forward"])
def test_interrupted_at_every_moment(program, act, monkeypatch):
    if act == "backward in Python":
        monkeypatch.setattr("tape.backprop.backward.jitted", lambda room: None)
    x = leaf(0.3, 0.7)
    program(x).backward()
    expected = x.grad.numpy().copy()
    gc.collect()
    current().scan()
    n = len(current())
    moment = 1
    while came(Interrupt(moment), program, act):
        moment += 1 + moment // 20
        as_before(program, expected)
    assert moment > 10
    del x
    gc.collect()
    current().scan()
    assert len(current()) <= n


def came(interrupt, program, act):
    """Whether the interrupt came during a program's forward, or during one of the ways to differentiate it."""
    x = leaf(0.3, 0.7)
    if act == "forward":
        return interrupt.during(lambda: program(x))
    y = program(x)
    if act.startswith("backward"):
        return interrupt.during(y.backward)
    return interrupt.during(lambda: grad(y, x, create_graph=act == "create_graph"))
