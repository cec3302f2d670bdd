"""The work of statistical models and of fits to data: array code with axes, gathers, and small linear algebra."""

from __future__ import annotations

from itertools import pairwise
from math import log, pi
from typing import Any

import numpy as np

from ..recurrences import arrays_of
from ..work import Work, rng


def log_sum_exp(xp: Any, x: Any, axis: int | None = None) -> Any:
    """log Σ exp x along an axis, or of all elements, without overflow."""
    if axis is None:
        most = xp.amax(x)
        return most + xp.log(xp.sum(xp.exp(x - most)))
    most = xp.amax(x, axis=axis, keepdims=True)
    return xp.squeeze(most, axis) + xp.log(xp.sum(xp.exp(x - most), axis=axis))


def total_weight(n: int) -> Work:
    """The logarithm of the sum of n weights that are given by their logarithms."""

    def by_hand(x, gradient):  # type: ignore[no-untyped-def]
        most = x[0]
        for i in range(x.size):
            most = max(most, x[i])
        total = 0.0
        for i in range(x.size):
            gradient[i] = np.exp(x[i] - most)
            total += gradient[i]
        for i in range(x.size):
            gradient[i] /= total
        return most + np.log(total)

    return Work(lambda xp, x: log_sum_exp(arrays_of(xp), x), (rng().normal(size=n),), by_hand=by_hand)


def softmax_rows(rows: int, columns: int) -> Work:
    """Scores against given weights, after a softmax of each row."""

    def program(xp: Any, x: Any, weights: Any) -> Any:
        xp = arrays_of(xp)
        e = xp.exp(x - xp.amax(x, axis=1, keepdims=True))
        return xp.sum(weights * (e / xp.sum(e, axis=1, keepdims=True)))

    draw = rng()
    return Work(program, (draw.normal(size=(rows, columns)),), (draw.normal(size=(rows, columns)),))


def log_sum_exp_rows(rows: int, columns: int) -> Work:
    """The logarithms of the sums of the exponentials of each row."""
    return Work(lambda xp, x: log_sum_exp(arrays_of(xp), x, axis=1), (rng().normal(size=(rows, columns)),))


def normalised_rows(rows: int, columns: int) -> Work:
    """Rows scaled to mean 0 and variance 1, then by gains, and shifted; squared."""

    def program(xp: Any, x: Any, gain: Any, shift: Any) -> Any:
        xp = arrays_of(xp)
        centred = x - xp.mean(x, axis=1)[:, None]
        variance = xp.mean(centred * centred, axis=1)
        y = gain * (centred / xp.sqrt(variance + 1e-5)[:, None]) + shift
        return xp.sum(y * y * y)

    draw = rng()
    return Work(program, (draw.normal(size=(rows, columns)), draw.normal(size=columns), draw.normal(size=columns)))


