"""A constant sparse matrix times what is recorded."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from scipy.sparse.linalg import spsolve

import tape

X = np.array([0.5, 0.3, 0.8])
D = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0], [1.5, 0.0, 4.0]])
FORMATS = [
    f"{name}_{kind}" for name in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil") for kind in ("matrix", "array")
]
PRODUCTS = {
    "A @ x": (lambda a, x: a @ x, lambda d, x: d @ x),
    "x @ A": (lambda a, x: x @ a, lambda d, x: x @ d),
    "A.T @ x": (lambda a, x: a.T @ x, lambda d, x: d.T @ x),
    "A.dot(x)": (lambda a, x: a.dot(x), lambda d, x: d @ x),
}


def made(name, d=D):
    return getattr(scipy.sparse, name)(d)


def loss(product, a):
    """A number of products with a vector and with a matrix."""
    return lambda x: (product(a, x) ** 3).sum() + (product(a, x.reshape(-1, 1) * x) ** 2).sum()


@pytest.mark.parametrize("how", PRODUCTS)
@pytest.mark.parametrize("name", FORMATS)
def test_products_are_those_of_the_dense_matrix(name, how):
    of_sparse, of_dense = PRODUCTS[how]
    f, g = loss(of_sparse, made(name)), loss(of_dense, D)
    for transform in (tape.func.grad, tape.func.jacfwd, tape.func.hessian):
        assert_allclose(transform(f)(X), transform(g)(X), rtol=1e-12)
    batch = np.stack([X, 2 * X])
    assert_allclose(tape.vmap(tape.func.grad(f))(batch), tape.vmap(tape.func.grad(g))(batch), rtol=1e-12)
    t = tape.tensor(X, requires_grad=True)
    if how == "A.dot(x)" and name.startswith("coo"):  # SciPy asks for an array before anything else
        with pytest.raises(RuntimeError, match=r"Can't call numpy\(\)"):
            f(t)
        return
    f(t).backward()
    assert_allclose(t.grad.numpy(), tape.func.grad(g)(X), rtol=1e-12)
    for transform in (tape.func.grad, tape.func.jacfwd, tape.func.hessian):
        assert_allclose(transform(f)(tape.tensor(X)).numpy(), transform(g)(X), rtol=1e-12)


@pytest.mark.parametrize("name", FORMATS)
def test_a_compiled_function_notices_a_changed_matrix(name):
    a = made(name)
    for at in (X, tape.tensor(X)):
        compiled = tape.compile(tape.func.grad(lambda x: ((a @ x) ** 2).sum()))
        for factor in (1.0, 2.0):
            for _ in range(3):
                dense = a.toarray()
                assert_allclose(np.asarray(compiled(at)), 2 * dense.T @ (dense @ X), rtol=1e-12)
            if factor == 1.0 and name[:3] in ("dok", "lil"):
                a[0, 0] = a[0, 0] + 1.0
            elif factor == 1.0:
                a.data[...] *= 2
        assert compiled.statistics().eager == 0


@pytest.mark.parametrize("complexity", ["matrix", "vector", "both"])
def test_complex_numbers(complexity):
    d = D + 1j * np.triu(D) if complexity != "vector" else D
    x = X + 1j * X[::-1] if complexity != "matrix" else X
    a = scipy.sparse.csr_array(d)
    t, u = (tape.tensor(x, requires_grad=True) for _ in range(2))
    for z in (a @ t, tape.tensor(d) @ u):
        (z * z.conj()).real.sum().backward()
    assert t.grad.dtype == u.grad.dtype
    assert_allclose(t.grad.numpy(), u.grad.numpy(), rtol=1e-12)


def test_the_matrix_of_the_forward_pass_is_that_of_the_backward_pass():
    a = scipy.sparse.csr_array(D)
    t = tape.tensor(X, requires_grad=True)
    z = (a @ t).sum()
    a.data[...] = 0.0
    z.backward()
    assert_allclose(t.grad.numpy(), D.sum(0))


def test_a_matrix_times_is_a_product_and_an_array_times_is_refused():
    f = tape.func.grad(lambda x: ((scipy.sparse.csr_matrix(D) * x) ** 2).sum())
    assert_allclose(f(X), 2 * D.T @ (D @ X))
    with pytest.raises(TypeError, match="needs plain numbers"):
        tape.func.grad(lambda x: (scipy.sparse.csr_array(D) * x).sum())(X)


def test_a_sparse_vector():
    v = scipy.sparse.coo_array(np.array([1.0, 0.0, 2.0]))
    for f in (lambda x: (v @ x) ** 2, lambda x: (x @ v) ** 2):
        assert_allclose(tape.func.grad(f)(X), 2 * (v @ X) * v.toarray())


@pytest.mark.parametrize("right", [lambda x: x, lambda x: np.outer(x, x)])
def test_systems(right):
    a = scipy.sparse.csc_array(D)
    f, g = (lambda x: (spsolve(a, right(x)) ** 2).sum()), (lambda x: (np.linalg.solve(D, right(x)) ** 2).sum())
    for transform in (tape.func.grad, tape.func.jacfwd, tape.func.hessian):
        assert_allclose(transform(f)(X), transform(g)(X), rtol=1e-11)
    compiled = tape.compile(tape.func.grad(f))
    for at in (X, 2 * X, X):
        assert_allclose(compiled(at), tape.func.grad(g)(at), rtol=1e-11)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, x: a.multiply(x).sum(),
        lambda a, x: (a + x).sum(),
        lambda a, x: (a / x).sum(),
        lambda a, x: (x[0] * a).sum(),
        lambda a, x: scipy.sparse.csr_array((x, ([0, 1, 2], [0, 1, 2]))).sum(),
        lambda a, x: scipy.sparse.csr_matrix(np.diag(x)).sum(),
        lambda a, x: scipy.sparse.diags_array(x).sum(),
        lambda a, x: (scipy.sparse.linalg.aslinearoperator(a) @ x).sum(),
    ],
)
def test_what_keeps_numbers_is_refused(f):
    a = scipy.sparse.csr_array(D)
    for transform in (tape.func.grad, tape.func.jacfwd):
        with pytest.raises(TypeError, match=r"(?s)scipy\.sparse.*needs plain numbers.*A\.toarray\(\)"):
            transform(lambda x: f(a, x))(X)


@pytest.mark.parametrize("f", [lambda a, x: a @ x[:2], lambda a, x: x[:2] @ a])
def test_shapes_that_do_not_fit(f):
    a = scipy.sparse.csr_array(D)
    with pytest.raises(ValueError, match=r"sparse matrix.*got"):
        tape.func.grad(lambda x: f(a, x).sum())(X)
    with pytest.raises(ValueError, match=r"sparse matrix.*got"):
        f(a, tape.tensor(X))


def test_a_program_with_a_sparse_matrix_has_no_file(tmp_path):
    a = scipy.sparse.csr_array(D)
    program = tape.record(lambda x: a @ x, X)
    assert_allclose(program(2 * X), 2 * D @ X)
    with pytest.raises(TypeError, match="a file cannot hold <sparse matrix of shape"):
        program.save(tmp_path / "program.tape")
