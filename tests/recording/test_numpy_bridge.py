"""NumPy's own functions on tensors: the values NumPy gives, with the history kept."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy_calls import CALLS
from samples import active, samples

import tape
from ops import REGISTRY
from tape.base.row import CODE, LASTI
from tape.recording.wengert import current

A = np.array([[1.5, -2.0, 0.5], [0.25, 3.0, -1.0]])


@pytest.mark.parametrize(
    "compute",
    [
        lambda a: np.exp(a),
        lambda a: np.abs(a),
        lambda a: A * a,
        lambda a: np.float64(2) * a,
        lambda a: 2 - a,
        lambda a: A @ a.T,
        lambda a: np.sum(a, axis=0),
        lambda a: np.sum(a, 1, keepdims=True),
        lambda a: np.mean(a),
        lambda a: np.concatenate([a, A]),
        lambda a: np.concatenate((a, a), axis=1),
        lambda a: np.stack([a, A], axis=-1),
        lambda a: np.where(a > 0, a, 0.0),
        lambda a: np.reshape(a, (3, 2)),
        lambda a: np.transpose(a),
        lambda a: np.linalg.norm(a),
        lambda a: np.linalg.norm(a, axis=1),
        lambda a: np.einsum("ij,kj->ik", a, A),
        lambda a: np.maximum(a, 0.1),
        lambda a: np.clip(a, -1, 1),
        lambda a: np.add.reduce(a),
        lambda a: np.add.reduce(a, axis=None),
        lambda a: np.maximum.reduce(a, axis=1),
        lambda a: np.multiply.outer(a, A),
        lambda a: np.add.accumulate(a, axis=1),
        lambda a: np.minimum.reduce(a, axis=1),
        lambda a: np.logaddexp.reduce(a, axis=0),
        lambda a: np.logaddexp.accumulate(a, axis=1),
        lambda a: np.matmul(a, A.T),
        lambda a: np.dot(a, A.T),
        lambda a: np.outer(a[0], A[1]),
        lambda a: np.max(a, axis=1),
        lambda a: np.var(a, axis=0),
        lambda a: np.std(a, ddof=1),
        lambda a: np.prod(a, axis=1),
        lambda a: np.cumsum(a, axis=0),
        lambda a: np.squeeze(a[None]),
        lambda a: np.expand_dims(a, 0),
        lambda a: np.broadcast_to(a, (2, 2, 3)),
        lambda a: np.split(a, 3, axis=1)[1],
        lambda a: np.vstack([a, A]),
        lambda a: np.hstack([a, A]),
        lambda a: np.tile(a, 2),
        lambda a: np.flip(a, 1),
        lambda a: np.roll(a, 1, axis=0),
        lambda a: np.diagonal(a),
        lambda a: np.trace(a),
        lambda a: np.tril(a),
        lambda a: np.take(a, [0, 2], axis=1),
        lambda a: np.sort(a, axis=1),
        lambda a: np.ravel(a),
        lambda a: np.swapaxes(a, 0, 1),
    ],
)
def test_same_value_and_a_history(compute):
    result = compute(tape.tensor(A, requires_grad=True))
    assert isinstance(result, tape.Tensor)
    np.testing.assert_allclose(result.detach().numpy(), compute(A), rtol=1e-13)
    assert result.grad_fn is not None


def test_every_ufunc_that_an_op_answers_for_arrives():
    x = tape.tensor(0.5, requires_grad=True)
    for op in REGISTRY.values():
        for function in op.numpy:
            if (
                isinstance(function, np.ufunc)
                and function.nin == function.nout == 1
                and "d->" in "".join(function.types)
            ):
                with np.errstate(all="ignore"):
                    value, expected = function(x), op(np.float64(0.5))
                assert np.array_equal(value.detach().numpy(), expected, equal_nan=True), function


ANSWERED = [(op, f) for op in REGISTRY.values() for f in op.numpy if op.kind == "composite" or op.differentiable]


def tracked(x):
    """Arrays of floats, also those in sequences, as tensors that require grad."""
    if isinstance(x, np.ndarray):
        return tape.tensor(x, requires_grad=True) if x.dtype.kind in "fc" else x
    return type(x)(map(tracked, x)) if isinstance(x, (tuple, list)) else x


def calls_of(op, f):
    """Arguments for the function, as arrays and with tensors in their place."""
    if op.kind == "composite":
        known = [(args, params) for args, params in CALLS[op.name] if f is not np.linalg.outer or args[0].ndim == 1]
        return [(args, tracked(args), params) for args, params in known]
    made = []
    for operands, params in samples(op):
        mixed = tuple(tracked(x) if i in active(op, operands) else x for i, x in enumerate(operands))
        given = ([*operands],) if op.variadic else operands
        more, named = ((params["dtype"],), {}) if f is np.astype else ((), params)
        made.append(((*given, *more), (*(([*mixed],) if op.variadic else mixed), *more), named))
    return made


def spelled(f, args, kwargs, how):
    """The arguments, as many of them as can be by position or by name."""
    if isinstance(f, np.ufunc):
        return args, kwargs
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except ValueError:
        return args, kwargs
    kinds = {k: p.kind for k, p in bound.signature.parameters.items()}
    any_number = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    if how == "position" or any_number.intersection(kinds.values()):
        return bound.args, bound.kwargs
    nameless = [v for k, v in bound.arguments.items() if kinds[k] is inspect.Parameter.POSITIONAL_ONLY]
    return nameless, dict([*bound.arguments.items()][len(nameless) :])


@pytest.mark.parametrize("how", ["position", "name"])
@pytest.mark.parametrize(("op", "f"), ANSWERED, ids=lambda x: getattr(x, "name", getattr(x, "__name__", "")))
def test_every_function_takes_tensors_by_position_and_by_name(op, f, how):
    for arrays, mixed, params in calls_of(op, f):
        (args, kwargs), (given, named) = spelled(f, arrays, params, how), spelled(f, mixed, params, how)
        expected, found = f(*args, **kwargs), f(*given, **named)
        several = isinstance(expected, (tuple, list))
        parts = [*zip(found if several else (found,), expected if several else (expected,), strict=True)]
        assert any(z.requires_grad or w.dtype.kind not in "fc" for z, w in parts)
        for z, w in parts:
            assert_allclose(z.detach().numpy(), w, rtol=1e-10, atol=1e-12)


def test_gradient_through_numpy_code():
    x = tape.tensor(A, requires_grad=True)
    np.sum(np.exp(x) * A, axis=0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(A) * A)


def test_dtype_argument():
    result = np.mean(tape.tensor(A), dtype=np.float32)
    assert result.dtype == np.float32


@pytest.mark.parametrize(
    "compute",
    [
        lambda t: np.frexp(t),
        lambda t: np.lexsort((t,)),
        lambda t: np.packbits(t),
        lambda t: np.add.at(t, 0, 1.0),
        lambda t: np.add(t, 1, where=A > 0),
        lambda t: np.vecdot(t, t, axes=[0, 0]),
    ],
)
def test_no_rule_is_an_error_that_names_the_function(compute):
    with pytest.raises(TypeError, match=r"np\.[a-z2.]+ .*has no rule for tensors.*\n.*detach\(\)\.numpy\(\)"):
        compute(tape.tensor(A, requires_grad=True))


def test_out_and_augmented_arrays():
    plain, tracked = tape.tensor(A), tape.tensor(A, requires_grad=True)
    array = np.ones_like(A)
    array += plain
    np.testing.assert_array_equal(array, 1 + A)
    target = tape.zeros(2, 3)
    assert np.add(plain, plain, out=target) is target
    np.testing.assert_array_equal(target.numpy(), 2 * A)
    with pytest.raises(RuntimeError, match="do not record"):
        array += tracked
    with pytest.raises(RuntimeError, match="do not record"):
        np.add(tracked, 1.0, out=target)


def test_asarray_shares_memory():
    x = tape.tensor(A)
    np.asarray(x)[0, 0] = 9.0
    assert x[0, 0].item() == 9.0
    assert np.array(x, dtype=np.float32).dtype == np.float32
    scalar = tape.tensor(1.0)
    scalar.numpy()[...] = 4.0
    assert scalar.item() == 4.0


def test_asarray_refuses_a_history():
    x = tape.tensor(A, requires_grad=True)
    for read in (np.asarray, np.array, lambda t: np.array([t[0], t[1]]), lambda t: t.numpy()):
        with pytest.raises(RuntimeError, match=r"requires grad.*\.detach\(\)"):
            read(x)
    np.testing.assert_array_equal(x.numpy(force=True), A)


LIKE = {
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
    "empty_like": np.empty_like,
    "copy": np.copy,
    "full_like": lambda x: np.full_like(x, 2.0),
    "full_like, of a tensor": lambda x: np.full_like(x, x[0]),
    "dtype": lambda x: np.zeros_like(x, np.float64),
    "shape": lambda x: np.zeros_like(x, shape=3, order="C"),
}


def writing(like):
    def f(x):
        y = like(x)
        for k in range(3):
            y[k] = x[k] ** 2
        return y.sum() + x.sum()

    return f


@pytest.mark.parametrize("like", LIKE.values(), ids=LIKE)
def test_what_is_made_alike_can_be_written_into(like):
    f, x = writing(like), np.array([1.0, 2.0, 3.0])
    grad = tape.func.grad(f)
    assert grad(tape.tensor(x)).tolist() == [3.0, 5.0, 7.0]
    assert tape.func.jvp(f, (tape.tensor(x),), (tape.ones(3),))[1].item() == 15.0
    assert tape.func.hessian(f)(tape.tensor(x)).tolist() == np.diag([2.0, 2.0, 2.0]).tolist()
    compiled = tape.compile(grad)
    for at in (x, x + 1.0):
        np.testing.assert_array_equal(compiled(at), 2 * at + 1)
    assert compiled.statistics().eager == 0


@pytest.mark.parametrize("like", [like for name, like in LIKE.items() if name != "full_like, of a tensor"])
def test_what_is_made_alike_has_lanes(like):
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    np.testing.assert_array_equal(tape.vmap(tape.func.grad(writing(like)))(tape.tensor(x)), 2 * x + 1)


def test_places_and_conditions_may_be_tensors():
    x, a = tape.tensor(A, requires_grad=True), A
    for f in (
        lambda x, at, on: np.delete(x, at, axis=1),
        lambda x, at, on: np.insert(x, at, 7.0, axis=1),
        lambda x, at, on: np.compress(on[0, 0], x, axis=1),
        lambda x, at, on: np.piecewise(x, on, [np.exp, np.square]),
        lambda x, at, on: np.select([on[0], on[1]], [x, 2 * x], -1.0),
        lambda x, at, on: np.sum(x, axis=0, where=on[0]),
        lambda x, at, on: np.choose(at % 2, [x[0, 0], x[0, 1]]),
        lambda x, at, on: np.bincount(at, x[1, :2]),
    ):
        at, on = np.array([2, 0]), np.stack([a > 0, a < -0.5])
        z = f(x, tape.tensor(at), tape.tensor(on))
        assert z.requires_grad
        np.testing.assert_allclose(z.detach().numpy(), f(a, at, on))
    assert np.delete(x, []).shape == (6,)


@pytest.mark.parametrize(
    "places",
    [np.array([1, -1, 0]), np.array([1]), np.array([[1, 0, 1]]), np.array([1.0, 0.0, 1.0])],
    ids=["negative", "too few", "matrix", "floats"],
)
def test_weights_are_counted_where_numpy_counts_them(places):
    compiled = tape.compile(lambda w, places: np.bincount(places, weights=w))
    w = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(compiled(w, np.array([0, 2, 2])), [1.0, 0.0, 5.0])
    with pytest.raises((ValueError, TypeError)) as theirs:
        np.bincount(places, weights=w)
    with pytest.raises(theirs.type):
        compiled(w, places)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_one_of_several_operands_is_a_tensor(which):
    operands = [A, np.array([-1.0, 0.5, 2.0]), np.array([3.0, 1.0, 2.0])]
    mixed = [tape.tensor(a, requires_grad=True) if k == which else a for k, a in enumerate(operands)]
    z = np.interp(*mixed)
    np.testing.assert_allclose(z.detach().numpy(), np.interp(*operands))
    assert z.requires_grad


def test_a_number_with_a_history_fills():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    z = np.full_like(tape.ones(3), x[1])
    z.sum().backward()
    assert (z.tolist(), x.grad.tolist()) == ([2.0, 2.0, 2.0], [0.0, 3.0])
    assert np.full_like(x, 7, dtype=int).tolist() == [7, 7]
    assert not np.zeros_like(x).requires_grad
    with pytest.warns(UserWarning, match=r"np\.zeros_like\(x\), tape\.stack\): an array, such as np\.zeros gives"):
        np.zeros(2)[0] = x[0]


def test_facts_about_a_tensor():
    x = tape.tensor(A, requires_grad=True)
    assert (np.shape(x), np.ndim(x), np.size(x), np.result_type(x, np.float32)) == ((2, 3), 2, 6, np.float64)


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: np.shape(x)[0],
        lambda x: np.ndim(x),
        lambda x: np.size(x, 0),
        lambda x: np.iscomplexobj(x),
        lambda x: np.result_type(x, np.float32) == x.dtype,
    ],
)
def test_facts_read_no_number(ask):
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    compiled = tape.compile(lambda x: x * int(ask(x)))
    for at in (x, x + 1.0):
        np.testing.assert_array_equal(compiled(at), at * int(ask(x)))
    (program,) = compiled.statistics().programs
    assert program.guards == 0
    np.testing.assert_array_equal(tape.vmap(lambda x: x * int(ask(x)))(tape.tensor(x)), x * int(ask(x[0])))


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda t: np.ravel(t, order="F"), r"np\.ravel with order="),
        (lambda t: np.where(t), r"np\.where without x, y"),
        (lambda t: np.concatenate([t, t], dtype=np.float32), r"np\.concatenate with dtype="),
        (lambda t: np.average(t, returned=True), r"np\.average with returned="),
        (lambda t: np.dot(t, t, np.zeros(())), r"np\.dot with out="),
        (lambda t: np.cov(t, t), r"np\.cov with y="),
        (lambda t: np.clip(t, 0.0, 1.0, where=np.array(True)), r"np\.clip with where="),
    ],
)
def test_arguments_without_a_rule_are_named(call, what):
    with pytest.raises(TypeError, match=what + r" has no rule for tensors(.|\n)*drop the history"):
        call(tape.tensor([1.0, 2.0], requires_grad=True))


@pytest.mark.parametrize(
    "compute",
    [
        lambda t: np.ravel(t, order="C"),
        lambda t: np.average(t, returned=False),
        lambda t: np.quantile(t, 0.5, method="linear"),
        lambda t: np.concatenate([t, t], axis=None),
        lambda t: np.linalg.cross(t[0], t[1]),
        lambda t: np.cov(t, rowvar=False),
    ],
)
def test_arguments_that_say_the_default_are_taken(compute):
    np.testing.assert_allclose(compute(tape.tensor(A)).numpy(), compute(A), rtol=1e-12)


def test_astype():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    z = getattr(np, "astype", lambda t, dtype: t.to(dtype))(x, np.float32)
    z.sum().backward()
    assert (z.dtype, x.grad.dtype) == (np.float32, np.float64)


class Own(np.ndarray):
    """An array class that multiplies in its own way, as np.matrix does."""

    def __mul__(self, other):
        return NotImplemented if isinstance(other, tape.Tensor) else 0 * np.asarray(self)


@pytest.mark.parametrize("kind", [np.matrix, Own])
def test_array_classes_are_plain_arrays_among_tensors(kind):
    a = A[:2, :2].view(kind)
    x = tape.tensor([2.0, 3.0], requires_grad=True)
    for z in (a * x, x * a, tape.mul(a, x)):
        assert type(z.detach().numpy()) is np.ndarray
        np.testing.assert_array_equal(z.detach().numpy(), A[:2, :2] * [2.0, 3.0])
    for made in (tape.from_numpy(a), tape.as_tensor(a), tape.tensor(a), tape.sin(a)):
        assert type(made.numpy()) is np.ndarray
    assert np.shares_memory(tape.from_numpy(a).numpy(), a)


@pytest.mark.parametrize(
    "mix",
    [
        lambda m, t: m * t,
        lambda m, t: t * m,
        lambda m, t: m == t,
        lambda m, t: t < m,
        lambda m, t: m @ t,
        lambda m, t: np.add(m, t),
        lambda m, t: np.ma.add(m, t),
        lambda m, t: np.ma.exp(t),
        lambda m, t: np.concatenate([m, t]),
        lambda m, t: tape.tensor(m),
        lambda m, t: tape.as_tensor(m),
        lambda m, t: tape.from_numpy(m),
        lambda m, t: tape.sin(m),
    ],
)
def test_masked_arrays_are_refused(mix):
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(TypeError, match=r"a tensor has no mask(.|\n)*filled"):
        mix(masked, tape.tensor([1.0, 2.0], requires_grad=True))


@pytest.mark.parametrize("compute", [np.exp, lambda x: np.multiply(x, x), lambda x: np.add(x, 1.0)])
def test_the_line_of_a_ufunc_is_the_users(compute):
    """Whether it goes the short way, of tensors alone, or not."""
    z = compute(tape.tensor(A, requires_grad=True)).cos()
    code, _ = current().record(z._node - 1)[CODE : LASTI + 1]
    assert code.co_filename == __file__
