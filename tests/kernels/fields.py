"""Flows: velocities and pressures on a grid, with walls."""

import numpy as np

from .kernel import drawn

INNER = np.s_[1:-1, 1:-1]


def east(x):
    return x[1:-1, 2:]


def west(x):
    return x[1:-1, :-2]


def north(x):
    return x[2:, 1:-1]


def south(x):
    return x[:-2, 1:-1]


def source_into(b, u, v, h, dt):
    """Writes into the buffer that it is given."""
    ux, vy = (east(u) - west(u)) / (2 * h), (north(v) - south(v)) / (2 * h)
    uy, vx = (north(u) - south(u)) / (2 * h), (east(v) - west(v)) / (2 * h)
    b[INNER] = (ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2


def settle(p, b, h, rounds):
    for _ in range(rounds):
        old = p.copy()
        p[INNER] = 0.25 * (east(old) + west(old) + north(old) + south(old)) - 0.25 * h**2 * b[INNER]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


def carried(x, u, v, p_slope, h, dt, viscosity):
    """A component of the velocity after a step."""
    advected = u[INNER] * (x[INNER] - west(x)) + v[INNER] * (x[INNER] - south(x))
    spread = east(x) + west(x) + north(x) + south(x) - 4 * x[INNER]
    return x[INNER] - dt / h * advected - dt / (2 * h) * p_slope + viscosity * dt / h**2 * spread


@drawn(lambda rng: tuple(rng.uniform(-0.5, 0.5, (5, 5)) for _ in range(3)))
def driven_cavity(u, v, p):
    b, h, dt = np.zeros((5, 5)), 0.5, 0.05
    for _ in range(2):
        before, beside = u.copy(), v.copy()
        source_into(b, u, v, h, dt)
        settle(p, b, h, 2)
        u[INNER] = carried(before, before, beside, east(p) - west(p), h, dt, 0.1)
        v[INNER] = carried(beside, before, beside, north(p) - south(p), h, dt, 0.1)
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0


@drawn(lambda rng: (rng.uniform(0.5, 1.0, (4, 4)), rng.uniform(0.1, 0.3, 1)))
def channel_until_steady(u, force):
    """As many steps as the change of the sum asks for."""
    change, steps = 1.0, 0
    while change > 0.04 and steps < 30:
        old = u.copy()
        u[1:-1] = old[1:-1] + 0.2 * (old[2:] + old[:-2] + np.roll(old, 1, 1)[1:-1] - 3 * old[1:-1]) + force[0] * 0.1
        u[0, :] = u[-1, :] = 0
        change = abs(np.sum(u) - np.sum(old)) / np.sum(u)
        steps += 1
    return u


@drawn(lambda rng: (rng.uniform(0.5, 1.5, 6), rng.uniform(-0.5, 0.5, 6)))
def shallow_water(height, flow):
    for _ in range(3):
        total = flow**2 / height + 0.5 * height**2
        mean = lambda x: 0.5 * (np.roll(x, 1) + np.roll(x, -1))  # noqa: E731
        step = lambda x: 0.1 * (np.roll(x, -1) - np.roll(x, 1))  # noqa: E731
        height[:], flow[:] = mean(height) - step(flow), mean(flow) - step(total)
        flow[0], flow[-1] = -flow[1], -flow[-2]
    return height, flow


@drawn(lambda rng: (rng.uniform(0.5, 1.5, (3, 4)),), curved=False)
def blown_sand(height):
    """Where it is too steep, the excess slides into the next column; the mask is looked at."""
    moved = np.zeros(height.shape)
    for _ in range(2):
        drop = height[:, :-1] - height[:, 1:]
        steep = drop > 0.2
        excess = np.zeros_like(drop)
        excess[steep] = 0.25 * (drop[steep] - 0.2)
        height[:, :-1] -= excess
        height[:, 1:] += excess
        moved[:, 1:] += excess
        if not steep.any():
            break
    return height, moved
