"""Saved values and in-place changes: what hooks on saved tensors get, and `allow_mutation_on_saved_tensors`."""

from __future__ import annotations

import gc
from contextlib import nullcontext

import numpy as np
import pytest

import tape
from tape.autograd.graph import allow_mutation_on_saved_tensors, saved_tensors_hooks
from tape.history import changes
from tape.recording import version

pytestmark = pytest.mark.usefixtures("either")


def leaf(*values):
    return tape.tensor(values, requires_grad=True)


KEPT = {"itself": lambda x: x, "its memory": lambda x: x.detach(), "a copy": lambda x: x.clone()}
CHANGES = {
    "one operand": lambda y: y.sin_(),
    "the result": lambda y: y.exp_(),
    "twice the same": lambda y: y.mul_(y),
    "a view": lambda y: y[:1].sin_(),
    "a view of the base": lambda y: y.view(-1)[1:].mul_(y[:1]),
    "one of many": lambda y: y.mul_(y.sum()),
}


def changed_within(context, change):
    x = leaf(0.5, 2.0)
    with context:
        y = x.clone()
        change(y)
    y.sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("pack", KEPT.values(), ids=list(KEPT))
@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_what_a_change_itself_saves_is_as_it_was(pack, change):
    """Also where a hook keeps the very memory that is overwritten next."""
    assert changed_within(saved_tensors_hooks(pack, lambda x: x), change) == changed_within(nullcontext(), change)


def test_changes_of_saved_tensors_allowed():
    x, c = leaf(1.0, 2.0), tape.tensor([3.0, 4.0])
    with allow_mutation_on_saved_tensors():
        y = (x * c).sum() + (x * c[1:]).sum()
        c.mul_(100)
        c[0] = 7.0
        z = (x * c).sum()
        y.backward()
        assert x.grad.tolist() == [7.0, 8.0]
        with tape.no_grad():
            x.zero_()
        w = (x * x).sum()
        with tape.no_grad():
            x.add_(5)
        x.grad = None
        w.backward()
        assert x.grad.tolist() == [0.0, 0.0]
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        z.backward()
    with (
        allow_mutation_on_saved_tensors(),
        pytest.raises(RuntimeError, match="nested"),
        allow_mutation_on_saved_tensors(),
    ):
        pass
    with allow_mutation_on_saved_tensors():
        (x * c).sum().backward()


def test_only_what_is_changed_is_copied():
    x, c, d = leaf(1.0, 2.0), tape.tensor([3.0, 4.0]), tape.tensor([5.0, 6.0])
    with allow_mutation_on_saved_tensors():
        y, z = x * c, x * d
        c.add_(1)
        saved = [t.grad_fn._saved_other._data for t in (y, z)]
    assert not np.shares_memory(saved[0], c._data)
    assert np.shares_memory(saved[1], d._data)
    assert saved[0].tolist() == [3.0, 4.0]


def test_one_copy_for_all_who_have_saved_a_value():
    x = leaf(1.0, 2.0)
    with allow_mutation_on_saved_tensors() as guards:
        y = x.clone()
        a, b = y**2, y**3
        assert len(guards.tid_to_weakhandle) == 1
        assert not guards.cloned
        y.add_(1)
        assert [t.tolist() for t in guards.cloned.values()] == [[1.0, 2.0]]
        c = y**2
        y.add_(1)
        assert sorted(t.tolist() for t in guards.cloned.values()) == [[1.0, 2.0], [2.0, 3.0]]
        (a + b).sum().backward(retain_graph=True)
        del a, b
        assert [t.tolist() for t in guards.cloned.values()] == [[2.0, 3.0]]
        c.sum().backward()
        assert not guards.cloned
        y.add_(1)
        assert not guards.tid_to_weakhandle
        d = y**2
        y.add_(1)
        assert len(guards.cloned) == 1
    assert not guards.cloned
    assert x.grad.tolist() == [2.0 + 3.0 + 4.0, 4.0 + 12.0 + 6.0]
    assert d.tolist() == [16.0, 25.0]


def test_what_an_in_place_operation_keeps_is_no_copy_of_theirs():
    with allow_mutation_on_saved_tensors() as guards:
        x = leaf(1.0, 2.0)
        y = x.clone()
        y.sin_()
        assert not guards.cloned
        y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([1.0, 2.0]))


class Collecting(dict):
    """Collects garbage when somebody looks through it while there are many changes."""

    def items(self):
        if len(version.CHANGES) > 100:
            gc.collect()
        return super().items()


@pytest.mark.parametrize("by_itself", [False, True])
def test_garbage_is_collected_while_changes_are_looked_through(monkeypatch, by_itself):
    """With it go notes of changes: "dictionary changed size during iteration"."""
    version.CHANGES.clear()
    monkeypatch.setattr(version, "last_records", Collecting)
    thresholds = gc.get_threshold()
    gc.disable()
    try:
        circles = []
        for _ in range(500):
            x = tape.ones(3)
            circles.append([x, x.numpy()])
            circles[-1].append(circles[-1])
            x.add_(1.0)
        assert len(version.CHANGES) == 500
        del circles, x
        if by_itself:  # as it was in Python 3.11, where making tuples collects garbage
            gc.set_threshold(gc.get_count()[0] + 200)
            gc.enable()
            version.forget_released()
        else:
            assert not changes._suspects(None)
        gc.collect()
        assert not version.CHANGES
    finally:
        gc.set_threshold(*thresholds)
        gc.enable()


def looks(monkeypatch, before):
    """How many saved values a gradient looks at that is taken after so many records and a change."""
    x, c = leaf(1.0, 2.0), tape.tensor([3.0, 4.0])
    y = x * c
    for _ in range(before):
        y = y.sin()
    saved = y.detach()
    z = y * saved
    saved.mul_(2.0)
    assert version.CHANGES
    t = x * 1.0
    looked = []
    with monkeypatch.context() as patched:
        patched.setattr(changes, "_is_changed", lambda value: looked.append(value) or False)
        tape.autograd.grad((t * t).sum(), t)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    return len(looked)


def test_what_was_recorded_before_the_inputs_is_not_looked_at(monkeypatch):
    """Or many derivatives within another one, each of a few records, would look at all that there is."""
    assert looks(monkeypatch, 200) == looks(monkeypatch, 2) <= 4


def test_what_leads_to_the_earliest_input_is_looked_at():
    """Whichever of several inputs that is, by its record or by when a leaf was made."""
    x, c = leaf(1.0, 2.0), tape.tensor([3.0, 4.0])
    y = x * 1.0
    z = y * c
    c.mul_(2.0)
    late, new = z * 1.0, leaf(5.0, 6.0)
    for inputs in [y, late], [late, y], [x, new], [new, x]:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            tape.autograd.grad((late * new).sum(), inputs, allow_unused=True, retain_graph=True)
    assert tape.autograd.grad((late * new).sum(), [late, new])[0].tolist() == [5.0, 6.0]