def mixture(n: int, clusters: int, d: int) -> Work:
    """The likelihood of points under a mixture of Gaussians, as ADBench has it, with Wishart's prior.

    Srajer, Kukelova, Fitzgibbon, "A benchmark of selected algorithmic differentiation tools on some problems in
    computer vision and machine learning" (2018): weights α, means, and for each cluster the logarithms of the diagonal
    and the rest of a triangular matrix, column by column.
    """
    below = [(i, j) for j in range(d) for i in range(j + 1, d)]
    place = np.full((d, d), len(below))
    for k, (i, j) in enumerate(below):
        place[i, j] = k

    def program(xp: Any, alphas: Any, means: Any, factors: Any, x: Any, none: Any, place: Any) -> Any:
        xp = arrays_of(xp)
        diagonal = xp.exp(factors[:, :d])
        lower = xp.concatenate([factors[:, d:], none], 1)[:, place]
        centred = x[:, None, :] - means[None, :, :]
        y = diagonal * centred + xp.einsum("kij,nkj->nki", lower, centred)
        spread = xp.sum(factors[:, :d], axis=1)
        inner = alphas + spread - 0.5 * xp.sum(y * y, axis=2)
        fit = xp.sum(log_sum_exp(xp, inner, 1)) - n * log_sum_exp(xp, alphas)
        prior = 0.5 * (xp.sum(diagonal * diagonal) + xp.sum(factors[:, d:] ** 2)) - xp.sum(spread)
        return fit - prior - 0.5 * n * d * log(2 * pi)

    def by_hand(alphas, means, factors, x, none, place, alphas_bar, means_bar, factors_bar):  # type: ignore[no-untyped-def]
        inner, y, c = np.empty(clusters), np.empty((clusters, d)), np.empty((clusters, d))
        diagonal, spread, c_bar = np.exp(factors[:, :d]), np.zeros(clusters), np.empty(d)
        alphas_bar[:], means_bar[:], factors_bar[:] = 0.0, 0.0, 0.0
        fit = -0.5 * n * d * np.log(2 * np.pi)
        for k in range(clusters):
            for j in range(d):
                spread[k] += factors[k, j]
        for p in range(n):
            for k in range(clusters):
                for i in range(d):
                    c[k, i] = x[p, i] - means[k, i]
                    y[k, i] = diagonal[k, i] * c[k, i]
                at = d
                for j in range(d):
                    for i in range(j + 1, d):
                        y[k, i] += factors[k, at] * c[k, j]
                        at += 1
                square = 0.0
                for i in range(d):
                    square += y[k, i] * y[k, i]
                inner[k] = alphas[k] + spread[k] - 0.5 * square
            most = inner[0]
            for k in range(clusters):
                most = max(most, inner[k])
            total = 0.0
            for k in range(clusters):
                inner[k] = np.exp(inner[k] - most)
                total += inner[k]
            fit += most + np.log(total)
            for k in range(clusters):
                part = inner[k] / total
                alphas_bar[k] += part
                for i in range(d):
                    y_bar = -part * y[k, i]
                    factors_bar[k, i] += part + y_bar * diagonal[k, i] * c[k, i]
                    c_bar[i] = y_bar * diagonal[k, i]
                at = d
                for j in range(d):
                    for i in range(j + 1, d):
                        y_bar = -part * y[k, i]
                        factors_bar[k, at] += y_bar * c[k, j]
                        c_bar[j] += y_bar * factors[k, at]
                        at += 1
                for i in range(d):
                    means_bar[k, i] -= c_bar[i]
        most, total = alphas.max(), 0.0
        for k in range(clusters):
            total += np.exp(alphas[k] - most)
        fit -= n * (most + np.log(total))
        for k in range(clusters):
            alphas_bar[k] -= n * np.exp(alphas[k] - most) / total
            for j in range(d):
                fit += spread[k] / d - 0.5 * diagonal[k, j] ** 2
                factors_bar[k, j] += 1.0 - diagonal[k, j] ** 2
            for j in range(d, factors.shape[1]):
                fit -= 0.5 * factors[k, j] ** 2
                factors_bar[k, j] -= factors[k, j]
        return fit

    draw = rng()
    variables = (
        draw.normal(size=clusters), draw.normal(size=(clusters, d)), 0.3 * draw.normal(size=(clusters, d + len(below)))
    )  # fmt: skip
    return Work(program, variables, (draw.normal(size=(n, d)), np.zeros((clusters, 1)), place), by_hand=by_hand)


def k_means(n: int, clusters: int, d: int) -> Work:
    """The squared distances of points to the nearest of some centres."""

    def program(xp: Any, centres: Any, x: Any) -> Any:
        xp = arrays_of(xp)
        return xp.sum(xp.amin(xp.sum((x[:, None, :] - centres[None, :, :]) ** 2, axis=2), axis=1))

    def by_hand(centres, x, gradient):  # type: ignore[no-untyped-def]
        gradient[:] = 0.0
        cost = 0.0
        for p in range(n):
            nearest, least = 0, np.inf
            for k in range(clusters):
                square = 0.0
                for j in range(d):
                    square += (x[p, j] - centres[k, j]) ** 2
                if square < least:
                    nearest, least = k, square
            cost += least
            for j in range(d):
                gradient[nearest, j] -= 2.0 * (x[p, j] - centres[nearest, j])
        return cost

    draw = rng()
    return Work(program, (draw.normal(size=(clusters, d)),), (draw.normal(size=(n, d)),), by_hand=by_hand)


