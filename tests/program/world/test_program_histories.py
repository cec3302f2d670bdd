"""Compiled functions of tensors: who requires grad, where gradients are recorded, and who shares memory, as plainly."""

import warnings
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

import tape
from tape.autograd import grad


def of_a_leaf(x):
    y = x.detach().requires_grad_()
    return grad((y * y).sum(), y)[0]


def made_by_itself(x):
    with tape.enable_grad():
        y = x.detach().requires_grad_()
        return grad((y * y).sum(), y, create_graph=True)[0]


def switched_on(x):
    with tape.enable_grad():
        return x * x


def switched_for_good(x):
    before = tape.set_grad_enabled(True)
    y = x * x
    before.__exit__()
    return y


def switched_off(x):
    with tape.no_grad():
        y = x * x
    return y, y * x


def of_lanes(x):
    return tape.vmap(lambda v: grad(x * x, x, v)[0])(tape.eye(2))


def of_a_part(x):
    y = x * 2
    return grad((y * y).sum(), y)[0]


def of_what_is_around(product, around, x):
    return product(lambda z: (z**3).sum(), around, x if product.__name__ != "vjp" else x[0], create_graph=True)


def left_inference(x):
    with tape.inference_mode(), tape.inference_mode(False):
        return x * 2


def made_in_inference(x):
    with tape.inference_mode():
        y = tape.zeros(2)
    return y, x + 1


CONSTANT, LEAF = tape.tensor([1.0, 2.0]), tape.tensor([1.0, 2.0], requires_grad=True)
FUNCTIONS = {
    "gradient": lambda x: grad((x * x).sum(), x)[0],
    "gradient, recorded": lambda x: grad((x * x).sum(), x, create_graph=True)[0],
    "gradient of a part": of_a_part,
    "gradients of batches": lambda x: grad(x * x, x, tape.eye(2), is_grads_batched=True)[0],
    "gradients in lanes": of_lanes,
    "a leaf": of_a_leaf,
    "told to require grad": lambda x: x.detach().requires_grad_() * 2,
    "made by itself": made_by_itself,
    "switched on": switched_on,
    "switched for good": switched_for_good,
    "switched off": switched_off,
    "jacobian, recorded": lambda x: tape.autograd.functional.jacobian(lambda z: z * z, x, create_graph=True),
    "jacobian": lambda x: tape.autograd.functional.jacobian(lambda z: z * z, x),
    **{
        f"{name} of a {which}, recorded": partial(of_what_is_around, getattr(tape.autograd.functional, name), around)
        for name in ("vjp", "jvp", "vhp", "hvp")
        for which, around in {"constant": CONSTANT, "leaf": LEAF}.items()
    },
    "jacobian of a constant, recorded": lambda x: tape.autograd.functional.jacobian(
        lambda z: z * x, CONSTANT, create_graph=True
    ),
    "left the inference": left_inference,
    "made in inference": made_in_inference,
    "func.grad": lambda x: tape.func.grad(lambda z: (z * z).sum())(x),
    "itself": lambda x: x,
    "views": lambda x: (x.view(-1), x[:1], x.detach(), x.unbind()),
    "asked": lambda x: x * 2 if x.requires_grad else x * 3,
}
MODES = (nullcontext, tape.no_grad, tape.inference_mode)


def outcome(f, x):
    try:
        found = f(x)
    except RuntimeError as error:
        return str(error)
    parts = [found] if isinstance(found, tape.Tensor) else [*found[:3], *found[3]] if len(found) == 4 else [*found]
    return [(z.tolist(), z.requires_grad, z.is_leaf, z.is_inference(), z is x) for z in parts], x.grad


@pytest.mark.parametrize("first", [0, 1, 3, 4])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_histories_are_those_of_the_function_itself(name, first):
    f = FUNCTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        compiled = tape.compile(f)
        calls = [(flag, mode) for flag in (True, False) for mode in MODES]
        for flag, mode in [*calls[first:], *calls[:first], *calls]:
            with mode():
                values = np.random.default_rng(first).normal(size=2)
                x, y = (tape.tensor(values, requires_grad=flag) for _ in range(2))
                assert outcome(compiled, x) == outcome(f, y)


def test_gradients_taken_inside_are_replayed():
    compiled = tape.compile(lambda x, w: grad((x * w * w).sum(), w)[0])
    for k in range(1, 5):
        x, w = tape.tensor([1.0, 2.0]), tape.tensor([3.0, float(k)], requires_grad=True)
        assert compiled(x, w).tolist() == [6.0, 4.0 * k]
    assert compiled.statistics().eager == 0
    assert len(compiled.programs) == 1


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_gradients_with_respect_to_what_is_around_need_recording_in_functions_of_arrays_too():
    w = tape.tensor([1.0, 2.0], requires_grad=True)
    compiled = tape.compile(lambda a: grad((w * w * 3).sum() + a.sum() * 0, w)[0].tolist())
    for _ in range(2):
        assert compiled(np.ones(2)) == [6.0, 12.0]
        with tape.no_grad(), pytest.raises(RuntimeError, match="does not require grad"):
            compiled(np.ones(2))


