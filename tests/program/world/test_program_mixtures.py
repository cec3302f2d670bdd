"""Compiled functions of tensors beside arrays and floats give what the functions give, in kind and number."""

import copy
import math
import warnings

import numpy as np
import pytest

import tape

W = tape.tensor([1.0, 2.0], requires_grad=True)
P = tape.tensor([3.0, 4.0])


def written(x, a):
    b = a.copy()
    b += P
    return b, x


def filled(x, a):
    b = a.copy()
    b[:1] = x[:1]
    return b


def sorted_copy(x, a):
    b = a.copy()
    b.sort()
    return x * b


OF_ARRAYS = {
    "its deviation": lambda x, a: (x * a.std(), x * a.var(), a.std()),
    "its largest": lambda x, a: (x * a.max(0), a.argmax(), x[a.argmax()]),
    "its places": lambda x, a: x * len(a.nonzero()),
    "repeated": lambda x, a: (x, a.repeat(2)),
    "its class": lambda x, a: x * (2 if isinstance(a, np.ndarray) and type(a) is np.ndarray else 3),
    "no tensor": lambda x, a: (tape.is_tensor(a), tape.is_tensor(x), hasattr(a, "requires_grad")),
    "its text": lambda x, a: (x, str(a)),
    "times two": lambda x, a: (a * 2, x),
    "sorted": lambda x, a: (a.sort(), x * a)[1],
    "filled": lambda x, a: (a.fill(3.0), x)[1],
    "put": lambda x, a: (a.put([0], 9.0), x)[1],
    "a part filled": lambda x, a: (a[:1].fill(2.0), x)[1],
    "transposed and filled": lambda x, a: (a.T.fill(2.0), x)[1],
    "a sorted copy": sorted_copy,
    "tensors added to it": written,
    "a tensor written into it": filled,
    "itself": lambda x, a: (a, x, a),
    "a view": lambda x, a: (a[:1], x[:1], a.T),
    "as a tensor": lambda x, a: (tape.as_tensor(a) * 2, tape.tensor(a)),
    "sharing its memory": lambda x, a: tape.as_tensor(a),
    "functions of tensors": lambda x, a: (tape.neg(a), tape.sum(a), tape.linalg.norm(a), tape.mul(a, 2)),
    "functions of arrays": lambda x, a: (np.negative(a), np.dot(a, x), np.stack([a, x]), np.where(a > 1, x, 0.0)),
    "methods of arrays": lambda x, a: a.dot(x),
    "out": lambda x, a: np.add(a, x, out=np.zeros(2)),
    "a place in it": lambda x, a: (a[x.argmax()], a[x > 1]),
    "places in it": lambda x, a: (x[a > 2], x[np.argsort(a)], x[a.astype(int) % 2]),
    "spaced": lambda x, a: tape.linspace(a[0], 9.0, 3) + x.sum(),
    "its gradient": lambda x, a: tape.func.grad(lambda u: (u * u).sum())(a),
    "its gradient beside": lambda x, a: tape.func.grad(lambda u: (u * x).sum())(a),
    "a checkpoint": lambda x, a: tape.utils.checkpoint.checkpoint(lambda u: u * P, a),
    "written into a tensor": lambda x, a: (x * 1).copy_(a),
}
OF_FLOATS = {
    "its class": lambda x, s: x * (2 if isinstance(s, float) and type(s) is float else 3),
    "looked up": lambda x, s: x * {0.5: 1}.get(s, 9),
    "its text": lambda x, s: (x, str(s), f"{s:.2f}"),
    "itself": lambda x, s: (s, x),
    "times two": lambda x, s: (x, s * 2, s * 1j),
    "no array": lambda x, s: x * (2 if hasattr(s, "dtype") else 3),
    "its inverse": lambda x, s: x * (1 / (s - 0.5)),
    "a root": lambda x, s: (x * math.sqrt(s), s**0.5),
    "a large power": lambda x, s: s**1000.0 * x,
    "functions of tensors": lambda x, s: (tape.as_tensor(s), tape.full_like(x, s), tape.linspace(0, s, 3)),
    "functions of numbers": lambda x, s: tape.add(s, s),
    "a parameter": lambda x, s: (x.clamp(max=s), x.add(x, alpha=s)),
    "a norm": lambda x, s: x.norm(p=s),
}
COMMON = {
    "times": lambda x, a, s: (x * a, a * x, x + a, a - x),
    "product": lambda x, a, s: (a @ x, x @ a, a.T @ x),
    "rows": lambda x, a, s: sum(a[i] * x for i in range(len(a))) / a.shape[0],
    "centered": lambda x, a, s: ((a - a.mean(0)) @ x, ((a - x) ** 2).mean()),
    "scaled": lambda x, a, s: (x * s, (1 - s) * x, s * s * x, x / s),
    "powers": lambda x, a, s: (x**s, math.exp(-s) * x, x.clamp(max=s)),
}


