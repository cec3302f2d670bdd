"""Custom functions: what PyTorch's users know of them, their mistakes, and what they leave behind."""

from __future__ import annotations

import gc
import threading
import traceback

import numpy as np
import pytest
from custom_functions import (
    FUNCTIONS,
    OURS,
    declare,
    every_example,
    examples,
    inputs_of,
    leaf,
)
from numpy.testing import assert_allclose

import tape
from ops import REGISTRY
from tape.autograd import backward, grad, gradcheck, gradgradcheck
from tape.autograd.function import FunctionCtx, once_differentiable
from tape.wengert import ROWS_BETWEEN_SCANS, current


@every_example
def test_examples_pass_gradcheck(name):
    function = FUNCTIONS[name][0](OURS)
    inputs = tuple(map(leaf, inputs_of(name)))
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


@every_example
@pytest.mark.parametrize("create_graph", [False, True])
def test_examples_agree_with_torch(name, create_graph):
    torch = pytest.importorskip("torch")
    theirs = examples(torch, torch.autograd.Function)
    values = inputs_of(name)

    def run(package, space, grad, make):
        xs = [make(v) for v in values]
        y = FUNCTIONS[name][0](space)(*xs)
        first = grad((y * y).sum(), xs, create_graph=create_graph)
        if not create_graph:
            return [y, *first]
        return [y, *first, *grad(sum((g * g).sum() for g in first), xs)]

    ours = run(tape, OURS, grad, leaf)
    expected = run(torch, theirs, torch.autograd.grad, lambda v: torch.tensor(v, requires_grad=True))
    for mine, other in zip(ours, expected, strict=True):
        assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_names_and_nodes():
    x = leaf([1.0, 2.0])
    y = OURS["Exp"].apply(x * 1.0)
    assert y.grad_fn.name() == "ExpBackward"
    assert repr(y) == "tensor([2.7183, 7.3891], grad_fn=<ExpBackward>)"
    ((node, number),) = y.grad_fn.next_functions
    assert (node.name(), number) == ("MulBackward0", 0)
    assert_allclose(y.grad_fn.saved_tensors[0].detach().numpy(), np.exp([1.0, 2.0]))
    assert y.grad_fn.needs_input_grad == (True,)
    with pytest.raises(AttributeError, match="nothing"):
        y.grad_fn.nothing  # noqa: B018
    out, dx = OURS["MyCube"].apply(x)
    assert (out.output_nr, dx.output_nr) == (0, 1)
    assert out.grad_fn is dx.grad_fn


def test_ctx_is_an_instance_of_what_the_class_names():
    seen = []
    function = declare("Square", forward=lambda ctx, x: seen.append(ctx) or x * x, backward=lambda ctx, g: g)
    function.apply(leaf(1.0))
    (ctx,) = seen
    assert isinstance(ctx, FunctionCtx)
    assert type(ctx).__name__ == "SquareBackward"


def test_nothing_is_recorded_without_a_reason():
    rows = len(current())
    exp = OURS["Exp"]
    assert not exp.apply(tape.ones(2)).requires_grad
    with tape.no_grad():
        assert exp.apply(leaf([1.0])).grad_fn is None
    assert len(current()) == rows


def test_forward_does_not_record_and_restores_the_mode():
    modes = []
    noting = declare(forward=lambda ctx, x: modes.append(tape.is_grad_enabled()) or x * 1.0, backward=lambda ctx, g: g)
    noting.apply(leaf(1.0))
    assert modes == [False]
    assert tape.is_grad_enabled()
    with tape.no_grad():
        noting.apply(leaf(1.0))
        assert not tape.is_grad_enabled()


def test_recording_in_backward_follows_create_graph():
    modes = []
    function = declare(backward=lambda ctx, g: modes.append(tape.is_grad_enabled()) or g * 2.0)
    x = leaf(1.0)
    grad(function.apply(x), x)
    grad(function.apply(x), x, create_graph=True)
    assert modes == [False, True]