def entangled():
    w = tape.tensor([1.0, 2.0], requires_grad=True)
    u = w * 3
    yield lambda x, y: grad((x * y).sum(), x)[0], (w, w)
    yield lambda x, y: grad((x * y).sum(), x)[0], (w, w * 2)
    yield lambda x, y: grad((x * y).sum(), x)[0], (w, w.view(-1))
    yield lambda xs: grad((xs[0] * xs[1]).sum(), xs[0])[0], ([w, w],)
    yield lambda x: grad((x * w).sum(), w)[0], (w,)
    yield lambda x: grad((x * w).sum(), w, retain_graph=True)[0], (u,)
    yield lambda x: grad((x * u * w).sum(), w, retain_graph=True)[0], (tape.tensor([1.0, 2.0]),)
    yield lambda x, y: grad((x * x).sum(), y, allow_unused=True)[0], (w * 2, w)


@pytest.mark.parametrize("k", range(8))
@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_gradients_flow_between_arguments_and_what_is_around(k):
    f, args = list(entangled())[k]
    compiled = tape.compile(f)
    for _ in range(3):
        assert compiled(*args).tolist() == f(*args).tolist()


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_gradients_taken_inside_meet_the_hooks_of_arguments_and_of_what_is_around():
    x, w = (tape.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    compiled = tape.compile(lambda x: grad((x * x).sum(), x)[0])
    assert compiled(x).tolist() == compiled(x).tolist() == [2.0, 4.0]
    handle = x.register_hook(lambda g: g * 5)
    assert compiled(x).tolist() == [10.0, 20.0]
    handle.remove()
    assert compiled(x).tolist() == [2.0, 4.0]
    v = w * 2
    v.retain_grad()
    compiled(v)
    assert v.grad.tolist() == [4.0, 8.0]
    seen = []
    w.register_hook(seen.append)
    tape.compile(lambda x: grad((x * w).sum(), w)[0])(x)
    assert len(seen) == 1


def test_an_input_that_nothing_depends_on_gets_no_gradient():
    compiled = tape.compile(lambda x, y: (x * 2, y * 3))
    x, y = (tape.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    seen = []
    y.register_hook(seen.append)
    for _ in range(2):
        compiled(x, y)[0].sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    assert y.grad is None
    assert not seen
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(compiled(x, y)[0].sum(), y)
    assert grad(compiled(x, y)[0].sum(), y, allow_unused=True) == (None,)


def test_second_derivatives_of_what_is_linear_are_none():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    for f, requires_grad in ((lambda x: x * 3, False), (lambda x: x * x, True)):
        (g,) = grad(tape.compile(f)(x).sum(), x, create_graph=True)
        assert g.requires_grad == requires_grad


w = tape.tensor([5.0, 6.0])


def halves(x):
    y = x * 2
    return y[:2], y[1:]


def of_twice(x, f):
    return f(x * 2)


SHARING = {
    "an argument": lambda x: (x,),
    "a view": lambda x: (x[1:], x),
    "detached": lambda x: (x.detach()[1:], x.view(-1)),
    "several views": lambda x: (*x.split(1), x),
    "what is around": lambda x: (w, w[:1], w.detach()),
    "a result and its view": lambda x: of_twice(x, lambda y: (y, y[1:])),
    "a result, detached": lambda x: of_twice(x, lambda y: (y, y.detach())),
    "views that overlap": halves,
    "views of a view": lambda x: of_twice(x, lambda y: (y.view(3, 1), y.view(1, 3)[0, 1:])),
}


@pytest.mark.parametrize("name", SHARING)
@pytest.mark.parametrize("changed", [0, 1])
def test_results_share_memory_as_plainly(name, changed):
    f = SHARING[name]
    compiled = tape.compile(f)
    for _ in range(3):
        found = []
        for function in (f, compiled):
            with tape.no_grad():
                w.copy_(tape.tensor([5.0, 6.0]))
                x = tape.tensor([1.0, 2.0, 3.0])
                results = function(x)
                version = x._version
                results[min(changed, len(results) - 1)].mul_(10)
                found.append([z.tolist() for z in (*results, x, w)] + [x._version - version, results[0] is x])
        assert found[0] == found[1]
    assert compiled.statistics().eager == 0


def test_arrays_that_overlap_are_shared():
    compiled = tape.compile(halves)
    for _ in range(3):
        first, second = compiled(np.arange(3.0))
        first[1] = 9.0
        assert second[0] == 9.0


st = np.lib.stride_tricks


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("look", [
    lambda v: v.view("u1"), lambda v: v.view("i8"), lambda v: st.as_strided(v, (2,), (8,)), np.frombuffer,
    lambda v: np.asarray(v.data), lambda v: np.ma.array(v).data, lambda v: np.ndarray((3,), float, v),
    lambda v: v.__array__(), lambda v: v.data.cast("B") and v.view(np.int64)[::2],
])  # fmt: skip
def test_arrays_of_plain_numbers_are_on_the_memory_of_arguments(look):
    compiled = tape.compile(look)
    for _ in range(2):
        x, y = np.arange(1.0, 4.0), np.arange(1.0, 4.0)
        compiled(x)[...] = 0
        look(y)[...] = 0
        np.testing.assert_array_equal(x, y)


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("look", [
    lambda v: st.sliding_window_view(v, 2), lambda v: np.frombuffer(bytes(v)), lambda v: v.imag,
    lambda v: np.diag(v.reshape(2, 2)), lambda v: np.broadcast_to(v, (2, 4)), lambda v: np.broadcast_to(v + 1, (2, 4)),
])  # fmt: skip
def test_results_may_be_written_where_numpys_may(look):
    compiled, x = tape.compile(look), np.arange(4.0)
    for _ in range(2):
        found, expected = compiled(x), look(x)
        assert found.flags.writeable == expected.flags.writeable
        assert np.may_share_memory(found, x) == np.may_share_memory(expected, x)


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x.is_inference(), x * 2), lambda x: (x[1:], x * 2),
        lambda x: tape.autograd.functional.hvp(lambda z: (z**3).sum(), CONSTANT, x),
        lambda x: tape.func.vjp(lambda z: z**3 * x, CONSTANT)[1](CONSTANT),
        lambda x: grad((x * LEAF).sum(), LEAF), lambda x: (x + 1) * x,
    ],
)  # fmt: skip
def test_arguments_made_in_inference_mode(f):
    def facts(f, x):
        try:
            parts = f(x)
        except RuntimeError as error:
            return str(error)
        parts = parts if isinstance(parts, tuple) else (parts,)
        return [(z.tolist(), z.is_inference()) if isinstance(z, tape.Tensor) else z for z in parts]

    with tape.inference_mode():
        made = tape.tensor([3.0, 4.0])
    compiled = tape.compile(f)
    for x in (made, tape.tensor([3.0, 4.0]), made, made):
        assert facts(compiled, x) == facts(f, x)