def bundle(cameras: int, points: int, observed: int) -> Work:
    """Bundle adjustment: errors of points that cameras see, as in ADBench and the data of BAL.

    A camera has a rotation (axis times angle), a centre, a focal length, a principal point and two radial distortions.
    """

    def program(xp: Any, cams: Any, world: Any, weights: Any, seen: Any, camera: Any, point: Any) -> Any:
        xp = arrays_of(xp)
        cam, p = cams[camera], world[point]
        axis, away = cam[:, :3], p - cam[:, 3:6]
        square = xp.sum(axis * axis, axis=1)
        angle = xp.sqrt(square)
        cosine, sine = xp.cos(angle)[:, None], xp.sin(angle)[:, None]
        unit = axis / angle[:, None]
        u0, u1, u2, a0, a1, a2 = unit[:, 0], unit[:, 1], unit[:, 2], away[:, 0], away[:, 1], away[:, 2]
        across = xp.stack([u1 * a2 - u2 * a1, u2 * a0 - u0 * a2, u0 * a1 - u1 * a0], 1)
        along = xp.sum(unit * away, axis=1)[:, None]
        turned = away * cosine + across * sine + unit * (along * (1.0 - cosine))
        flat = turned[:, :2] / turned[:, 2:]
        radius = xp.sum(flat * flat, axis=1)
        bent = flat * (1.0 + cam[:, 9] * radius + cam[:, 10] * radius * radius)[:, None]
        error = weights[:, None] * (cam[:, 6:7] * bent + cam[:, 7:9] - seen)
        return xp.sum(error * error) + xp.sum((1.0 - weights * weights) ** 2)

    draw = rng()
    cams = np.concatenate(
        [
            0.3 * draw.normal(size=(cameras, 3)), 0.1 * draw.normal(size=(cameras, 3)),
            1.0 + draw.uniform(size=(cameras, 1)), 0.1 * draw.normal(size=(cameras, 4)),
        ], axis=1,
    )  # fmt: skip
    world = draw.normal(size=(points, 3)) + np.array([0.0, 0.0, 5.0])
    constants = (
        draw.normal(size=(observed, 2)), draw.integers(0, cameras, observed), draw.integers(0, points, observed)
    )  # fmt: skip
    return Work(program, (cams, world, draw.uniform(0.5, 1.0, observed)), constants)


def interpolation(knots: int, places: int) -> Work:
    """The squared errors of a curve that is linear between knots; the measurements' clock is off by an unknown time."""

    def program(xp: Any, values: Any, late: Any, at: Any, times: Any, measured: Any) -> Any:
        xp = arrays_of(xp)
        t = times + late
        k = xp.clip(xp.searchsorted(at, t) - 1, 0, knots - 2)
        part = (t - at[k]) / (at[k + 1] - at[k])
        error = values[k] * (1.0 - part) + values[k + 1] * part - measured
        return xp.sum(error * error)

    draw = rng()
    at = np.cumsum(draw.uniform(0.5, 1.5, knots))
    times = draw.uniform(at[0], at[-1] - 0.02, places)
    return Work(program, (np.sin(at), np.asarray(0.01)), (at, times, np.sin(times)))


def grouped(rows: int, columns: int, groups: int) -> Work:
    """Logistic regression with an intercept and a slope for each group, which are normal themselves."""

    def program(xp: Any, w: Any, base: Any, slope: Any, spread: Any, features: Any, labels: Any, group: Any) -> Any:
        xp = arrays_of(xp)
        score = features @ w + base[group] + slope[group] * features[:, 0]
        loss = xp.sum(xp.log1p(xp.exp(-labels * score)))
        prior = xp.sum(base * base) + xp.sum(slope * slope)
        return loss + 0.5 * prior * xp.exp(-2.0 * spread) + 2.0 * groups * spread

    draw = rng()
    w, features = draw.normal(size=columns), draw.normal(size=(rows, columns))
    variables = 0.3 * w, draw.normal(size=groups), draw.normal(size=groups), np.asarray(0.2)
    return Work(program, variables, (features, np.sign(features @ w + 0.05), draw.integers(0, groups, rows)))


def windows(xp: Any, x: Any, width: int) -> Any:
    """All windows of so many neighbours, (n − width + 1, width), as each library has them."""
    if xp.__name__ == "torch":
        return x.unfold(0, width, 1)
    if xp is np:
        return np.lib.stride_tricks.sliding_window_view(x, width)
    return x[np.arange(x.shape[0] - width + 1)[:, None] + np.arange(width)]


