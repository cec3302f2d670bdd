"""Records that their ops' declarations make steps of: NumPy's values, and its errors, at each of their operands."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from ops import REGISTRY
from ops.core.batching_index import SLOT
from tape.jit.machine import ufunc_loops
from tape.program import record
from tape.program.plans.plan import Plan
from tape.program.plans.wording import PlanWords
from tape.program.recorded.large.fingerprint import key_of

RNG = np.random.default_rng(0)
MATRICES = [RNG.standard_normal((4, 4)) + 4.0 * np.eye(4), RNG.standard_normal((2, 7, 7)) + 7.0 * np.eye(7)]
MATRICES += [MATRICES[0].T, MATRICES[0].astype(np.float32), MATRICES[1] + 1j * np.swapaxes(MATRICES[1], -1, -2)]
CUBE = RNG.standard_normal((5, 4, 3))
CUBE[1, 2, 0], CUBE[0, 0, 0], CUBE[3, 1, 2] = CUBE[0, 2, 0], np.nan, -0.0
NUMBERS = RNG.integers(-3, 3, (5, 4, 3))


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def replayed(f, *xs):
    """What the steps of a program give, none of which is a stop; replayed twice: a step leaves itself as it was."""
    program = record(f, *map(tape.tensor, xs))
    assert program.statistics().numpy == 0
    sweeper = program.replay.sweeper
    sweeper(xs)
    return sweeper(xs)


def several(z):
    return z if isinstance(z, tuple) else (z,)


def check(op, xs, params, **tolerance):
    """Compare an op's steps with its forward function, bit for bit unless a tolerance is given."""
    found = replayed(lambda *xs: op(*xs, **params), *xs)
    with np.errstate(all="ignore"):
        wanted = several(op.forward(*xs, **params))
    for z, w in zip(found, wanted, strict=True):
        assert (np.shape(z), np.asarray(z).dtype) == (np.shape(w), np.asarray(w).dtype)
        if tolerance:
            assert_allclose(z, w, **tolerance)
        else:
            assert_array_equal(z, w)


@pytest.mark.parametrize("x", MATRICES, ids=lambda x: f"{x.dtype}{x.shape}{x.flags.c_contiguous}")
@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "qr", "svd", "eigh", "cholesky"])
def test_matrices(name, x):
    close = {"rtol": 1e-13, "atol": 1e-14} if x.dtype != np.float32 else {"rtol": 1e-5, "atol": 1e-6}
    symmetric = name in ("eigh", "cholesky")
    check(REGISTRY[name], (x @ np.conj(np.swapaxes(x, -1, -2)) if symmetric else x,), {}, **close)


@pytest.mark.parametrize("n", [1, 3, 6, 7])
def test_systems(n):
    x, y = RNG.standard_normal((2, n, n)) + n * np.eye(n), RNG.standard_normal((n, 2))
    for a, b in ((x, y), (x[0].T, y), (x[0], y[:, 0]), (x[1], np.stack([y, y]))):
        check(REGISTRY["solve"], (a, b), {}, rtol=1e-13, atol=1e-14)
    for upper in (False, True):
        for unit in (False, True):
            params = {"upper": upper, "unitriangular": unit}
            check(REGISTRY["solve_triangular"], (x, y), {**params, "left": True}, rtol=1e-11, atol=1e-12)
            check(REGISTRY["solve_triangular"], (x[0], y.T), {**params, "left": False}, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("x", [MATRICES[0].T, MATRICES[1][:, :3], CUBE, NUMBERS, MATRICES[4]], ids=np.shape)
def test_triangles(name, x):
    for k in (0, -1, 2, 5, -6):
        check(REGISTRY[name], (x,), {"k": k})


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("upper", [True, False])
def test_a_transposed_triangle_is_solved_where_it_lies(upper, left):
    x, y = RNG.standard_normal((2, 9, 9)) + 9 * np.eye(9), RNG.standard_normal((9, 9))
    f = lambda x, y: REGISTRY["solve_triangular"](REGISTRY["mT"](x), y, upper=upper, left=left)  # noqa: E731
    (found,) = replayed(f, x, y)
    triangles = (np.triu if upper else np.tril)(np.swapaxes(x, -1, -2))
    wanted = np.linalg.solve(triangles, np.stack([y, y])) if left else y @ np.linalg.inv(triangles)
    assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


def test_large_matrices_are_factored_without_a_stop():
    n = 270
    x = RNG.standard_normal((n, n)) / np.sqrt(n) + 3 * np.eye(n)
    f = lambda x: np.tril(np.linalg.cholesky(x @ x.T)).sum()  # noqa: E731
    program = record(tape.func.grad_and_value(f), x)
    assert program.statistics().numpy == 0
    for z, w in zip(program.replay.sweeper((x,)), tape.func.grad_and_value(f)(x), strict=True):
        assert_allclose(z, w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["solve", "inv", "cholesky", "solve_triangular"])
@pytest.mark.parametrize("bad", [np.zeros((3, 3)), -np.eye(3), np.full((3, 3), np.nan), 1e-14 * np.eye(3)], ids=str)
def test_what_numpy_refuses(name, bad):
    """The same exception, or the same numbers."""
    op, more = REGISTRY[name], () if name in ("inv", "cholesky") else (np.ones((3, 1)),)
    params = {"upper": True} if name == "solve_triangular" else {}
    program = record(lambda *xs: op(*xs, **params), *map(tape.tensor, (np.eye(3), *more)))
    for _ in range(2):
        try:
            wanted = op.forward(bad, *more, **params)
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError):
                program.replay.sweeper((bad, *more))
        else:
            assert_allclose(program.replay.sweeper((bad, *more))[0], wanted, rtol=1e-12)
    assert_allclose(program.replay.sweeper((np.eye(3), *more))[0], op.forward(np.eye(3), *more, **params))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64], ids=lambda d: d.__name__)