ARRAY = np.array([1.0, 2.0])
DERIVATIVES_OF_ARRAYS = {
    "of constants": lambda t: tape.func.grad(lambda x: (x * x).sum())(ARRAY),
    "a number": lambda t: tape.func.grad(np.sin)(2.0),
    "second ones": lambda t: tape.func.hessian(lambda x: (x**3).sum())(ARRAY),
    "beside what is given": lambda t: tape.func.grad(lambda x: (x * t).sum())(ARRAY),
    "then multiplied": lambda t: tape.func.vjp(lambda x: x * x, ARRAY)[0] * t,
    "two": lambda t: (tape.func.jacrev(lambda x: (x**3 * t).sum())(ARRAY), t * 2),
    "forward": lambda t: tape.func.jvp(lambda x: x * t, (ARRAY,), (ARRAY,)),
    "lanes": lambda t: tape.func.vmap(lambda x: x * t)(ARRAY),
    "beside a constant": lambda t: tape.func.jacrev(lambda x: x * CONSTANT)(ARRAY),
    "beside a leaf": lambda t: tape.func.grad(lambda x: (x * LEAF).sum())(ARRAY),
    "Jacobian": lambda t: tape.autograd.functional.jacobian(lambda x: x * x, ARRAY),
}  # fmt: skip
GIVEN = {
    "an int": lambda: 2, "complex": lambda: 1 + 2j, "a tensor": lambda: tape.tensor([5.0, 6.0]),
    "that requires grad": lambda: tape.tensor([5.0, 6.0], requires_grad=True), "an array": lambda: np.array([5.0, 6.0]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", DERIVATIVES_OF_ARRAYS)
def test_derivatives_of_arrays_are_arrays_unless_they_have_a_history(name, given):
    f = DERIVATIVES_OF_ARRAYS[name]
    compiled = tape.compile(f)

    def facts(f):
        try:
            parts = f(GIVEN[given]())
        except RuntimeError as error:
            return str(error)
        parts = parts if isinstance(parts, tuple) else (parts,)
        return [(type(z), getattr(z, "requires_grad", None), z.tolist() if hasattr(z, "tolist") else z) for z in parts]

    for mode in (nullcontext, tape.no_grad, nullcontext, tape.no_grad):
        with mode():
            assert facts(compiled) == facts(f)
