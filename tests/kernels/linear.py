"""Products and sums of products, by slices and by loops."""

import numpy as np

from .kernel import kernel


@kernel((3, 4), (3, 5), (5, 4))
def product_onto(C, A, B):
    C[:] = 1.5 * A @ B + 1.2 * C


@kernel((4, 4), (4, 3))
def symmetric_update(C, A):
    """The lower triangle alone, a row at a time."""
    for i in range(A.shape[0]):
        C[i, : i + 1] *= 1.2
        for k in range(A.shape[1]):
            C[i, : i + 1] += 1.5 * A[i, k] * A[: i + 1, k]


@kernel((4, 4), (4, 3), (4, 3))
def symmetric_update_of_two(C, A, B):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= 1.2
        for k in range(A.shape[1]):
            C[i, : i + 1] += 1.5 * (A[: i + 1, k] * B[i, k] + B[: i + 1, k] * A[i, k])


@kernel((4, 4), (4, 3))
def triangular_product(A, B):
    rows, columns = B.shape
    for i in range(rows):
        for j in range(columns):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= 1.5


@kernel((4, 3), (4, 4), (4, 3))
def half_stored_product(C, A, B):
    """One triangle of A stands for both."""
    held = np.empty(C.shape[1], dtype=C.dtype)
    C *= 1.2
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += 1.5 * B[i, j] * A[i, :i]
            held[j] = B[:i, j] @ A[i, :i]
        C[i, :] += 1.5 * (B[i, :] * A[i, i] + held)


@kernel((4, 4), 4, 4, 4, 4, 4, 4)
def rank_two_chain(A, u, v, s, t, x, y):
    A += np.outer(u, v) + np.outer(s, t)
    x += 1.2 * y @ A
    y[:] = 1.5 * A @ x


@kernel((4, 3), (4, 3), 3)
def two_matrices_one_vector(A, B, x):
    return 1.5 * A @ x + 1.2 * B @ x


@kernel((4, 3), 3, 4)
def both_sides(A, p, r):
    return r @ A, A @ p, (A @ p) @ A


@kernel(4, 4, 4, 4, (4, 4))
def two_vectors_in_place(x, y, p, q, A):
    x += A @ p
    y += q @ A


@kernel((2, 3), (3, 4), (4, 2), (2, 2))
def chain_of_products(A, B, C, D):
    D[:] = 1.5 * A @ B @ C @ D + 1.2 * D


@kernel((2, 3, 4), (4, 4))
def contracted_in_place(A, C):
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            A[r, q, :] = A[r, q, :] @ C


@kernel((2, 3, 4), (4, 5))
def contracted_by_reshaping(A, C):
    return np.reshape(np.reshape(A, (6, 4)) @ C, (2, 3, 5)), np.einsum("rqp,ps->sqr", A, C)


@kernel((3, 3), (3, 3))
def by_three_loops(A, B):
    C = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                C[i, j] += A[i, k] * B[k, j]
    return C


@kernel(7, 4)
def compressed_rows(values, x):
    """A sparse matrix times a vector."""
    starts, columns = np.array([0, 2, 3, 3, 7]), np.array([0, 3, 1, 0, 1, 2, 3])
    y = np.empty(starts.size - 1, dtype=values.dtype)
    for i in range(y.size):
        y[i] = values[starts[i] : starts[i + 1]] @ x[columns[starts[i] : starts[i + 1]]]
    return y


@kernel(7, 4)
def scattered_entries(values, x):
    """The same matrix by coordinates."""
    rows, columns = np.array([0, 0, 1, 3, 3, 3, 3]), np.array([0, 3, 1, 0, 1, 2, 3])
    y = np.zeros(4)
    np.add.at(y, rows, values * x[columns])
    return y + np.bincount(rows, minlength=4)