def test_transforms(dtype):
    x = CUBE[1:].astype(dtype)
    for axes in ((0,), (1, -1)):
        for inverse in (False, True):
            check(REGISTRY["fft_c2c"], (x,), {"axes": axes, "norm": "ortho", "inverse": inverse}, rtol=1e-5, atol=1e-5)
            near = {"rtol": 1e-5, "atol": 1e-5} if dtype is np.float32 and len(axes) > 1 else {}  # NumPy goes by halves
            check(REGISTRY["fft_c2c"], (x,), {"axes": axes, "norm": None, "inverse": inverse}, **near)
    if x.dtype.kind == "f":
        check(REGISTRY["fft_r2c"], (x,), {"axis": 1, "norm": None})
    else:
        check(REGISTRY["fft_c2r"], (x,), {"axis": 0, "n": 6, "norm": None})
        check(REGISTRY["fft_c2r"], (x,), {"axis": 0, "n": 7, "norm": "forward"}, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("x", [NUMBERS, NUMBERS > 0, NUMBERS.T[::2], np.array(3)], ids=lambda x: f"{x.dtype}{x.shape}")
def test_whole_numbers_and_truths_are_added_up(x):
    for axis in (None, 0, (0, -1)) if x.ndim else (None,):
        for keepdims in (False, True):
            check(REGISTRY["sum"], (x,), {"axis": axis, "keepdims": keepdims})


SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
PLANE = np.zeros((7, 7), np.complex128)
PLANE.real, PLANE.imag = SPECIAL[:, None], SPECIAL


def same_bits(found, wanted):
    """Complex numbers whose parts are the same, nan where nan is; and zeros of the same sign."""
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    for z, w in ((found.real, wanted.real), (found.imag, wanted.imag)):
        assert_array_equal(z, w)
        assert_array_equal(np.signbit(z[z == 0]), np.signbit(w[w == 0]))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=lambda d: d.__name__)
def test_powers_in_the_plane(dtype):
    """Also of what is infinite or nan, of arrays and of numbers."""
    x, number = PLANE.astype(dtype), np.asarray(dtype(1.5 - 0.5j))
    pow = REGISTRY["pow"]
    for power in (2, 2.0, 0.5, -1, -1.0, 3, 1.5, -2.0, 1j):
        for array in (x, number):
            with np.errstate(all="ignore"):
                (found,) = replayed(lambda x, power=power: pow(x, power), array)
                same_bits(np.asarray(found), np.asarray(pow.forward(array, power)))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=lambda d: d.__name__)
