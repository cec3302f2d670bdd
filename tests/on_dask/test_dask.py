"""Sums over blocks of any kind of data, on Dask's threads in this process."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.optimize
from dask_cluster import MISSING, blocked
from hypothesis import given, strategies as st

import tape

pytest.importorskip("dask.array", reason=MISSING)
import dask
import dask.array as da

import tape.dask
from tape.dask import parcel, parcel_programs, worker

draw = np.random.default_rng(5)
X = draw.normal(size=(203, 3))
y = X @ np.array([1.0, -2.0, 0.5]) + 0.1 * draw.normal(size=203)
W = np.array([0.3, -0.2, 0.1])


def squares(w, X, y):
    return ((np.tanh(X @ w) - y) ** 2).sum()


def mean_square(w, X, y):
    return ((np.tanh(X @ w) - y) ** 2).mean()


def residual(w, X, y):
    return np.tanh(X @ w) - y


def slope(w, X, y):
    """The gradient of `squares` by hand."""
    t = np.tanh(X @ w)
    return X.T @ (2 * (t - y) * (1 - t * t))


@given(rows=st.integers(1, 40), count=st.integers(1, 40), reduction=st.sampled_from(["sum", "mean"]))
def test_any_number_of_blocks_of_any_size(rows, count, reduction):
    loss = squares if reduction == "sum" else mean_square
    evaluate = tape.dask.value_and_grad(loss, blocked(X[:count], y[:count], rows=rows), reduction=reduction)
    value, gradient = evaluate(W)
    np.testing.assert_allclose(value, loss(W, X[:count], y[:count]), rtol=1e-13)
    scale = 1 if reduction == "sum" else count
    np.testing.assert_allclose(gradient, slope(W, X[:count], y[:count]) / scale, rtol=1e-11, atol=1e-13)


def test_parameters_may_be_nested():
    def loss(p, X, y):
        return ((X @ p["w"][0] * p["scale"] - y) ** 2).sum()

    parameters = {"w": [W], "scale": 2.0, "unused": (np.zeros(2),)}
    value, gradient = tape.dask.value_and_grad(loss, data=blocked(X, y))(parameters)
    r = 2 * X @ W - y
    np.testing.assert_allclose(value, r @ r, rtol=1e-13)
    np.testing.assert_allclose(gradient["w"][0], 4 * X.T @ r, rtol=1e-12)
    np.testing.assert_allclose(gradient["scale"], 2 * (X @ W) @ r, rtol=1e-12)
    assert gradient["unused"][0].tolist() == [0.0, 0.0]
    assert list(gradient) == list(parameters)


def test_float32_stays():
    data = blocked(X.astype(np.float32), y.astype(np.float32))
    value, gradient = tape.dask.value_and_grad(squares, data=data)(W.astype(np.float32))
    assert (value.dtype, gradient.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(gradient, slope(W, X, y), rtol=1e-4)


def test_data_of_every_kind():
    """Arrays, arrays of unknown chunks, a bag of records, delayed tuples, dataframes: the same numbers."""
    expected = squares(W, X, y)
    known = blocked(X, y)
    everywhere = da.ones(203, chunks=50) > 0
    unknown = tuple(x[everywhere] for x in known)
    bag = pytest.importorskip("dask.bag").from_sequence(list(zip(X, y, strict=True)), npartitions=4)
    delayed = [dask.delayed(lambda k: (X[k::4], y[k::4]))(k) for k in range(4)]
    pair = lambda w, both: squares(w, *both)  # noqa: E731
    for loss, data in ((squares, known), (squares, unknown), (pair, bag), (pair, delayed)):
        value, gradient = tape.dask.value_and_grad(loss, data=data)(W)
        np.testing.assert_allclose(value, expected, rtol=1e-13)
        np.testing.assert_allclose(gradient, slope(W, X, y), rtol=1e-12)


def test_dataframes():
    pandas = pytest.importorskip("pandas", reason="dataframes need pandas and pyarrow")
    dd = pytest.importorskip("dask.dataframe", reason="dataframes need pandas and pyarrow")
    frame = dd.from_pandas(pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}), npartitions=3)
    for data in ((frame[["a", "b", "c"]], frame["y"]), (frame[["a", "b", "c"]].to_dask_array(), frame["y"])):
        value, gradient = tape.dask.value_and_grad(squares, data=data)(W)
        np.testing.assert_allclose(value, squares(W, X, y), rtol=1e-13)
        np.testing.assert_allclose(gradient, slope(W, X, y), rtol=1e-12)


def test_blocks_without_rows_contribute_nothing():
    few = X[:, 0] > 2.0
    Xd, yd, chosen = *blocked(X, y, rows=20), blocked(few, rows=20)[0]
    evaluate = tape.dask.value_and_grad(mean_square, data=(Xd[chosen], yd[chosen]), reduction="mean")
    np.testing.assert_allclose(evaluate(W)[0], mean_square(W, X[few], y[few]), rtol=1e-13)
    nothing = Xd[:, 0] > 1e9
    with pytest.raises(ValueError, match="there is no row in any block"):
        tape.dask.value_and_grad(mean_square, data=(Xd[nothing], yd[nothing]), reduction="mean")(W)


def test_a_function_is_recorded_once_per_shape():
    evaluate = tape.dask.value_and_grad(squares, data=blocked(X, y))
    for k in range(3):
        evaluate(W + k)
    assert sorted(path.replays for path in evaluate.paths()) == [3, 12]  # of the last block, and of the other four


def test_blocks_that_lie_otherwise_give_the_same_bits():
    """In columns, every other row, off the alignment of their numbers."""
    apart = np.repeat(X, 2, axis=0)[::2]
    shifted = np.frombuffer(b"." + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
    assert not shifted.flags.aligned
    blocks = [dask.delayed(x) for x in (X, apart, shifted, X.copy())]
    found = [tape.dask.value_and_grad(lambda w, X: np.exp(X @ w).sum(), data=[block])(W) for block in blocks]
    assert len({(float(v).hex(), g.tobytes()) for v, g in found}) == 1


def test_changes_in_place_see_arrays_in_row_major_order():
    def loss(w, X):
        z = X * 1.0
        z[:, 0] = 0.0
        return (z @ w).sum()

    expected = (X[:, 1:] @ W[1:]).sum()
    for x in (X, np.asfortranarray(X)):
        value, _ = tape.dask.value_and_grad(loss, data=[dask.delayed(x)])(W)
        np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_products_with_the_hessian():
    data = blocked(X, y)
    H = tape.dask.hvp(squares, data=data)
    v, h = np.array([1.0, 2.0, -1.0]), 1e-6
    differences = (slope(W + h * v, X, y) - slope(W - h * v, X, y)) / (2 * h)
    np.testing.assert_allclose(H(W, v), differences, rtol=1e-6)
    np.testing.assert_allclose(H.operator(W) @ v, H(W, v), rtol=0)
    nested = tape.dask.hvp(lambda p, X, y: squares(p["w"], X, y), data=data)
    np.testing.assert_allclose(nested({"w": W}, {"w": v})["w"], H(W, v), rtol=1e-13)
    np.testing.assert_allclose(nested.operator({"w": W}).matvec(v), H(W, v), rtol=1e-13)
    with pytest.raises(ValueError, match="requires a vector like the parameters"):
        H(W, v[:2])


@pytest.mark.parametrize("method", ["trust-ncg", "Newton-CG", "trust-krylov"])
def test_newtons_methods_of_scipy(method):
    data = blocked(X, y)
    evaluate, H = (make(mean_square, data=data, reduction="mean") for make in (tape.dask.value_and_grad, tape.dask.hvp))
    found = scipy.optimize.minimize(evaluate, np.zeros(3), jac=True, hessp=H, method=method)
    assert np.abs(slope(found.x, X, y)).max() / 203 < 1e-4
    found = scipy.optimize.minimize(evaluate, np.zeros(3), jac=True, hess=H.operator, method="Newton-CG")
    assert np.abs(slope(found.x, X, y)).max() / 203 < 1e-4


def test_gauss_and_newton():
    data = blocked(X, y)
    normal = tape.dask.gauss_newton(residual, data=data)
    JTJ, JTr = normal(W)
    J = (1 - np.tanh(X @ W) ** 2)[:, None] * X
    np.testing.assert_allclose(JTJ, J.T @ J, rtol=1e-12)
    np.testing.assert_allclose(JTr, J.T @ residual(W, X, y), rtol=1e-12)
    for rows in (20, 50, 203):  # a mean over rows, however they are cut
        mean = tape.dask.gauss_newton(residual, data=blocked(X, y, rows=rows), reduction="mean")(W)
        np.testing.assert_allclose(mean[0], J.T @ J / 203, rtol=1e-12)
        np.testing.assert_allclose(mean[1], J.T @ residual(W, X, y) / 203, rtol=1e-12)
    nested = tape.dask.gauss_newton(lambda p, X, y: residual(p[0], X, y) * p[1], data=data)
    JTJ, JTr = nested((W, 1.0))
    np.testing.assert_allclose(JTJ[:3, :3], J.T @ J, rtol=1e-12)
    np.testing.assert_allclose(JTJ[3, 3], np.sum(residual(W, X, y) ** 2), rtol=1e-12)
    np.testing.assert_allclose(JTr[3], np.sum(residual(W, X, y) ** 2), rtol=1e-12)


def test_too_many_paths_give_the_same_numbers(monkeypatch):
    """What a block gives must not depend on whether its path could be kept."""
    monkeypatch.setattr(parcel_programs, "MOST_PATHS", 2)

    def loss(w, X, y):
        return (X @ w).sum() * float(y[0])

    evaluate = tape.dask.value_and_grad(loss, data=blocked(X, y, rows=10))
    expected = sum((X[k : k + 10] @ W).sum() * y[k] for k in range(0, 203, 10))
    assert evaluate(W)[0] == evaluate(W)[0]
    np.testing.assert_allclose(evaluate(W)[0], expected, rtol=1e-12)


def test_complex_parameters():
    w = W + 1j * W[::-1]
    value, gradient = tape.dask.value_and_grad(lambda w, X: (np.abs(X @ w) ** 2).sum(), data=blocked(X))(w)
    np.testing.assert_allclose(value, np.sum(np.abs(X @ w) ** 2), rtol=1e-12)
    np.testing.assert_allclose(gradient, 2 * X.T @ (X @ w), rtol=1e-12)


def test_models_as_others_write_them():
    """A generalised linear model in the way of Dask's, and a Poisson model with effects of groups in a dict."""

    def loglike(Xbeta, y):
        return np.sum(np.log1p(np.exp(Xbeta))) - np.dot(y, Xbeta)

    t, groups = (y > 0).astype(float), np.arange(203) % 5
    _, gradient = tape.dask.value_and_grad(lambda b, X, t: loglike(np.dot(X, b), t), data=blocked(X, t))(W)
    np.testing.assert_allclose(gradient, X.T @ (1 / (1 + np.exp(-X @ W)) - t), rtol=1e-10)

    def poisson(p, X, groups, counts):
        eta = X @ p["beta"] + p["alpha"][groups] * np.exp(p["log_sigma"]) + p["mu"]
        return (np.exp(eta) - counts * eta).sum()

    p = {"beta": W, "alpha": np.linspace(-1, 1, 5), "log_sigma": np.array(-1.0), "mu": 0.2}
    counts = np.arange(203) % 4.0
    _, gradient = tape.dask.value_and_grad(poisson, data=blocked(X, groups, counts))(p)
    slope = np.exp(X @ W + p["alpha"][groups] * np.exp(-1.0) + 0.2) - counts
    np.testing.assert_allclose(gradient["beta"], X.T @ slope, rtol=1e-10)
    np.testing.assert_allclose(gradient["alpha"], np.bincount(groups, slope) * np.exp(-1.0), rtol=1e-10)
    np.testing.assert_allclose(gradient["log_sigma"], p["alpha"][groups] @ slope * np.exp(-1.0), rtol=1e-10)
    np.testing.assert_allclose(gradient["mu"], slope.sum(), rtol=1e-10)


