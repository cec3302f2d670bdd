"""Bodies, oscillations, waves: what moves in steps."""

import numpy as np

from .kernel import drawn, kernel


def pull(position, mass, softening=0.1):
    """Accelerations between all pairs, from differences with a new axis."""
    apart = position[np.newaxis, :, :] - position[:, np.newaxis, :]
    strength = (apart**2).sum(axis=2) + softening**2
    strength[strength > 0] = strength[strength > 0] ** (-1.5)
    return (apart * strength[:, :, np.newaxis]).swapaxes(1, 2) @ mass


def pull_by_columns(position, mass, softening=0.1):
    x, y = position[:, 0:1], position[:, 1:2]
    dx, dy = x.T - x, y.T - y
    strength = (dx**2 + dy**2 + softening**2) ** -1.5
    return np.hstack(((dx * strength) @ mass, (dy * strength) @ mass))


@drawn(lambda rng: (rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, (3, 2)), rng.uniform(1, 2, 3)))
def bodies(position, velocity, mass):
    energies = np.zeros(3)
    velocity -= np.mean(mass[:, None] * velocity, 0) / np.mean(mass)
    for step in range(3):
        velocity += pull(position, mass) * 0.005
        position += velocity * 0.01
        velocity += pull(position, mass) * 0.005
        energies[step] = 0.5 * np.sum(mass * (velocity**2).sum(1))
    return energies


@drawn(lambda rng: (rng.uniform(-1, 1, (3, 2)), rng.uniform(1, 2, (3, 1))))
def potential_of_bodies(position, mass):
    x, y = position[:, 0:1], position[:, 1:2]
    away = np.sqrt((x.T - x) ** 2 + (y.T - y) ** 2)
    away[away > 0] = 1.0 / away[away > 0]
    energy = np.sum(np.triu(-(mass * mass.T) * away, 1))
    return energy, pull_by_columns(position, mass)


@kernel(3, 3, low=0.5, high=1.5)
def trajectory(start, rates):
    """Runge and Kutta's steps into a buffer."""

    def slope(y):
        out = np.empty(3)
        out[0] = rates[0] * (y[1] - y[0])
        out[1] = y[0] * (rates[1] - y[2]) - y[1]
        out[2] = y[0] * y[1] - rates[2] * y[2]
        return out

    path = np.empty((5, 3))
    path[0] = start
    for i in range(4):
        a = slope(path[i])
        b = slope(path[i] + 0.05 * a)
        path[i + 1] = path[i] + 0.1 * b
    return path


@kernel((4, 4))
def trace_of_tanh(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@kernel(8, 8)
def fourier_by_halves(re, im):
    """Stockham's transform in complex buffers."""
    n = re.size
    y = np.empty(n, dtype=np.complex128)
    y.real, y.imag = re, im
    length, stride = n, 1
    while length > 1:
        half = length // 2
        twiddle = np.exp(-2j * np.pi * np.arange(half) / length)
        old, y = y.reshape(length, stride), np.empty((half, 2, stride), dtype=np.complex128)
        y[:, 0] = old[:half] + old[half:]
        y[:, 1] = (old[:half] - old[half:]) * twiddle[:, None]
        y = y.reshape(n)
        length, stride = half, 2 * stride
    return y.real, np.abs(y) ** 2


@kernel((2, 3, 3), (3, 2))
def integral_along_a_contour(blocks, right):
    """Inverses at points of a circle, summed."""
    first = np.zeros((3, 2), dtype=np.complex128)
    second = np.zeros_like(first)
    for angle in (0.5, 1.5, 3.0):
        z = 1.5 * np.exp(1j * angle)
        T = np.zeros((3, 3), dtype=np.complex128)
        for n, block in enumerate(blocks):
            T += z ** (0.5 - n) * block
        X = np.linalg.solve(T + 4 * np.eye(3), right)
        if abs(z) < 1.0:
            X = -X
        first += X
        second += z * X
    return first.real, second.imag


@kernel((2, 3, 2, 2), (2, 2, 2))
def self_energy(green, phonon):
    """A sum over four indices of products of small matrices."""
    sigma = np.zeros_like(green)
    for k in range(green.shape[0]):
        for e in range(green.shape[1]):
            for w in range(2):
                if e - w >= 0:
                    sigma[k, e] += phonon[w] @ green[k, e - w] @ phonon[w].T
    return sigma


@kernel((3, 4), (3, 4), low=-0.4, high=0.3)
def escaping_points(re, im):
    """Only those that are still inside go on."""
    c = re + im * 1j
    z = np.zeros(c.shape, dtype=np.complex128)
    for _ in range(4):
        inside = np.less(abs(z), 2.0)
        z[inside] = z[inside] ** 2 + c[inside]
    return z.real, z.imag


@kernel((3, 4), low=0.1, high=1.5, curved=False)
def fewer_and_fewer(c):
    """The arrays shrink to those that have not gone too far."""
    out, where, z = np.zeros_like(c), np.arange(c.size), np.zeros(c.size)
    c = c.ravel()
    for _ in range(4):
        z = z * z + c
        gone = z > 2
        out.flat[where[gone]] = z[gone]
        z, where, c = z[~gone], where[~gone], c[~gone]
        if not len(z):
            break
    return out


@kernel(6, 1, low=0.2)
def spins_in_a_chain(coupling, field):
    """Products of transfer matrices, kept from overflow by a norm."""
    total, state = 0.0, np.array([1.0, 0.5])
    for j in coupling:
        m = np.array([[np.exp(j + field[0]), np.exp(-j)], [np.exp(-j), np.exp(j - field[0])]])
        state = m @ state
        size = np.linalg.norm(state)
        total += np.log(size)
        state /= size
    return total
