"""Python's garbage collector and the list: what ``gc.collect()`` lets go of, and when it must not."""

import gc
import os
import subprocess
import sys
import weakref

import numba
import pytest

import tape
from tape.history import collecting
from tape.recording.wengert import current


class Something:
    pass


pytestmark = pytest.mark.usefixtures("by_hand")


def lives_as_long(run):
    """Whether the thing, to which a function gives a weak reference, lives exactly as long as what it gives beside."""
    owner, thing = run()
    gc.collect()
    before = thing() is not None
    del owner
    gc.collect()
    return before and thing() is None


def test_dead_records_go():
    x = tape.ones(3, requires_grad=True)
    before = len(current())
    y = (x * 2).exp()
    assert len(current()) == before + 2
    del y
    gc.collect()
    assert len(current()) == before
    assert x.grad is None


def test_pieces_of_the_oldest_generation(monkeypatch):
    """CPython 3.14 collects it in pieces, and tells of none as a full collection: every hundredth stands for one."""
    monkeypatch.setattr(collecting, "INCREMENTAL", True)
    monkeypatch.setattr(collecting._Pieces, "seen", 0)
    x = tape.ones(3, requires_grad=True)
    before = len(current())
    held = x * 2
    del held
    for k in range(collecting.PIECES):
        assert len(current()) == before + 1, k
        collecting.collect("start", {"generation": 0})
        collecting.collect("stop", {"generation": 0})
        collecting.collect("start", {"generation": 1})
        collecting.collect("stop", {"generation": 1})
    assert len(current()) == before
    assert collecting._Pieces.seen == 0


def test_what_the_hooks_of_a_leaf_hold():
    def run():
        thing = tape.ones(3)
        x = tape.ones(3, requires_grad=True)

        def add(x):
            x.grad.add_(thing)

        x.register_post_accumulate_grad_hook(add)
        x.sum().backward()
        return x, weakref.ref(thing)

    assert lives_as_long(run)


@pytest.mark.parametrize(
    "register", [lambda y, hook: y.register_hook(hook), lambda y, hook: y.grad_fn.register_hook(hook)]
)
@pytest.mark.parametrize("held", [lambda y: y, lambda y: y.grad_fn])
def test_a_hook_that_holds_its_own_place(register, held):
    calls = []

    def run():
        y = tape.ones(3, requires_grad=True).clone()
        thing, own = Something(), held(y)
        register(y, lambda *_: calls.append((thing, own)))
        return y.clone(), weakref.ref(thing)

    z, thing = run()
    for count in (1, 2):
        z.sum().backward(retain_graph=True)
        assert len(calls) == count
        gc.collect()
    calls.clear()
    assert thing() is not None
    del z
    gc.collect()
    assert thing() is None


def test_metadata_of_a_node():
    def run():
        y = tape.ones(3, requires_grad=True).exp()
        y.grad_fn.metadata["what"] = thing = Something()
        return y, weakref.ref(thing)

    assert lives_as_long(run)


def test_not_while_the_library_is_at_work():
    x = tape.ones(3, requires_grad=True)
    lengths = []

    def look(g):
        (g * x).exp()
        before = len(current())
        gc.collect()
        lengths.append(len(current()) - before)

    y = x * 2
    y.register_hook(look)
    y.sum().backward()
    assert lengths == [0]


def test_not_while_numba_compiles():
    """A scan that has still to be compiled would enter it a second time."""
    lengths = []

    def looked(): ...

    @numba.extending.overload(looked)
    def _():
        x = tape.ones(3, requires_grad=True)
        (x * 2).exp()
        before = len(current())
        gc.collect()
        lengths.append(len(current()) - before)
        return lambda: None

    numba.njit(lambda: looked())()
    assert set(lengths) == {0}


def test_a_collection_at_every_allocation():
    before = gc.get_threshold()
    try:
        gc.freeze()  # so that a collection has little to look at
        gc.set_threshold(1, 1, 1)
        gc.enable()
        found = [second_order() for _ in range(3)]
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
        gc.disable()
    assert found == [second_order()] * 3


def second_order():
    x = tape.tensor([0.5, -0.25], requires_grad=True)
    y = x * x
    y.register_hook(lambda g: g * 2)
    first, _ = y.exp().split(1)
    z = (first.sum() + y.sin().sum()) * x[0]
    (g,) = tape.autograd.grad(z, x, create_graph=True)
    g.sum().backward()
    return x.grad.tolist(), g.tolist()


def test_a_collection_imports_and_compiles_nothing():
    """It may begin in the middle of Python's own parser, which does not bear to be entered again."""
    code = (
        "import gc, sys, tape\n"
        "x = tape.tensor(1.0, requires_grad=True)\n"
        "ys = [x.sin() for _ in range(50)]\n"
        "before = set(sys.modules)\n"
        "gc.collect()\n"
        "del ys\n"
        "gc.collect()\n"
        "assert not set(sys.modules) - before, set(sys.modules) - before\n"
        "from tape.recording.wengert import current\n"
        "assert len(current()) == 0\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TAPE_JIT": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