def test_choices_and_products_of_the_chain_in_the_plane(dtype):
    x, y = PLANE.astype(dtype), PLANE[::-1].T.astype(dtype)
    mask, where = SPECIAL > 0, REGISTRY["where"]
    for f, wanted in (
        (lambda x, y, m: where(m, x, y), np.where(mask, x, y)),
        (lambda x, y, m: where(m[:, None], 0.0, y), np.where(mask[:, None], dtype(0), y)),
        (lambda x, y, m: REGISTRY["masked_fill"](x, m, 2j), np.where(mask, dtype(2j), x)),
        (lambda x, y, m: where(m, x[::-1, 1:2], y.real), np.where(mask, x[::-1, 1:2], y.real)),
    ):
        same_bits(replayed(f, x, y, mask)[0], wanted)
    chain = REGISTRY["chain_mul"]
    with np.errstate(all="ignore"):
        for a, b in ((x, y), (x[:, :1], y), (x, y[0])):
            assert_array_equal(replayed(chain, a, b)[0], chain.forward(a, b))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("n", [3, 9])
def test_products_of_complex_matrices(n, dtype):
    """By loops of our own and by BLAS, of matrices that lie in each way, and with real ones."""
    x, y = (RNG.standard_normal((2, n, n)) + 1j * RNG.standard_normal((2, n, n)) for _ in range(2))
    x, y = x.astype(dtype), y.astype(dtype)
    close = {"rtol": 1e-13, "atol": 1e-13} if dtype is np.complex128 else {"rtol": 1e-5, "atol": 1e-5}
    matmul, contract = REGISTRY["matmul"], REGISTRY["contract"]
    for a, b in (
        (x, y), (x[0], y), (x[0].T, y[1]), (x[0], y[1].T), (x[0], y[1, 0]), (x[0].T, y[1, :, 0]), (x[0, 0], y[1]),
        (x[0, 0], y[0, 1]), (x[0][::-1], y[0][:, ::2]), (x[0].real.copy(), y[0]), (x[0], y[0, 0].imag.copy()),
        (np.lib.stride_tricks.sliding_window_view(x.ravel(), 2), y[0, 0, :2]),
    ):  # fmt: skip
        check(matmul, (a, b), {}, **close)
    for a, b, how in ((x, y, "bij,bjk->bik"), (x[0], y[0], "ij,kj->ik"), (x[0], y[0].real.copy(), "ij,ij->")):
        check(contract, (a, b), {"subscripts": how}, **close)
    triangle = x + 3 * n * np.eye(n, dtype=dtype)
    for upper in (False, True):
        for left in (False, True):
            params = {"upper": upper, "unitriangular": False, "left": left}
            check(REGISTRY["solve_triangular"], (triangle, y), params, **close)
    check(
        REGISTRY["solve_triangular"],
        (triangle[0], y[0, :, :1]),
        {"upper": True, "unitriangular": True, "left": True},
        rtol=1e-4,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_order(axis, dtype):
    for x in (CUBE.astype(dtype), RNG.permutation(np.repeat(np.arange(40.0), 3)).reshape(2, 60, 1).astype(dtype)):
        for name, params in (
            ("argmax", {}), ("argmin", {"keepdims": True}), ("sort", {}), ("sort", {"descending": True}),
            ("topk", {"k": 1}), ("kthvalue", {"k": 1}), ("max_along", {}), ("min_along", {"keepdims": True}),
            ("cummax", {}), ("cummin", {}), ("argsort", {"stable": True}), ("argsort", {}), ("unbind", {}),
        ):  # fmt: skip
            check(REGISTRY[name], (x,), {"axis": axis, **params})


def test_equal_elements_are_in_the_order_of_numpy():
    x = np.repeat(np.arange(30.0), 2)[::-1].copy()
    program = record(lambda x: REGISTRY["argsort"](x), tape.tensor(RNG.random(60)))
    assert_array_equal(program.replay.sweeper((x,))[0], np.argsort(x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
def test_places(dtype):
    x, i, j = CUBE.astype(dtype), NUMBERS[0, :, 0].copy(), NUMBERS[1, :1, 0].copy()
    check(REGISTRY["gather"], (x, NUMBERS), {"axis": 1})
    check(REGISTRY["scatter_add"], (x, NUMBERS, 2 * x), {"axis": 1})
    check(REGISTRY["take"], (x, NUMBERS), {"axis": 0})
    check(REGISTRY["take"], (x, NUMBERS), {"axis": None})
    check(REGISTRY["index_add"], (x, i, x), {"axis": 1})
    every = slice(None)
    for form, arrays in (
        ((SLOT,), (i,)), ((every, SLOT), (i,)), ((SLOT, SLOT, slice(1, None)), (i, j)), ((SLOT, every, SLOT), (i, j)),
        ((Ellipsis, SLOT), (i,)), ((None, 1, SLOT), (i,)), ((SLOT, None, slice(None, None, -1), 0), (i,)),
    ):  # fmt: skip
        check(REGISTRY["lookup"], (x, *arrays), {"form": form})
        y = REGISTRY["lookup"].forward(x, *arrays, form=form) + dtype(1)
        check(REGISTRY["deposit"], (y, *arrays), {"form": form, "shape": x.shape})
        for accumulate in (False, True):
            check(REGISTRY["overwrite"], (x, y, *arrays), {"form": form, "accumulate": accumulate})
    for index in (i, (every, i), x[..., 0] > 0, (1, slice(None, None, 2)), (Ellipsis, [0, -1]), (i, i)):
        for accumulate in (False, True):
            params = {"index": index, "accumulate": accumulate}
            check(REGISTRY["index_put"], (x, np.asarray(dtype(0.5))), params)


def test_a_place_out_of_range_is_an_index_error():
    program = record(lambda x, i: REGISTRY["take"](x, i, axis=0), tape.tensor(CUBE), tape.tensor(NUMBERS))
    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds"):
            program.replay.sweeper((CUBE, NUMBERS + 7))
        assert_array_equal(program.replay.sweeper((CUBE, NUMBERS))[0], CUBE[NUMBERS])


def test_searches_and_recurrences():
    x = np.sort(CUBE.reshape(-1))
    for side in ("left", "right"):
        check(REGISTRY["searchsorted"], (x, CUBE), {"side": side})
    check(REGISTRY["recurrence"], (CUBE[1:], 0.5 * CUBE[1:]), {"axis": 0}, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
def test_special_functions_and_other_dtypes(dtype):
    x = np.abs(CUBE[1:].astype(dtype)) + dtype(0.1)
    for name in ("i0", "special_j0", "erfinv", "special_gamma"):
        check(REGISTRY[name], (x / 8,), {})
    check(REGISTRY["special_gammainc"], (x[0], x), {})
    z = x + 1j * x[::-1]
    for name in ("real", "imag", "sgn", "conj", "exp"):
        check(REGISTRY[name], (z.astype(np.complex128 if dtype is np.float64 else np.complex64),), {})
    check(REGISTRY["cast"], (x > 0.5,), {"dtype": np.dtype(dtype)})
    check(REGISTRY["resize"], (x,), {"n": 7, "axis": 1})


@pytest.mark.parametrize("shape", [(7, 33), (3, 5, 40), (2, 1, 17), (300, 16)])
def test_sums_of_rows_end_a_kernel(shape):
    x = RNG.standard_normal(shape)
    for tier in ("quick", "optimised"):
        program = record(lambda x: (np.exp(x).sum(axis=-1), (x * x).mean(axis=-1, keepdims=True)), x)
        assert len(program.statistics().kernels) == 1
        fast = tape.compile(lambda x: (np.exp(x).sum(axis=-1), (x * x).mean(axis=-1, keepdims=True)), tier=tier)
        for _ in range(2):
            z, w = fast(x)
            assert_allclose(z, np.exp(x).sum(axis=-1), rtol=1e-13)
            assert_allclose(w, (x * x).mean(axis=-1, keepdims=True), rtol=1e-13)


def test_a_loop_is_found_where_numpy_says():
    assert ufunc_loops.holds()
    assert ufunc_loops.loop_of(np.add, "dd->d") != ufunc_loops.loop_of(np.add, "ff->f")
    assert ufunc_loops.loop_of(np.add, "dd->f") is None


def test_a_pinned_array_is_found_by_any_address_in_it():
    words = PlanWords(checked=True)
    whole, other = np.arange(100.0), np.arange(7)
    begin = words.pin(whole)
    assert words.pinned_at(begin)[1] == 0
    words.pin(whole[3:5])  # which lies in the first, and is found before it
    words.pin(other)
    for address, offset in ((begin, 0), (begin + 24, 24), (begin + 40, 40), (begin + 799, 799)):
        memory, at = words.pinned_at(address)
        assert memory[at] == whole.view(np.uint8)[offset]
    assert words.pinned_at(other.ctypes.data + 8)[0].nbytes == other.nbytes
    for address in (begin - 1, 8):
        with pytest.raises(LookupError):
            words.pinned_at(address)


def test_large_parameters_are_equal_in_keys_if_their_bytes_are():
    many = np.arange(5000) % 7 < 3
    other = many.copy()
    other[-1] ^= True
    assert key_of(1, {"index": many}) == key_of(1, {"index": many.copy()}) != key_of(1, {"index": other})
    assert key_of(1, {"index": many[::2]}) != key_of(1, {"index": many[:2500]})


def test_elements_chosen_by_many_masks():
    def loss(x, r):
        z = np.zeros(40)
        for i in range(40):
            z[i] = (x[np.logical_and(i / 40 <= r, r < (i + 1) / 40)] ** 2).mean()
        return (z * np.arange(40)).sum()

    rng = np.random.default_rng(0)
    x, r = rng.standard_normal((2, 6000)) % 1
    wanted = tape.func.grad(loss)(x, r)
    compiled = tape.compile(tape.func.grad(loss))
    for _ in range(4):
        assert_allclose(compiled(x, r), wanted, rtol=1e-14)


def test_keys_tell_zeros_of_both_signs_apart() -> None:
    for kind in (float, complex, np.float16, np.float32, np.complex128, np.longdouble):
        assert key_of(1, {"a": kind(0.0)}) == key_of(1, {"a": kind(0.0)}) != key_of(1, {"a": -kind(0.0)})
    one, other = (np.zeros(2, [("a", kind), ("b", "i8")]) for kind in ("i8", "f8"))
    assert key_of(1, {"a": one}) != key_of(1, {"a": other})


def test_parameters_that_differ_in_the_sign_of_a_zero_are_two() -> None:
    zero = np.float32(0.0)
    compiled = tape.compile(lambda x: (np.nan_to_num(x, nan=zero), np.nan_to_num(x, nan=-zero)))
    for _ in range(2):
        assert [np.signbit(z).all() for z in compiled(np.full(3, np.nan, np.float32))] == [False, True]


STACKS = {
    "rows": ((100, 1, 7), (7, 5)),
    "matrices": ((3, 4, 7), (7, 5)),
    "two axes": ((5, 40, 3, 7), (1, 1, 7, 5)),
    "columns": ((6, 7), (100, 7, 1)),
    "a vector": ((100, 5, 7), (7,)),
    "a vector on the left": ((7,), (100, 7, 1)),
}
LIES = {
    "in order": lambda x: x,
    "axes exchanged": lambda x: np.moveaxis(np.moveaxis(x, 0, -2).copy(), -2, 0) if x.ndim > 2 else x,
    "turned": lambda x: np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2) if x.ndim > 1 else x,
    "every other": lambda x: np.repeat(x, 2, axis=0)[::2],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lies", LIES)
@pytest.mark.parametrize("name", STACKS)
def test_many_matrices_times_one_are_one_product(name, lies, dtype):
    xs = [LIES[lies](RNG.standard_normal(shape).astype(dtype)) for shape in STACKS[name]]
    close = {"rtol": 1e-12, "atol": 1e-13} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-5}
    check(REGISTRY["matmul"], xs, {}, **close)


def test_a_broadcast_stack_times_one_matrix():
    x, y = RNG.standard_normal((5, 7)), RNG.standard_normal((7, 3))
    for n in (3, 100):
        found = replayed(lambda x, y, n=n: tape.broadcast_to(x, (n, 5, 7)) @ y, x, y)
        assert_allclose(found[0], np.broadcast_to(x @ y, (n, 5, 3)), rtol=1e-12, atol=1e-13)


def test_what_a_step_makes_lies_where_the_caller_gets_it():
    x, y = RNG.standard_normal((2, 30, 30))
    program = record(lambda x, y: x @ y, *map(tape.tensor, (x, y)))
    plan = program.replay.sweeper.plan
    assert sum(kernel != 0 for kernel, _ in plan.steps) == plan.count
    first, second = program(tape.tensor(x), tape.tensor(y)), program(tape.tensor(y), tape.tensor(x))
    assert_allclose(first.numpy(), x @ y, rtol=1e-12, atol=1e-13)
    assert_allclose(second.numpy(), y @ x, rtol=1e-12, atol=1e-13)
    assert plan.memory.nbytes < x.nbytes