def test_a_mode_switched_in_backward_is_switched_back():
    modes = []

    def switching(ctx, g):
        tape.set_grad_enabled(not tape.is_grad_enabled())
        return g * 2.0

    x = leaf(1.0)
    function = declare(backward=switching)
    y = function.apply(x * 1.0) * 1.0
    z = declare(backward=lambda ctx, g: modes.append(tape.is_grad_enabled()) or g * 2.0).apply(x) * y
    z.backward()
    assert modes == [False]
    assert tape.is_grad_enabled()


def test_needs_input_grad_in_forward_and_backward():
    seen = []

    def forward(ctx, *xs):
        seen.append(ctx.needs_input_grad)
        return xs[0] + xs[2] + xs[3]

    def rule(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, g, g

    a, b, c = leaf(1.0), leaf(2.0), tape.tensor(3.0)
    function = declare(forward=forward, backward=rule)
    grad(function.apply(a, "other", b, c), a)
    assert seen == [(True, False, True, False), (True, False, False, False)]


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_unused_outputs(create_graph):
    seen = []

    def function(materialize):
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2.0, x.sum(), (x > 0)

        def rule(ctx, g, h, flag):
            seen.append((g, h, flag))
            return g * 2.0

        return declare(forward=forward, backward=rule)

    x = leaf([1.0, 2.0])
    for materialize in (True, False):
        grad(function(materialize).apply(x)[0].sum(), x, create_graph=create_graph)
    (_, zeros, flag), (_, none, no_flag) = seen
    assert zeros.shape == ()
    assert zeros.item() == 0.0
    assert flag is no_flag is none is None


def test_gradients_are_copies():
    """What backward does to its argument, or keeps of it, touches nobody else."""
    kept = []

    def spoil(ctx, g):
        kept.append(g)
        g.mul_(100.0)
        return g / 50.0

    function = declare(backward=spoil)
    x = leaf([1.0, 2.0])
    seed = tape.ones(2)
    y = function.apply(x)
    (y + 1.0 * y + x).backward(seed)
    assert seed.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [5.0, 5.0]
    kept[0].zero_()
    assert x.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_returned_tensor_of_the_users_own_stays_as_it_is(create_graph):
    weight = tape.tensor([3.0, 4.0])
    function = declare(forward=lambda ctx, x: (x * weight).sum(), backward=lambda ctx, g: weight)
    x = leaf([1.0, 2.0])
    (function.apply(x) + (x * x).sum() + function.apply(x)).backward(create_graph=create_graph)
    x.grad.detach().zero_()
    assert weight.tolist() == [3.0, 4.0]


def test_shapes_that_expand_and_dtypes_are_fitted():
    def rule(ctx, g):
        return g, g.sum(0), g.float()

    function = declare(forward=lambda ctx, x, y, z: x + y + z, backward=rule)
    x, y, z = leaf(np.ones((1, 3))), leaf(np.ones(3)), leaf(np.ones((2, 3)), np.float32)
    function.apply(x, y, z).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3]
    assert y.grad.tolist() == [2.0] * 3
    assert z.grad.dtype == np.float32
    (g,) = grad(function.apply(x, y, z).pow(2).sum(), x, create_graph=True)
    assert g.shape == (1, 3)
    assert g.requires_grad
    wide = declare(backward=lambda ctx, g: g.double())
    w = leaf(np.ones(2), np.float32)
    (g,) = grad(wide.apply(w).sum(), w, create_graph=True)
    assert g.dtype == np.float32


def test_extra_gradients_of_none_are_dropped():
    function = declare(backward=lambda ctx, g: (g * 2.0, None, None))
    x = leaf(1.0)
    function.apply(x).backward()
    assert x.grad.item() == 2.0


def test_vjp_is_another_name_of_backward():
    function = declare(vjp=lambda ctx, g: g * 7.0)
    x = leaf(1.0)
    assert grad(function.apply(x), x)[0].item() == 7.0


