"""Statistics, filters, distances: what is done to measured numbers."""

import math

import numpy as np

from .kernel import drawn, integers, kernel


@kernel((6, 3))
def covariances(data):
    n, m = data.shape
    data -= data.mean(axis=0)
    found = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        found[i:, i] = found[i, i:] = data[:, i] @ data[:, i:] / (n - 1.0)
    return found


@drawn(lambda rng: (rng.uniform(-1, 1, (6, 3)) * [1.0, 0.01, 2.0],))
def correlations(data):
    """A column that hardly varies is left alone."""
    n, m = data.shape
    deviation = np.std(data, axis=0)
    deviation[deviation <= 0.1] = 1.0
    data -= np.mean(data, axis=0)
    data /= np.sqrt(n) * deviation
    found = np.eye(m, dtype=data.dtype)
    for i in range(m - 1):
        found[i + 1 :, i] = found[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return found


@kernel((6, 3))
def covariances_of_numpy(data):
    return np.cov(data.T), np.cov(data, rowvar=False, bias=True)


@kernel((4, 6), curved=False)
def standard_scores(data):
    low, high = data.min(axis=1, keepdims=True), data.max(axis=1, keepdims=True)
    scores = (data - data.mean(1)[:, None]) / data.std(1, ddof=1)[:, np.newaxis]
    return scores * (high - low), np.median(data, axis=0), np.percentile(data, 30, axis=1)


@drawn(lambda rng: (rng.uniform(0, 1, 40), rng.uniform(0, 1, 40)), curved=False)
def means_of_rings(data, radius):
    """The mean of what lies in each ring, by masks."""
    rings, outer = 4, radius.max()
    means = np.zeros(rings, dtype=np.float64)
    for i in range(rings):
        inside = np.logical_and(outer * i / rings <= radius, radius < outer * (i + 1) / rings)
        means[i] = data[inside].mean()
    return means


@kernel(30, curved=False)
def masses_of_bins(data):
    masses, edges = np.histogram(np.linspace(0.0, 0.999, 30) ** 2, bins=5, weights=data)
    counts, _ = np.histogram(data, bins=[-1.0, -0.5, 0.0, 0.5, 1.0])
    return masses * edges[1:], counts * data[:4]


@kernel((4, 7), curved=False)
def trimmed_means(data):
    """Of what lies between the two smallest and the two largest."""
    parted = np.partition(data, (1, 5), axis=1)
    return parted[:, 2:5].mean(axis=1), parted[:, 1] * parted[:, 5]


@kernel(30, curved=False)
def means_of_bins(data):
    where = (np.linspace(0.0, 0.999, 30) ** 2 * 5).astype(int)
    return np.bincount(where, weights=data) / np.bincount(where)


@kernel((5, 5), 1, low=0.2)
def recursive_filter(image, rate):
    """Forwards and backwards along the rows, then along the columns."""
    a, b = (1 - np.exp(-rate[0])) ** 2, 2 ** -rate[0]
    for picture in (image, image.T):
        there, back = np.empty_like(picture), np.empty_like(picture)
        there[:, 0] = a * picture[:, 0]
        for j in range(1, picture.shape[1]):
            there[:, j] = a * picture[:, j] + b * there[:, j - 1]
        back[:, -1] = 0.0
        for j in range(picture.shape[1] - 2, -1, -1):
            back[:, j] = a * picture[:, j + 1] + b * back[:, j + 1]
        picture[:] = there + back
    return image


@kernel(8, 1)
def running_mean(x, rate):
    y = np.zeros_like(x)
    held = 0.0
    for i, v in enumerate(x):
        held = held + rate[0] * (v - held)
        y[i] = held
    return y


@kernel(4, 4, 4, 4)
def great_circle(lat, lon, lat2, lon2):
    half = np.sin((lat2 - lat) / 2) ** 2 + np.cos(lat) * np.cos(lat2) * np.sin((lon2 - lon) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(half), np.sqrt(1 - half))


@kernel((4, 5), (4, 5), curved=False)
def clipped(x, y):
    return np.clip(x, -0.4, 0.6) * 4 + y.clip(min=-0.5) * 3 + 9


@drawn(lambda rng: (rng.uniform(1, 5, (4, 4)),), curved=False)
def shortest_paths(length):
    for k in range(len(length)):
        length[:] = np.minimum(length[:], np.add.outer(length[:, k], length[k, :]))


@drawn(lambda rng: (rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 5)), curved=False)
def best_alignment(x, y):
    """A table filled by the best of three, the Python way."""
    table = np.zeros((len(x) + 1, len(y) + 1))
    for i in range(len(x)):
        for j in range(len(y)):
            match = table[i, j] + x[i] * y[j]
            table[i + 1, j + 1] = max(match, table[i, j + 1] - 0.1, table[i + 1, j] - 0.2)
    return table[-1, -1]


@kernel((6, 2), (3, 2), curved=False)
def centres_of_clusters(points, centres):
    """Lloyd's steps: indices found from values, sums by groups."""
    for _ in range(2):
        near = ((points[:, None] - centres[None]) ** 2).sum(-1).argmin(axis=1)
        for k in range(len(centres)):
            mine = points[near == k]
            if mine.size:
                centres[k] = mine.mean(axis=0)
    return centres


@kernel(5, low=0.2, high=2.0)
def by_python_numbers(x):
    """Lists, `math` and numbers of Python."""
    terms = [math.sin(v) * math.exp(-v) for v in x]
    terms.append(sum(terms) / len(terms))
    return np.array(terms) ** 2 + math.sqrt(x[0] * x[1])


@kernel(6, curved=False)
def sorted_and_ranked(x):
    order = np.argsort(x)
    ranked = np.empty_like(x)
    ranked[order] = np.arange(x.size) * x[order]
    return np.sort(x) * np.linspace(0, 1, x.size), ranked, np.sort(x)[2]


@kernel(6)
def interpolated(values):
    nodes, at = np.arange(6.0), np.array([0.5, 1.25, 3.0, 4.75])
    return np.interp(at, nodes, values), np.gradient(values), np.convolve(values, [0.25, 0.5, 0.25], "same")


@integers
def longest_pairing(bases):
    """A recurrence of maxima over integers."""
    n = bases.shape[0]
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i + 1, j], table[i, j - 1], table[i + 1, j - 1] + (bases[i] + bases[j] == 3))
    return table


@integers
def checksum(data):
    register = 0xFFFF
    for byte in data:
        register ^= int(byte) & 0xFF
        for _ in range(8):
            register = (register >> 1) ^ 0x8408 if register & 1 else register >> 1
    return ~register & 0xFFFF
