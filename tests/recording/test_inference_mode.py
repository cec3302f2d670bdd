"""inference_mode: nothing is recorded, and what is made there stays out of every history."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest
from peer import torch

import tape
from tape.recording.wengert import INFERRING


def leaf(*values):
    return tape.tensor(np.array(values, float), requires_grad=True)


@pytest.fixture
def made():
    with tape.inference_mode():
        return tape.ones(2)


def test_nothing_is_recorded_and_enable_grad_changes_nothing():
    a = leaf(1.0, 2.0)
    with tape.inference_mode():
        assert (tape.is_inference_mode_enabled(), tape.is_grad_enabled()) == (True, False)
        assert not (a * 2).requires_grad
        with tape.enable_grad():
            assert tape.is_grad_enabled()
            assert not (a * 2).requires_grad
        assert not tape.is_grad_enabled()
        with tape.set_grad_enabled(True), tape.no_grad():
            assert not tape.is_grad_enabled()
    assert (tape.is_inference_mode_enabled(), tape.is_grad_enabled()) == (False, True)
    assert (a * 2).requires_grad


def test_left_within():
    a = leaf(1.0)
    with tape.inference_mode(), tape.inference_mode(False):
        y = a * 2
        assert (y.requires_grad, y.is_inference(), tape.is_grad_enabled()) == (True, False, True)
    with tape.no_grad(), tape.inference_mode(mode=False):
        assert (a * 2).requires_grad


def test_restored_after_an_exception():
    with pytest.raises(KeyError), tape.inference_mode():
        raise KeyError
    assert not tape.is_inference_mode_enabled()
    mode = tape.inference_mode()
    with mode, tape.no_grad():
        with mode:
            pass
        assert tape.is_inference_mode_enabled()
    assert (tape.is_inference_mode_enabled(), tape.is_grad_enabled()) == (False, True)


def test_what_is_made_within():
    a = leaf(1.0, 2.0)
    with tape.inference_mode():
        made = {
            "factory": tape.zeros(2), "result": a * 2, "number": a.sum(), "reduction": a @ a, "pair": a * a.exp(),
            "view of one": tape.zeros(2)[:1], "element": tape.zeros(2)[0], "detached": tape.zeros(2).detach(),
            "several": tape.split(tape.zeros(2), 1)[0], "half": tape.zeros(2, dtype=tape.float16),
            "fresh with a base": tape.zeros(2, 3).transpose(0, 1).clone(),
        }  # fmt: skip
        views = {"slice": a[:1], "element": a[0], "reshape": a.reshape(2, 1), "detached": a.detach(), "data": a.data}
    assert {name for name, t in made.items() if not t.is_inference()} == set()
    assert {name for name, t in views.items() if t.is_inference()} == set()
    assert not a.is_inference()


def test_what_becomes_of_it_outside(made):
    assert not (made * 2).is_inference()
    assert not made.clone().is_inference()
    assert made[:1].is_inference()
    assert made[0].is_inference()
    assert made.reshape(2, 1).is_inference()
    assert made.detach().is_inference()
    assert made.tolist() == [1.0, 1.0]
    assert "inference" not in repr(made)


def test_it_is_a_constant_where_it_need_not_be_saved(made):
    a = leaf(1.0, 2.0)
    y = a + made
    y.sum().backward()
    assert a.grad.tolist() == [1.0, 1.0]
    (a * made.clone()).sum().backward()
    with tape.no_grad():
        assert (a * made).tolist() == [1.0, 2.0]


SAVES = {
    "mul": lambda a, made: a * made,
    "reflected": lambda a, made: made / a,
    "matmul": lambda a, made: a @ made,
    "variadic": lambda a, made: tape.einsum("i,i->", a, made),
    "where": lambda a, made: tape.where(made > 0, a, made) * made,
    "pow": lambda a, made: made**a,
}


@pytest.mark.parametrize("compute", SAVES.values(), ids=list(SAVES))
def test_it_cannot_be_saved(compute, made):
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward") as caught:
        compute(leaf(1.0, 2.0), made)
    assert "clone()" in str(caught.value)


CHANGES = {
    "operator": lambda t: t.add_(1),
    "index": lambda t: t.__setitem__(0, 1.0),
    "copy": lambda t: t.copy_(tape.zeros(2)),
    "fill": lambda t: t.fill_(3.0),
    "zero": lambda t: t.zero_(),
    "view": lambda t: t[:1].mul_(2),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_it_cannot_be_changed_outside(change, made):
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        change(made)
    with tape.no_grad(), pytest.raises(RuntimeError, match="Inplace update"):
        change(made)
    with tape.inference_mode():
        change(made)


def test_normal_tensors_may_be_changed_within():
    c = tape.ones(2)
    with tape.inference_mode():
        c.add_(1)
        c[:1].mul_(5)
    assert (c.tolist(), c.is_inference()) == ([10.0, 2.0], False)
    assert c._version == 2


def test_it_counts_no_versions_and_requires_no_grad_outside(made):
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = made._version
    with pytest.raises(RuntimeError, match="requires_grad=True on inference tensor"):
        made.requires_grad_()
    with pytest.raises(RuntimeError, match="requires_grad=True on inference tensor"):
        made.requires_grad = True
    with tape.inference_mode():
        x = tape.ones(2, requires_grad=True)
        assert not (x * 2).requires_grad
    y = x * 2
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_decorators():
    @tape.inference_mode
    def plain():
        """Its doc."""
        return tape.ones(1)

    @tape.inference_mode(mode=False)
    def not_really():
        return tape.ones(1)

    @tape.inference_mode()
    def numbers():
        for _ in range(2):
            yield tape.ones(1).is_inference()

    @tape.inference_mode()
    async def later():
        await asyncio.sleep(0)
        return tape.ones(1).is_inference()

    assert (plain().is_inference(), plain.__doc__, not_really().is_inference()) == (True, "Its doc.", False)
    for within in numbers():
        assert within
        assert not tape.is_inference_mode_enabled()
    assert asyncio.run(later())


@pytest.mark.parametrize("mode", [tape.no_grad, tape.enable_grad, tape.inference_mode, tape.set_grad_enabled])
def test_decorated_classes_warn_and_what_is_no_function_is_refused(mode):
    decorate = mode(False) if mode is tape.set_grad_enabled else mode()
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @decorate
        class Made:
            def __init__(self):
                self.recording = tape.is_grad_enabled()

    assert Made().recording is (mode is tape.enable_grad)
    with pytest.raises(TypeError):
        mode("x")


def test_it_is_the_threads_own():
    seen = []
    with tape.inference_mode():
        thread = threading.Thread(target=lambda: seen.append((tape.is_inference_mode_enabled(), tape.ones(1))))
        thread.start()
        thread.join()
    assert (seen[0][0], seen[0][1].is_inference()) == (False, False)


def test_a_thread_that_ends_within_leaves_nothing():
    thread = threading.Thread(target=lambda: tape.inference_mode().__enter__())
    thread.start()
    thread.join()
    tape.ones(1)
    assert INFERRING == {}


@pytest.mark.parametrize(
    ("mode", "words"), [(tape.inference_mode, "in inference mode"), (tape.no_grad, "in no_grad mode")]
)
def test_a_view_that_has_lost_its_place(mode, words):
    """Its base is changed outside: then nobody can ask for its history any more, but its numbers can be seen."""
    y = tape.ones(2, requires_grad=True).clone()
    with mode():
        v = y.view(-1)
    y.add_(2)
    with pytest.raises(
        RuntimeError, match=f"created {words} and its base or another view of its base has been modified"
    ):
        v.grad_fn  # noqa: B018
    assert repr(v) == "tensor([3., 3.], grad_fn=<Invalid>)"
    assert v.detach().tolist() == [3.0, 3.0]


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    "look", [lambda x: x.view(-1), lambda x: x[0], lambda x: x.unbind(1)[0], lambda x: x.expand(3, 2)]
)
def test_a_view_outside_of_what_was_made_within(look, requires_grad):
    """It is as that: outside every history, also where the tensor itself is a leaf that requires grad."""

    def seen(library):
        with library.inference_mode():
            x = library.ones(1, 2, requires_grad=requires_grad)
        v = look(x)
        return v.is_inference(), v.requires_grad, v.is_leaf, v._is_view()

    assert seen(tape) == seen(torch) == (True, False, True, False)