def kind_of(x):
    """What something is, with its numbers."""
    if isinstance(x, (tuple, list)):
        return [kind_of(part) for part in x]
    if isinstance(x, tape.Tensor):
        return "tensor", x.dtype, x.requires_grad, x.tolist()
    if isinstance(x, np.ndarray):
        return type(x), x.dtype, x.tolist()
    return type(x), x


def outcome(f, *args):
    """What a function gives, or raises, and what becomes of its arguments."""
    args = [copy.deepcopy(x) if not isinstance(x, tape.Tensor) else x for x in args]
    try:
        found = kind_of(f(*args))
    except Exception as error:
        found = type(error)
    return found, kind_of(args)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_ARRAYS)
@pytest.mark.parametrize("grad", [True, False])
def test_arrays(name, grad):
    f = OF_ARRAYS[name]
    compiled, x = tape.compile(f), tape.tensor([1.0, 2.0], requires_grad=grad)
    for a in ([4.0, 1.0], [4.0, 1.0], [0.5, 3.0]):
        assert outcome(compiled, x, np.array(a)) == outcome(f, x, np.array(a))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_FLOATS)
def test_floats(name):
    f = OF_FLOATS[name]
    compiled, x = tape.compile(f), tape.tensor([1.0, 2.0])
    for s in (1.5, 0.5, 3.0, -2.0, 0.0, 0.5):
        assert outcome(compiled, x, s) == outcome(f, x, s)


@pytest.mark.parametrize("name", COMMON)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_common_code_is_compiled(name, dtype):
    f = COMMON[name]
    compiled, x = tape.compile(f), tape.tensor(np.array([1.0, 2.0], dtype), requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(3):
            a = np.array([[1.5, 2.0], [0.5, -1.0]], dtype) * (k + 1)
            z, expected = compiled(x, a, 0.5), f(x, a, 0.5)
            for one, other in zip(z if type(z) is tuple else [z], expected if type(z) is tuple else [expected]):
                assert (one.dtype, one.requires_grad) == (other.dtype, True)
                np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-6)
    assert len(compiled.programs) == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int32, np.bool_, np.complex64])
def test_a_float_is_weak(dtype):
    x = tape.tensor(np.array([2, 1], dtype))
    f = lambda x, s: (x * s, s - x, x.sum() / s)  # noqa: E731
    compiled = tape.compile(f)
    for s in (0.3, 0.5):
        assert outcome(compiled, x, s) == outcome(f, x, s)
    assert outcome(tape.record(f, x, 0.3), x, 0.3) == outcome(f, x, 0.3)
    if dtype is not np.float16:  # beside which a float is told
        assert outcome(tape.record(f, x, 0.3), x, 0.5) == outcome(f, x, 0.5)


BESIDE = {
    "times": lambda a: (a * W, a * P, a * 2, W @ a),
    "made": lambda a: (tape.as_tensor(a) * 2, tape.zeros(2)),
    "themselves": lambda a: (a, W, P, W[:1]),
    "written": lambda a: written(0.0, a)[0],
    "a gradient": lambda a: tape.func.grad(lambda u: (u * W).sum())(a),
    "a gradient without history": lambda a: tape.func.grad(lambda u: (u * P).sum())(a),
    "a Jacobian": lambda a: (tape.func.jacrev(lambda u: u * W)(a), tape.func.jacfwd(lambda u: u * P)(a)),
    "lanes": lambda a: tape.vmap(lambda u: u * W)(a),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_beside_tensors_around(name, dtype):
    f = BESIDE[name]
    compiled, a = tape.compile(f), np.array([1.5, -2.0], dtype)
    for _ in range(2):
        assert outcome(compiled, a) == outcome(f, a)
        with tape.no_grad():
            assert outcome(compiled, a) == outcome(f, a)


def test_no_stand_in_leaves_a_transformation():
    a = np.array([1.5, -2.0])
    found = tape.func.grad(lambda u: (u * W).sum())(a)
    assert type(found) is tape.Tensor
    assert found.requires_grad
    assert type(tape.func.grad(lambda u: (u * P).sum())(a)) is np.ndarray


def test_memory():
    compiled = tape.compile(lambda x, a: (a, a[:1], x, x[:1]))
    x, a = tape.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    for _ in range(2):
        same, part, tensor, part_of_tensor = compiled(x, a)
        assert same is a
        assert part.base is a
        assert tensor is x
        part[0], part_of_tensor[0] = 7.0, 8.0
        assert a[0] == 7.0
        assert x[0] == 8.0


def test_kinds_are_kept_in_files_and_entries(tmp_path):
    f = lambda x, a, s: (x * a, a * s, s * 2, [a + 1, x])  # noqa: E731
    x, a = tape.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    program = tape.record(f, x, a, 0.5)
    program.save(tmp_path / "f.tape")
    for p in (program, tape.load(tmp_path / "f.tape")):
        assert outcome(p, x, a, 1.5) == outcome(f, x, a, 1.5)
    f = lambda x, a: (x * a, a + 1.0)  # noqa: E731
    compiled = tape.compile(f)
    for _ in range(600):
        found = compiled(x, a)
    assert kind_of(found) == kind_of(f(x, a))