def test_the_same_input_twice_and_the_same_output_twice():
    function = declare(
        forward=lambda ctx, x, y: (z := x * y, z),
        backward=lambda ctx, g, h: (g * 3.0, h * 5.0),
    )
    x = leaf(2.0)
    a, b = function.apply(x, x)
    assert a is not b
    grads = grad([a, b], x, [tape.tensor(1.0), tape.tensor(10.0)])
    assert grads[0].item() == 53.0


def test_an_input_returned_as_it_is_becomes_another_tensor():
    function = declare(forward=lambda ctx, x: x, backward=lambda ctx, g: g * 3.0)
    x = leaf([1.0, 2.0])
    y = function.apply(x)
    assert y is not x
    assert x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_mark_non_differentiable():
    def forward(ctx, x):
        a, b = x * 2.0, x * 3.0
        ctx.mark_non_differentiable(b)
        return a, b

    shapes = []
    function = declare(forward=forward, backward=lambda ctx, g, h: shapes.append(h.tolist()) or g * 2.0)
    x = leaf([1.0, 2.0])
    a, b = function.apply(x)
    assert a.requires_grad
    assert not b.requires_grad
    a.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert shapes == [[0.0, 0.0]]


def add_in_place(ctx, a, b):
    a.add_(b)
    ctx.mark_dirty(a)
    return a


def test_mark_dirty_of_a_tensor_without_history():
    function = declare(forward=add_in_place, backward=lambda ctx, g: (g, g * 2.0))
    a, b = tape.zeros(2), leaf([1.0, 2.0])
    out = function.apply(a, b)
    assert out is a
    assert a.requires_grad
    assert a._version == 1
    assert a.grad_fn.name() == "FBackward"
    (a * a).sum().backward()
    assert b.grad.tolist() == [4.0, 8.0]


def test_saved_tensors_keep_their_identity_and_history():
    found = []

    def forward(ctx, x, w, y):
        ctx.save_for_backward(x, None, w)
        ctx.middle, ctx.result = x, (z := x * w)
        return z

    def rule(ctx, g):
        x, none, w = ctx.saved_tensors
        found.append((x, none, w, ctx.middle, ctx.result))
        return g * w, g * x, None

    function = declare(forward=forward, backward=rule)
    x, w = leaf(2.0), leaf(3.0)
    middle = x * 1.0
    z = function.apply(middle, w, 1)
    grad(z, x, create_graph=True)
    saved, none, weight, attribute, result = found[0]
    assert none is None
    assert weight is w
    assert saved.grad_fn is attribute.grad_fn is middle.grad_fn
    assert result.grad_fn is z.grad_fn
    assert result.item() == 6.0


def test_second_backward_through_saved_tensors():
    x = leaf([1.0, 2.0])
    y = OURS["Exp"].apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert_allclose(x.grad.numpy(), 2 * np.exp([1.0, 2.0]))
    with pytest.raises(RuntimeError, match=r"(?s)backward through Exp a second time.*retain_graph=True"):
        y.backward()


