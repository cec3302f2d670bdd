"""Factorisations and recurrences that solve systems of equations."""

import numpy as np

from .kernel import definite, dominant, drawn, kernel


@drawn(lambda rng: (dominant(rng, 4),))
def lu_in_place(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]


@drawn(lambda rng: (dominant(rng, 4), rng.uniform(-1, 1, 4)))
def gauss_elimination(A, b):
    n = b.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i, k:] -= factor * A[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros_like(b)
    for i in reversed(range(n)):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


@drawn(lambda rng: (rng.uniform(-1, 1, (4, 4)), rng.uniform(-1, 1, 4)))
def elimination_with_pivots(A, b):
    """The rows are exchanged, by an array of indices that depends on values."""
    n = b.size
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        A[[k, p]] = A[[p, k]]
        b[[k, p]] = b[[p, k]]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
        b[k + 1 :] -= A[k + 1 :, k] * b[k]
    return b


@drawn(lambda rng: (definite(rng, 4),))
def cholesky_in_place(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] = (A[i, j] - np.dot(A[i, :j], A[j, :j])) / A[j, j]
        A[i, i] = np.sqrt(A[i, i] - np.dot(A[i, :i], A[i, :i]))


@drawn(lambda rng: (definite(rng, 3),))
def cholesky_of_numpy(A):
    A[:] = np.linalg.cholesky((A + A.T) / 2) + np.triu(A, k=1)


@drawn(lambda rng: (dominant(rng, 5), rng.uniform(-1, 1, 5)))
def forward_substitution(L, b):
    x = np.empty_like(b)
    for i in range(b.size):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


@drawn(lambda rng: tuple(rng.uniform(-1, 1, 6) + shift for shift in (0, 4, 0, 0)))
def three_diagonals(below, d, above, b):
    """Thomas' algorithm."""
    n = len(d)
    for i in range(1, n):
        w = below[i] / d[i - 1]
        d[i] -= w * above[i - 1]
        b[i] -= w * b[i - 1]
    b[-1] /= d[-1]
    for i in range(n - 2, -1, -1):
        b[i] = (b[i] - above[i] * b[i + 1]) / d[i]
    return b


@kernel(5, low=0.1, high=0.4)
def toeplitz_recursion(r):
    """Levinson and Durbin's."""
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = alpha
    for k in range(1, r.size):
        beta *= 1 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@drawn(lambda rng: (rng.uniform(-1, 1, (4, 3)) + np.eye(4, 3),))
def orthonormal_columns(A):
    """Gram and Schmidt's, which changes the columns that are left."""
    n = A.shape[1]
    Q, R = np.zeros_like(A), np.zeros((n, n), dtype=A.dtype)
    for k in range(n):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


@drawn(lambda rng: (rng.uniform(-1, 1, (4, 3)) + np.eye(4, 3),))
def reflections(A):
    """Householder's triangle."""
    n = A.shape[1]
    for k in range(n):
        v = A[k:, k].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        A[k:, k:] -= 2 * np.outer(v, v @ A[k:, k:])
    return np.triu(A[:n])


@drawn(lambda rng: (definite(rng, 4), rng.uniform(-1, 1, 4)))
def conjugate_gradients(A, b):
    x = np.zeros(b.shape)
    r = b - A @ x
    p = r.copy()
    rho = r @ r
    for _ in range(3):
        q = A @ p
        alpha = rho / (p @ q)
        x += alpha * p
        r -= alpha * q
        rho, before = r @ r, rho
        p *= rho / before
        p += r
    return x


@drawn(lambda rng: (dominant(rng, 3), rng.uniform(-1, 1, 3)))
def relaxed_until_it_settles(A, b):
    x = np.zeros_like(b)
    for _ in range(50):
        before = x.copy()
        for i in range(b.size):
            rest = A[i, :] @ x - A[i, i] * x[i]
            x[i] = (b[i] - rest) / A[i, i]
        if np.abs(x - before).max() < 1e-14:
            break
    return x


@kernel((4, 4))
def implicit_sweeps(u):
    """Rows, then columns, each by elimination in buffers that begin empty."""
    n = len(u)
    v, p, q = (np.ndarray(u.shape, dtype=u.dtype) for _ in range(3))
    for _ in range(2):
        for old, new in ((u, v), (v.T, u.T)):
            new[0, :] = new[-1, :] = 1.0
            new[:, 0] = new[:, -1] = 1.0
            p[:, 0], q[:, 0] = 0.0, 1.0
            for j in range(1, n - 1):
                p[:, j] = 0.3 / (1.6 - 0.3 * p[:, j - 1])
                q[1:-1, j] = (old[j, 1:-1] + 0.2 * (old[j, :-2] + old[j, 2:]) + 0.3 * q[1:-1, j - 1]) / (
                    1.6 - 0.3 * p[1:-1, j - 1]
                )
            for j in range(n - 2, 0, -1):
                new[j, 1:-1] = p[1:-1, j] * new[j + 1, 1:-1] + q[1:-1, j]
    return u


@drawn(lambda rng: (rng.uniform(-1, 1, (2, 2, 5)), rng.uniform(-1, 1, (2, 2, 5)), rng.uniform(0.1, 0.5, (3, 2, 5))))
def vertical_transport(stage, u, w):
    """Columns of a box of air, solved downwards in buffers and written back upwards."""
    levels = u.shape[2]
    upper, right = np.empty(u.shape, dtype=u.dtype), np.empty(u.shape, dtype=u.dtype)
    for k in range(levels):
        below = -0.25 * (w[1:, :, k] + w[:-1, :, k]) if k > 0 else 0.0
        above = 0.25 * (w[1:, :, k + 1] + w[:-1, :, k + 1]) if k < levels - 1 else 0.0
        diagonal = 3.0 - below - above
        right[:, :, k] = 3.0 * u[:, :, k] + stage[:, :, k]
        if k < levels - 1:
            upper[:, :, k] = above
            right[:, :, k] -= above * (u[:, :, k + 1] - u[:, :, k])
        if k > 0:
            diagonal -= upper[:, :, k - 1] * below
            right[:, :, k] -= right[:, :, k - 1] * below
            if k < levels - 1:
                upper[:, :, k] /= diagonal
            right[:, :, k] /= diagonal
        else:
            upper[:, :, 0] /= diagonal
            right[:, :, 0] /= diagonal
    held = right[:, :, -1]
    stage[:, :, -1] = 3.0 * (held - u[:, :, -1])
    for k in range(levels - 2, -1, -1):
        held = right[:, :, k] - upper[:, :, k] * held
        stage[:, :, k] = 3.0 * (held - u[:, :, k])
