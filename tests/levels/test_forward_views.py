"""Forward mode and memory: duals written into views, and what of a dual is a view, or a copy, of what."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.autograd import forward_ad as fw
from tape.func import vmap

V = tape.tensor([1.0, 2.0])


def tangent(x):
    return fw.unpack_dual(x).tangent


def moving():
    return fw.make_dual(tape.tensor([3.0, 5.0]), V.clone())


@pytest.mark.parametrize(
    "write",
    [
        lambda x, d: x.add_(d),
        lambda x, d: x.mul_(d),
        lambda x, d: x.copy_(d),
        lambda x, d: x.__setitem__(slice(None), d),
    ],
)
def test_a_dual_that_is_written_into_a_view_moves_the_base_and_every_view(write):
    base = tape.ones(3, 2)
    row, column, first, flat = base[1], base.T[1], base[1, 0], base.view(6)
    with fw.dual_level():
        write(row, moving())
        assert tangent(base).tolist() == [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]
        assert tangent(row).tolist() == [1.0, 2.0]
        assert tangent(column).tolist() == [0.0, 2.0, 0.0]
        assert tangent(first).item() == 1.0
        assert tangent(flat).tolist() == [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]
        assert row._base is base
        assert row.tolist() == fw.unpack_dual(base).primal[1].tolist()
    assert tangent(base) is None
    assert type(base * 1.0) is tape.Tensor


def test_the_views_of_what_moves_stay_together():
    base = tape.ones(2, 2)
    view, corner = base.T, base[0, 1]
    with fw.dual_level():
        view.mul_(moving())
        view *= 2.0
        assert_allclose(tangent(base).tolist(), [[2.0, 2.0], [4.0, 4.0]])
        corner.copy_(fw.make_dual(tape.tensor(7.0), tape.tensor(9.0)))
        assert_allclose(tangent(view).tolist(), [[2.0, 4.0], [9.0, 4.0]])
        assert_allclose(view.tolist(), [[6.0, 10.0], [7.0, 10.0]])
        later = base[1]
        later.zero_()
        assert_allclose(tangent(view).tolist(), [[2.0, 0.0], [9.0, 0.0]])


def test_a_detached_tensor_on_the_same_memory_does_not_move():
    base = tape.ones(2)
    apart, array = base.detach(), base.numpy()
    with fw.dual_level():
        base[:1].add_(moving()[:1])
        assert tangent(apart) is None
        assert array.tolist() == [4.0, 1.0]
        apart += moving()
        assert tangent(apart).tolist() == [1.0, 2.0]
        assert tangent(base).tolist() == [1.0, 0.0]


def test_a_dual_does_not_move_as_its_primal_does():
    x = tape.ones(2)
    with fw.dual_level():
        dual = fw.make_dual(x, tape.tensor([10.0, 20.0]))
        x[0] = moving()[0]
        assert tangent(x).tolist() == [1.0, 0.0]
        assert tangent(dual * 2).tolist() == [20.0, 40.0]
        assert tangent(fw.unpack_dual(dual * 2).primal) is None
        dual *= 3.0
        assert tangent(dual).tolist() == [30.0, 60.0]
        assert tangent(x).tolist() == [1.0, 0.0]


def test_the_same_buffer_moves_at_one_level_after_the_other():
    base = tape.zeros(3)
    view = base[1:]
    for k in range(1, 200):
        with fw.dual_level():
            view.copy_(moving() * float(k))
            assert tangent(base).tolist() == [0.0, 1.0 * k, 2.0 * k]
    depth, x = 0, base
    while hasattr(x, "_tangent"):
        depth, x = depth + 1, x._primal
    assert depth == 1


def test_views_that_moved_once_move_again():
    base = tape.ones(3)
    with fw.dual_level():
        base[:2].add_(moving())
        view, copied = base[1:], fw.make_dual(base.detach(), V.new_zeros(3))
        part = copied[:2]
    with fw.dual_level():
        view.mul_(moving())
        for x, expected in ((base, [0.0, 6.0, 2.0]), (view, [6.0, 2.0]), (base[1], 6.0)):
            assert tangent(x).tolist() == expected
        view.mul_(2.0)
        assert tangent(base).tolist() == [0.0, 12.0, 4.0]
    with fw.dual_level():
        part.add_(moving())
        assert tangent(part).tolist() == [1.0, 2.0]
        assert tangent(copied).tolist() == [1.0, 2.0, 0.0]
    copied.mul_(0.0)
    assert base.tolist() == [0.0, 0.0, 0.0]


def test_history_and_tangents_go_through_the_same_views():
    x = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with fw.dual_level():
        y = x * x
        y[1:].mul_(moving())
        (gradient,) = tape.autograd.grad(y.sum(), x, retain_graph=True)
        assert gradient.detach().tolist() == [2.0, 12.0, 30.0]
        (moved,) = tape.autograd.grad(tangent(y).sum(), x)
        assert moved.tolist() == [0.0, 4.0, 12.0]


def test_a_buffer_with_views_takes_tangents_that_differ_from_lane_to_lane():
    base = tape.zeros(2, 2)
    view = base.T

    def push(v):
        with fw.dual_level():
            view.copy_(fw.make_dual(tape.ones(2, 2), v))
            return tangent(view), tangent(base)

    vs = tape.arange(8.0).reshape(2, 2, 2)
    seen, of_base = vmap(push)(vs)
    assert seen.tolist() == vs.tolist()
    assert of_base.tolist() == vs.transpose(1, 2).tolist()


def test_a_view_keeps_the_base_that_moves_with_it():
    view = tape.zeros(2, 2).T

    def push(v):
        with fw.dual_level():
            view.copy_(fw.make_dual(tape.ones(2, 2), v))
            later = view[0]
            return tangent(view._base), tangent(later)

    vs = tape.arange(8.0).reshape(2, 2, 2)
    of_base, of_row = vmap(push)(vs)
    assert of_base.tolist() == vs.transpose(1, 2).tolist()
    assert of_row.tolist() == vs[:, 0].tolist()
    with fw.dual_level():
        view[0].add_(moving())
        assert tangent(view._base).tolist() == [[1.0, 0.0], [2.0, 0.0]]
        own = view[0] * 1.0
        assert own._base is None
        assert tangent(own[:1]._base).tolist() == [1.0, 2.0]


def test_views_of_another_direction_are_not_lost():
    base = tape.zeros(2)

    def outer(x):
        y = x * 1.0
        view = y[:1]

        def inner(t):
            view.add_(t)
            return view * 1.0

        return tape.func.jvp(inner, (x[:1],), (x[:1],))[1]

    with pytest.raises(RuntimeError, match="would miss the tangent: it moves in another direction"):
        tape.func.jvp(outer, (base,), (base + 1.0,))


def test_a_view_that_a_function_has_made_is_refused():
    class Head(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1]

        @staticmethod
        def backward(ctx, g):
            return tape.cat([g, g * 0])

    x = tape.ones(2, requires_grad=True) * 1.0
    head = Head.apply(x)
    with fw.dual_level(), tape.no_grad(), pytest.raises(RuntimeError, match="only the function knows"):
        x.add_(moving())
    assert head.tolist() == [1.0]


def test_an_unpacked_primal_is_a_view_of_its_own():
    x = tape.ones(2)
    with fw.dual_level():
        dual = fw.make_dual(x, V)
        primal = fw.unpack_dual(dual).primal
        primal.requires_grad_()
        assert not x.requires_grad
        primal = fw.unpack_dual(dual).primal
        primal.mul_(2.0)
        assert x.tolist() == [2.0, 2.0]
        assert tangent(dual) is V


@pytest.mark.parametrize("of", [lambda v: v.T, lambda v: v[0].expand(2, 2), lambda v: v.contiguous()])
def test_a_tangent_is_shared_where_it_is_laid_out_as_its_tensor_is(of):
    v = of(tape.ones(2, 2))
    with fw.dual_level():
        dual = fw.make_dual(tape.ones(2, 2), v)
        dual *= 2.0
        assert tangent(dual).tolist() == [[2.0, 2.0]] * 2
        assert (tangent(dual) is v) == (v.stride() == (2, 1))
        assert v.tolist() == ([[2.0, 2.0]] * 2 if v.stride() == (2, 1) else [[1.0, 1.0]] * 2)


def test_out_is_refused_where_a_tangent_would_be_lost():
    x = tape.ones(2)
    with fw.dual_level():
        dual = fw.make_dual(x.clone(), V)
        array = np.zeros(2)
        for call in (
            lambda: tape.add(dual, x, out=x),
            lambda: tape.exp(x, out=dual),
            lambda: tape.dot(x, dual, out=x),
            lambda: np.add(dual, 1.0, out=array),
        ):
            with pytest.raises(NotImplementedError, match=r"because it is an out= function"):
                call()
    assert tape.add(dual, x, out=dual).tolist() == [2.0, 2.0]


def test_nothing_holds_the_tensors_that_moved():
    base = tape.zeros(2)
    view = base[:1]
    with fw.dual_level():
        view.add_(moving()[:1])
    gone = [weakref.ref(base), weakref.ref(view)]
    del base, view
    gc.collect()
    assert [r() for r in gone] == [None, None]


def test_changes_through_many_views_one_after_the_other():
    base = tape.ones(4)
    views = [base[1:3], base.view(2, 2)[1], base[3], base]
    with fw.dual_level():
        d = fw.make_dual(tape.tensor([2.0, 3.0]), tape.tensor([1.0, -1.0]))
        views[0].mul_(d)  # [1, 2, 3, 1], moving [0, 1, -1, 0]
        views[1].add_(d * d)  # [1, 2, 7, 10], moving [0, 1, 3, -6]
        views[2].mul_(2.0)
        views[3][0] = d[1]
        views[0].sub_(1.0)
        assert base.tolist() == [3.0, 1.0, 6.0, 20.0]
        for x, expected in zip(views, ([1.0, 3.0], [3.0, -12.0], -12.0, [-1.0, 1.0, 3.0, -12.0]), strict=True):
            assert tangent(x).tolist() == expected
        assert tangent(views[1]._base).tolist() == [-1.0, 1.0, 3.0, -12.0]