def test_second_backward_where_nothing_was_saved():
    x = leaf([1.0, 2.0])
    y = declare(backward=lambda ctx, g: g * 2.0).apply(x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_nested_backward():
    """A gradient computed inside a backward by a backward of its own, as checkpointing does it."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x * x).detach()

    def rule(ctx, g):
        (x,) = ctx.saved_tensors
        with tape.enable_grad():
            y = x.detach().requires_grad_()
            z = y * y * y
        backward(z, g)
        return y.grad

    def depth(ctx, g):
        x = leaf(2.0)
        with tape.enable_grad():
            inner.apply(x).backward()
        return g * x.grad

    inner = declare(forward=forward, backward=rule)
    x = leaf([1.0, 2.0])
    (inner.apply(x * 2.0) + x).sum().backward()
    assert x.grad.tolist() == [25.0, 97.0]
    outer = declare(backward=depth)
    y = leaf(1.0)
    outer.apply(outer.apply(y)).backward()
    assert y.grad.item() == 144.0


def test_a_function_within_a_function():
    exp = OURS["Exp"]

    def rule(ctx, g):
        return exp.apply(g) * g

    function = declare(backward=rule)
    x, seed = leaf([0.5, 0.25]), leaf([1.0, 2.0])
    (g,) = grad(function.apply(x), x, seed, create_graph=True)
    assert_allclose(g.detach().numpy(), np.exp([1.0, 2.0]) * [1.0, 2.0])
    (h,) = grad(g.sum(), seed)
    assert_allclose(h.numpy(), np.exp([1.0, 2.0]) * [2.0, 3.0])


def test_hooks_see_the_gradients_of_a_function():
    x = leaf([1.0, 2.0])
    y = OURS["Exp"].apply(x * 1.0)
    y.retain_grad()
    y.register_hook(lambda g: g * 10.0)
    y.sum().backward()
    assert y.grad.tolist() == [10.0, 10.0]
    assert_allclose(x.grad.numpy(), 10 * np.exp([1.0, 2.0]))


def test_arguments_by_name_and_defaults_where_forward_takes_no_ctx():
    def forward(x, scale=2.0):
        return x * scale

    def keep(ctx, inputs, output):
        assert len(inputs) == 2
        ctx.scale = inputs[1]

    function = declare(forward=forward, setup_context=keep, backward=lambda ctx, g: (g * ctx.scale, None))
    x = leaf(1.0)
    assert grad(function.apply(x), x)[0].item() == 2.0
    assert grad(function.apply(x, scale=5.0), x)[0].item() == 5.0


# Forward mode


def jvp(function, xs, tangents, *rest):
    """The rule of forward mode, as an op's jvp is called."""
    z = []

    class Moving(tape.Tensor):
        __slots__ = ()

        @staticmethod
        def __bind__(op, operands, params):
            plain = [wrap_plain(x) for x in operands]
            z.extend(op(*plain, **params))
            return op.jvp(plain, [tape.tensor(t) if t is not None else None for t in tangents], tuple(z), params)

    def wrap_plain(x):
        made = tape.tensor(0.0)
        made._data, made._spec = x._data, x._spec
        return made

    moving = []
    for x in xs:
        t = tape.tensor(x)
        t.__class__ = Moving
        moving.append(t)
    return function.apply(*moving, *rest)


def product(ctx, x, y, scale):
    ctx.save_for_backward(x)
    ctx.save_for_forward(x, y)
    ctx.scale = scale
    return x * y * scale


def product_jvp(ctx, x_t, y_t, scale_t):
    assert scale_t is None
    x, y = ctx.saved_tensors
    return (x_t * y + x * y_t) * ctx.scale


def test_jvp_uses_what_was_saved_for_forward():
    function = declare(forward=product, jvp=product_jvp)
    assert jvp(function, [2.0, 3.0], [1.0, 10.0], 4.0).item() == 4.0 * 23.0
    assert jvp(function, [2.0, 3.0], [1.0, None], 4.0).item() == 4.0 * 3.0


JVP_MISTAKES = {
    "no jvp": (None, NotImplementedError, "defines no jvp"),
    "number": (lambda ctx, *ts: (ts[0], ts[0]), RuntimeError, "one tangent for each of the 1 outputs.*returned 2"),
    "shape": (lambda ctx, *ts: tape.ones(3), RuntimeError, r"shape \(\), its tangent \(3,\)"),
    "type": (lambda ctx, *ts: 1.0, TypeError, "tensors or None; tangent 0 is a float"),
}


@pytest.mark.parametrize("name", JVP_MISTAKES)
def test_mistakes_of_jvp(name):
    rule, kind, message = JVP_MISTAKES[name]
    with pytest.raises(kind, match=message):
        jvp(declare(forward=product, jvp=rule), [2.0, 3.0], [1.0, 1.0], 4.0)


def test_a_saved_tensor_changed_in_place():
    x = leaf([1.0, 2.0])
    y = OURS["Exp"].apply(x)
    y.detach().mul_(2.0)
    with pytest.raises(RuntimeError, match=r"(?s)changed in place"):
        y.sum().backward()
    w, s = leaf(2.0), leaf(3.0)
    function = declare(
        forward=lambda ctx, x, y: ctx.save_for_backward(x, y) or x * y,
        backward=lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
    )
    z = function.apply(w, s)
    with tape.no_grad():
        w.mul_(10.0)
    with pytest.raises(RuntimeError, match=r"shape \(\) that F saved was changed in place"):
        z.backward()


def test_ctx_outlives_its_record():
    kept = []
    function = declare(forward=lambda ctx, x: kept.append(ctx) or ctx.save_for_backward(x) or x * 1.0, backward=None)
    function.apply(leaf(1.0))
    current().scan()
    with pytest.raises(RuntimeError, match="after the record that it belongs to was gone"):
        kept[0].saved_tensors  # noqa: B018


@pytest.mark.parametrize("by", [None, 3.0], ids=["plain seed", "seed with history"])
def test_once_differentiable(by):
    modes = []

    @once_differentiable
    def rule(ctx, g):
        modes.append(tape.is_grad_enabled())
        (x,) = ctx.saved_tensors
        return g * 2.0 * x

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    function = declare("Square", forward=forward, backward=rule)
    x = leaf(3.0)
    function.apply(x).backward()
    assert x.grad.item() == 6.0
    seed = None if by is None else leaf(by)
    (g,) = grad(function.apply(x), x, seed, create_graph=True)
    assert g.item() == 6.0 * (by or 1.0)
    assert g.grad_fn.name() == "Error"
    assert modes == [False, False]
    for target in [x] if seed is None else [x, seed]:
        with pytest.raises(RuntimeError, match="marked once_differentiable: Square"):
            grad(g, target, retain_graph=True)


def fails(ctx, *args):
    raise ZeroDivisionError("in the user's code")


@pytest.mark.parametrize("create_graph", [False, True])
def test_exceptions_keep_their_traceback_and_leave_the_list_usable(create_graph):
    x = leaf([1.0, 2.0])
    y = declare(backward=fails).apply(x * 1.0)
    busy = current().busy
    with pytest.raises(ZeroDivisionError) as caught:
        y.sum().backward(create_graph=create_graph)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fails"
    assert (current().busy, current().where, tape.is_grad_enabled()) == (busy, None, True)
    with pytest.raises(ZeroDivisionError):
        declare(forward=fails).apply(x)
    assert (current().where, tape.is_grad_enabled()) == (None, True)
    OURS["Exp"].apply(x).sum().backward()
    assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]))