def convolution(n: int, width: int) -> Work:
    """A filter over a signal, by windows and a product."""

    def program(xp: Any, x: Any, w: Any) -> Any:
        xp = arrays_of(xp)
        y = xp.tanh(windows(xp, x, width) @ w)
        return xp.sum(y * y)

    draw = rng()
    return Work(program, (draw.normal(size=n), 0.3 * draw.normal(size=width)))


def convolution_by_slices(n: int, width: int) -> Work:
    """The same, a slice for each weight."""

    def program(xp: Any, x: Any, w: Any) -> Any:
        xp = arrays_of(xp)
        y = 0.0
        for k in range(width):
            y = y + w[k] * x[k : n - width + 1 + k]
        y = xp.tanh(y)
        return xp.sum(y * y)

    draw = rng()
    return Work(program, (draw.normal(size=n), 0.3 * draw.normal(size=width)))


def image(n: int, width: int) -> Work:
    """A filter over a picture, a slice for each weight."""

    def program(xp: Any, x: Any, w: Any) -> Any:
        xp, m = arrays_of(xp), n - width + 1
        y = 0.0
        for i in range(width):
            for j in range(width):
                y = y + w[i, j] * x[i : i + m, j : j + m]
        y = xp.tanh(y)
        return xp.sum(y * y)

    draw = rng()
    return Work(program, (draw.normal(size=(n, n)), 0.3 * draw.normal(size=(width, width))))


def gaussian_process(n: int, d: int) -> Work:
    """The negative logarithm of a Gaussian process's marginal likelihood, by Cholesky's factor."""

    def covariance(xp: Any, log_scale: Any, log_lengths: Any, log_noise: Any, x: Any, unit: Any) -> Any:
        z = x / xp.exp(log_lengths)
        square = xp.sum((z[:, None, :] - z[None, :, :]) ** 2, axis=2)
        return xp.exp(2.0 * log_scale) * xp.exp(-0.5 * square) + xp.exp(2.0 * log_noise) * unit

    def program(xp: Any, log_scale: Any, log_lengths: Any, log_noise: Any, x: Any, y: Any, unit: Any) -> Any:
        xp = arrays_of(xp)
        lower = xp.linalg.cholesky(covariance(xp, log_scale, log_lengths, log_noise, x, unit))
        weights = xp.linalg.solve(lower.T, xp.linalg.solve(lower, y))
        return 0.5 * (y @ weights) + xp.sum(xp.log(xp.diagonal(lower, 0, -1, -2))) + 0.5 * n * log(2 * pi)

    def exactly(xp: Any, log_scale: Any, log_lengths: Any, log_noise: Any, x: Any, y: Any, unit: Any) -> Any:
        k = covariance(xp, log_scale, log_lengths, log_noise, x, unit)
        return 0.5 * (y @ xp.linalg.solve(k, y)) + 0.5 * xp.log(xp.linalg.det(k))

    draw = rng()
    x = draw.uniform(size=(n, d))
    variables = np.asarray(0.1), np.log(draw.uniform(0.3, 0.6, d)), np.asarray(-1.5)
    return Work(program, variables, (x, np.sin(6.0 * x.sum(axis=1)), np.eye(n)), holomorphic=exactly)


def classifier(batch: int, *widths: int) -> Work:
    """A step of a network that classifies: hidden layers, the cross entropy of its softmax; labels as numbers."""

    def program(xp: Any, *inputs: Any) -> Any:
        xp, (*weights, x, label, row) = arrays_of(xp), inputs
        for k in range(0, len(weights) - 2, 2):
            x = xp.tanh(x @ weights[k] + weights[k + 1])
        score = x @ weights[-2] + weights[-1]
        return xp.mean(log_sum_exp(xp, score, 1) - score[row, label])

    draw = rng()
    weights = []
    for before, after in pairwise(widths):
        weights += [draw.normal(size=(before, after)) / np.sqrt(before), 0.1 * draw.normal(size=after)]
    constants = draw.normal(size=(batch, widths[0])), draw.integers(0, widths[-1], batch), np.arange(batch)
    return Work(program, tuple(weights), constants)
