"""Averages of neighbours, written back in place."""

import numpy as np

from .kernel import kernel


@kernel(7, 7)
def smoothing_1d(u, w):
    for _ in range(3):
        w[1:-1] = (u[:-2] + u[1:-1] + u[2:]) / 3
        u[1:-1] = (w[:-2] + w[1:-1] + w[2:]) / 3


@kernel((5, 4), (5, 4))
def smoothing_2d(u, w):
    for _ in range(2):
        w[1:-1, 1:-1] = 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1])
        u[1:-1, 1:-1] = 0.2 * (w[1:-1, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:] + w[:-2, 1:-1] + w[2:, 1:-1])


@kernel((4, 4, 4))
def heat_in_a_block(u):
    inner = np.s_[1:-1, 1:-1, 1:-1]
    for _ in range(2):
        old = u.copy()
        for axis in range(3):
            u[inner] += 0.1 * (np.roll(old, 1, axis) - 2 * old + np.roll(old, -1, axis))[inner]


@kernel((4, 5))
def sweep_in_place(u):
    """Each element sees the new values of those before it."""
    rows, columns = u.shape
    for _ in range(2):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = (u[i - 1, j] + u[i, j - 1] + u[i, j] + u[i, j + 1] + u[i + 1, j]) / 5


@kernel((4, 5))
def sweep_by_rows(u):
    """A row at once, then the recurrence along it."""
    for i in range(1, u.shape[0] - 1):
        u[i, 1:-1] += u[i - 1, :-2] + u[i - 1, 2:] + u[i + 1, 1:-1]
        for j in range(1, u.shape[1] - 1):
            u[i, j] += u[i, j - 1]
            u[i, j] /= 4.0


@kernel((5, 5), (5, 5))
def checkerboard(u, f):
    """The odd and the even cells in turns, through strides."""
    for start in (0, 1, 0):
        for i in range(1, 4):
            first = 1 + (i + start) % 2
            cells = u[i, first:-1:2]
            cells[...] = 0.25 * (u[i - 1, first:-1:2] + u[i + 1, first:-1:2] + f[i, first:-1:2])


@kernel((4, 5), (4, 5), (4, 5), 3)
def waves_on_a_staggered_grid(ex, ey, hz, source):
    for s in source:
        ey[0, :] = s
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@kernel((6, 6, 2), (2, 2, 2), curved=False)
def limited_diffusion(field, strength):
    """The flux is dropped where it runs up the slope."""
    curvature = 4 * field[1:-1, 1:-1] - field[2:, 1:-1] - field[:-2, 1:-1] - field[1:-1, 2:] - field[1:-1, :-2]
    across = np.diff(curvature[:, 1:-1], axis=0)
    across = np.where(across * (field[2:5, 2:-2] - field[1:4, 2:-2]) > 0, 0, across)
    along = np.diff(curvature[1:-1], axis=1)
    along = np.where(along * (field[2:-2, 2:5] - field[2:-2, 1:4]) > 0, 0, along)
    out = np.empty(strength.shape, dtype=field.dtype)
    out[:, :, :] = field[2:-2, 2:-2] - strength * (across[1:] - across[:-1] + along[:, 1:] - along[:, :-1])
    return out


@kernel(8, 8, curved=False)
def upwind(u, c):
    for _ in range(3):
        up, down = np.maximum(c, 0), np.minimum(c, 0)
        u -= 0.3 * (up * (u - np.roll(u, 1)) + down * (np.roll(u, -1) - u))
    return u


def spread_onto(x, rate):
    padded = np.pad(x, 1, mode="edge")
    x += rate * (padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2] - 4 * x)


@kernel((4, 4), (4, 4))
def reaction_and_diffusion(u, v):
    for _ in range(2):
        spread_onto(u, 0.2)
        spread_onto(v, 0.1)
        uvv = u * v * v
        u -= uvv - 0.04 * (1 - u)
        v += uvv - 0.1 * v