def test_the_line_of_a_record_is_the_users():
    x = leaf(1.0)
    node = OURS["MulConstant"].apply(x, 2.0).grad_fn
    assert node.location.function == "test_the_line_of_a_record_is_the_users"


def test_threads():
    """Many threads go through one function, with a graph of their own and with one that another has made."""
    x = leaf(np.linspace(0.1, 1.0, 5))
    shared = OURS["Exp"].apply(x * 1.0)
    shared_cube = cube = OURS["cube"](shared).sum()
    failures = []

    def work():
        try:
            mine = leaf(np.linspace(0.1, 1.0, 5))
            for _ in range(20):
                y = (OURS["Exp"].apply(mine) * OURS["Exp"].apply(x.detach())).sum()
                y.backward()
            assert_allclose(mine.grad.numpy(), 20 * np.exp(2 * x.detach().numpy()))
            (g,) = grad(cube, x, retain_graph=True)
            assert_allclose(g.numpy(), 3 * np.exp(3 * x.detach().numpy()))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    shared_cube.backward()


# Memory


def in_containers():
    """A function that keeps its inputs where nobody can see them."""

    def forward(ctx, x):
        ctx.inputs = [x]
        return x * 2.0

    return declare(forward=forward, backward=lambda ctx, g: g * 2.0)