def test_complex_and_whole_numbers_in_the_data():
    z, n = X[:, 0] + 1j * X[:, 1], np.arange(203) % 3

    def loss(w, z, n):
        return (np.abs(z) * w[n]).sum()

    _, gradient = tape.dask.value_and_grad(loss, data=blocked(z, n))(W)
    np.testing.assert_allclose(gradient, [np.abs(z[n == k]).sum() for k in range(3)], rtol=1e-12)


MISTAKES = {
    "plain array": (lambda: tape.dask.value_and_grad(squares, data=(X, y)), TypeError, r"from_array\(x, chunks=…\)"),
    "no data": (lambda: tape.dask.value_and_grad(squares, data=()), ValueError, "requires data"),
    "no rows": (lambda: tape.dask.value_and_grad(squares, data=da.ones(())), ValueError, "no axes"),
    "columns": (
        lambda: tape.dask.value_and_grad(squares, data=da.ones((4, 4), chunks=2)), ValueError, "blocks of whole rows"),
    "counts": (
        lambda: tape.dask.value_and_grad(squares, data=(*blocked(X), *blocked(y, rows=20))), ValueError,
        "same number of blocks"),
    "rows": (
        lambda: tape.dask.value_and_grad(squares, data=(*blocked(X[:100]), da.ones(100, chunks=(40, 60)))), ValueError,
        r"the same rows in each block.*Rechunk"),
    "reduction": (
        lambda: tape.dask.value_and_grad(squares, data=blocked(X, y), reduction="max"), ValueError, "'sum' or 'mean'"),
    "nan": (lambda: tape.dask.hvp(squares, data=blocked(X, y), nan="skip"), ValueError, "'propagate' or 'raise'"),
    "tier": (lambda: tape.dask.hvp(squares, data=blocked(X, y), tier=None), ValueError, "tier= must be one of"),
    "function": (lambda: tape.dask.hvp(3, data=blocked(X, y)), TypeError, r"tape.dask.hvp requires a function"),
    "whole numbers": (
        lambda: tape.dask.value_and_grad(squares, data=blocked(X, y))([1, 2]), TypeError, "floating-point numbers"),
    "a vector": (
        lambda: tape.dask.value_and_grad(lambda w, X: X @ w, data=blocked(X))(W), RuntimeError, "without axes"),
    "objects": (
        lambda: tape.dask.value_and_grad(squares, data=da.from_array(np.array([1, None]), chunks=1)), TypeError,
        r"must hold numbers; its dtype is object.*astype\(float\)"),
    "a delayed value for all blocks": (
        lambda: tape.dask.map(np.multiply, *blocked(y), dask.delayed(2.0)), TypeError,
        r"argument 1 is, or holds, a Delayed.*x\.compute\(\)"),
    "an array inside an argument": (
        lambda: tape.dask.map(lambda x, p: x * p["a"], *blocked(y), {"a": blocked(y)[0]}), TypeError,
        r"argument 1 is, or holds, a Array.*an argument of its own"),
    "several residuals": (
        lambda: tape.dask.gauss_newton(lambda w, X, y: (X @ w - y, w), data=blocked(X, y))(W), TypeError,
        "requires residuals in one array; got a tuple of 2"),
    "text": (
        lambda: tape.dask.value_and_grad(squares, data=[dask.delayed(["a", "b"])])(W), TypeError, "must hold numbers"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake):
    make, error, match = MISTAKES[mistake]
    with pytest.raises(error, match=f"(?s){match}"):
        make()


def test_another_version_is_refused():
    travelled = ("0.0.1, file format 2", *parcel.packed("f", "map", None, squares, None, False, "optimised")[1:])
    with pytest.raises(RuntimeError, match=r"client has version 0\.0\.1, .* this process has "):
        parcel_programs.opened(travelled)


def test_opened_parcels_are_forgotten_some_day(monkeypatch):
    monkeypatch.setattr(parcel_programs, "MOST_OPEN", 1)
    parcels = [parcel.packed(f"f{k}", "map", None, squares, None, False, "optimised") for k in range(3)]
    opened = [parcel_programs.opened(tuple(p)) for p in parcels]
    assert parcel_programs.opened(tuple(parcels[2])) is opened[2]
    assert parcel_programs.opened(tuple(parcels[0])) is not opened[0]


def test_records_of_a_bag_become_arrays():
    block = worker.block_of([{"x": [1.0, 2.0], "n": 3}, {"x": [4.0, 5.0], "n": 6}])
    np.testing.assert_array_equal(block["x"], [[1.0, 2.0], [4.0, 5.0]])
    np.testing.assert_array_equal(block["n"], [3, 6])


def test_dask_is_imported_when_it_is_asked_for_and_what_is_missing_is_said():
    """No Dask, and a Dask with other tasks: what to install is said by name."""
    code = """if True:
        import sys, tape
        tape.compile
        print(any(m.startswith(("dask", "distributed")) for m in sys.modules))
        sys.modules["dask"] = None
        try:
            tape.dask
        except ImportError as e:
            print(e)
        del sys.modules["dask"]
        import dask._task_spec
        del dask._task_spec.TaskRef
        try:
            import tape.dask.tasks
        except ImportError as e:
            print(e)
        """
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, without, other = answer.stdout.splitlines()
    assert loaded == "False"
    assert "pip install 'wengert[dask]'" in without
    assert f"since 2026.1.1 (Task, TaskRef and List of dask._task_spec), and Dask {dask.__version__} has not" in other
