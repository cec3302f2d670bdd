"""Tensors that compiled functions return, and that look at others: elements, views without a history or of nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tape
from tape.base.tree import leaves_of

AROUND = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)


def _of_argument(x):
    with tape.no_grad():
        return x[1:], x.view(3, 1)


def _of_a_result(x):
    y = x * 2
    with tape.no_grad():
        return y, y[1:], y[0]


def _of_what_is_around(x):
    with tape.no_grad():
        return AROUND[:2], AROUND * x


@pytest.mark.parametrize("f", [_of_argument, _of_a_result, _of_what_is_around])
def test_no_gradient_flows_to_views_that_were_made_without_recording(f):
    def outcome(g):
        x = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
        results = g(x)
        loss = (x * AROUND).sum() + sum((z * z).sum() for z in results)
        gradients = tape.autograd.grad(loss, (x, AROUND))
        with pytest.raises(RuntimeError) as error:
            results[-1 if f is _of_argument else 0 if f is _of_what_is_around else 1].mul_(2)
        flags = [(z.requires_grad, z.is_leaf, z._is_view()) for z in results]
        return [z.tolist() for z in (*results, *gradients)], flags, str(error.value)[:40]

    compiled = tape.compile(f)
    assert outcome(compiled) == outcome(compiled) == outcome(f)


ELEMENTS = {
    "an element and a part": lambda z: (z[1], z[1:]),
    "an element twice": lambda z: (z[1], z[1]),
    "other elements": lambda z: (z[1], z[2]),
    "an element with an axis": lambda z: (z[1][None], z[1:]),
    "all elements": lambda z: (*z, z[1:]),
    "an element repeated": lambda z: (z[1], z.expand(2, 3)),
    "an element of parts": lambda z: (z.unbind()[1], z[:2]),
}
OF_COMPLEX = {
    "a real part": lambda z: (z.real[1], z[1]),
    "other parts": lambda z: (z.imag[1:], z.real[1]),
    "numbers": lambda z: (tape.view_as_real(z)[1, 0], z[1]),
}


@pytest.mark.parametrize(
    ("f", "numbers"),
    [(f, [1.0, 3.0, 2.0]) for f in ELEMENTS.values()] + [(f, [1.0 + 1j, 3.0, 2.0]) for f in OF_COMPLEX.values()],
    ids=[*ELEMENTS, *OF_COMPLEX],
)
def test_elements_of_tensors_that_are_returned_share_memory(f, numbers):
    """With each other, where what they are elements of is not returned."""

    def seen(g, written):
        g(tape.tensor(numbers))
        results = g(tape.tensor(numbers))
        results[written].add_(10)
        return [z.tolist() for z in results]

    whole = lambda x: f(x * 2)  # noqa: E731
    compiled = tape.compile(whole)
    for written in range(2):
        try:
            expected = seen(whole, written)
        except RuntimeError:  # an expanded tensor
            continue
        assert seen(compiled, written) == expected


LOOKS = {
    "a part": lambda b: b[:2],
    "nothing": lambda b: b[:0],
    "nothing in another shape": lambda b: b[:0].reshape(0),
    "nothing with axes": lambda b: b[:0].view(0, 4),
    "in another shape": lambda b: b.reshape(-1),
    "an axis more": lambda b: b.unsqueeze(0),
    "one of several": lambda b: b.chunk(2)[0],
    "expanded": lambda b: b.expand(2, 3),
    "a part of a part": lambda b: b[:2].reshape(1, -1)[0],
    "a copy": lambda b: b[:0].clone(),
    "detached": lambda b: b[:2].detach(),
    "two of them": lambda b: (b[:2], b[:0]),
    "beside its base": lambda b: (b, b[:2]),
}


def in_terms_of(library, base, look, again):
    """A function that looks at its argument, or at what it computes of that, where no gradients are recorded."""

    def f(t):
        b = t if base == "argument" else t * 2
        with library.no_grad():
            v = LOOKS[look](b)
        return v.unsqueeze(0) if again and not isinstance(v, tuple) else v

    return f


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("base", ["argument", "computed"])
@pytest.mark.parametrize("tracked", [True, False])
def test_views_made_without_recording_require_grad_as_their_bases_do(tracked, base, look, again):
    torch = pytest.importorskip("torch")
    f = in_terms_of(tape, base, look, again)
    compiled = tape.compile(f)

    def told(library, f):
        t = library.tensor([1.0, 2.0, 3.0], requires_grad=tracked)
        return [(v.requires_grad, v._base is t, v.tolist()) for v in leaves_of(f(t))]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = told(tape, f)
        assert expected == told(torch, in_terms_of(torch, base, look, again))
        for _ in range(20):
            assert told(tape, compiled) == expected


@pytest.mark.parametrize("f", [lambda x: x[:0], lambda x: x[:0].reshape(0, 1), lambda x: x[:0].T, lambda x: x[:0] + 1])
def test_views_of_nothing_are_views(f):
    x, y = np.ones((2, 3)), np.ones((0, 3))
    compiled = tape.compile(f)
    for a in (x, y) * 2:
        assert (compiled(a).base is a) == (f(a).base is a)