def as_attributes():
    def forward(ctx, x):
        ctx.x, ctx.y = x, (y := x * 2.0)
        return y

    return declare(forward=forward, backward=lambda ctx, g: g * ctx.y / ctx.x)


KEEPING = {
    "saved": lambda: OURS["Exp"], "containers": in_containers, "attributes": as_attributes,
    "exceptions": lambda: declare(backward=fails),
}  # fmt: skip


@pytest.mark.parametrize("keeping", KEEPING)
@pytest.mark.parametrize("how", ["forward", "backward", "create_graph"])
def test_constant_memory(keeping, how):
    """10⁴ steps, each a chain of functions that hold on to each other, leave nothing behind."""
    function = KEEPING[keeping]()
    x = leaf(0.1)

    def loop(steps):
        for _ in range(steps):
            y = x
            for _ in range(4):
                y = function.apply(y * 0.5)
            try:
                if how == "backward":
                    y.backward()
                elif how == "create_graph":
                    (g,) = grad(y, x, create_graph=True)
                    g.backward()
            except (ZeroDivisionError, RuntimeError):
                assert keeping != "saved"

    gc.collect()
    current().scan()
    kept = len(current())
    loop(10_000 if how == "forward" else 3_000 if how == "backward" else 500)
    assert len(current()) - kept <= 2 * ROWS_BETWEEN_SCANS
    gc.collect()
    current().scan()
    assert len(current()) <= kept


def test_a_complex_gradient_of_a_real_input_counts_by_its_real_part():
    x = leaf([1.0, 2.0])
    function = declare(backward=lambda ctx, g: g * (2.0 + 1j))
    assert grad(function.apply(x).sum(), x)[0].tolist() == [2.0, 2.0]


def test_gradcheck_names_the_function_at_fault():
    wrong = declare(
        "Wrong",
        forward=lambda ctx, x: ctx.save_for_backward(x) or x * x,
        backward=lambda ctx, g: g * ctx.saved_tensors[0],
    )
    with pytest.raises(gradcheck.GradcheckError, match=r"the rule of Wrong with respect to xs\[0\]") as caught:
        gradcheck(lambda x: tape.sin(wrong.apply(x)), (leaf([1.0, 2.0]),))
    assert "rule of sin" not in str(caught.value)


def square_in_forward_mode():
    return declare(
        forward=lambda ctx, x: ctx.save_for_backward(x) or ctx.save_for_forward(x) or x * x * x,
        backward=lambda ctx, g: g * ctx.saved_tensors[0] ** 2 * 3.0,
        jvp=lambda ctx, t: t * ctx.saved_tensors[0] ** 2 * 3.0,
    )


def test_forward_and_reverse_mode_nest_in_every_order():
    cube = square_in_forward_mode().apply
    x, ones = tape.tensor([1.0, 2.0]), tape.ones(2)

    def pushed(f):
        return lambda x: tape.func.jvp(f, (x,), (ones,))[1]

    def pulled(f):
        return tape.func.grad(lambda x: f(x).sum())

    for outer in (pushed, pulled):
        for inner in (pushed, pulled):
            assert outer(inner(cube))(x).tolist() == [6.0, 12.0]
            assert outer(outer(inner(cube)))(x).tolist() == [6.0, 6.0]


def test_the_joint_rule_runs_once_for_all_operands():
    calls = []
    function = declare(
        forward=lambda ctx, x, y: x * y, backward=lambda ctx, g: calls.append(ctx.needs_input_grad) or (g, g)
    )
    x, y = leaf(1.0), leaf(2.0)
    grad(function.apply(x, y), [x, y])
    assert calls == [(True, True)]
    assert REGISTRY["custom"].joint is not None
