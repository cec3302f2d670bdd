"""Layers of networks, by loops over windows."""

import numpy as np

from .kernel import kernel


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


def convolved(images, weights):
    """Images by rows, columns and channels with square windows."""
    size = weights.shape[0]
    rows, columns = images.shape[1] - size + 1, images.shape[2] - size + 1
    out = np.empty((len(images), rows, columns, weights.shape[-1]), dtype=images.dtype)
    for i in range(rows):
        for j in range(columns):
            window = images[:, i : i + size, j : j + size, :, np.newaxis]
            out[:, i, j, :] = np.sum(window * weights[np.newaxis], axis=(1, 2, 3))
    return out


def pooled(x):
    out = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return out


def normalised(x, eps=1e-2):
    return (x - np.mean(x, axis=0, keepdims=True)) / np.sqrt(np.std(x, axis=0, keepdims=True) + eps)


@kernel((2, 5))
def soft_maxima(x):
    return softmax(x)


@kernel((3, 2), (2, 4), 4, (4, 3), 3, curved=False)
def perceptron(x, w, b, v, c):
    return softmax(relu(x @ w + b) @ v + c)


@kernel((1, 4, 4, 2), (2, 2, 2, 3), 3)
def convolution_with_bias(images, weights, bias):
    return convolved(images, weights) + bias


@kernel((2, 5, 5, 1), (2, 2, 1, 2), (8, 3), 3, curved=False)
def small_convolutional_network(images, weights, dense, bias):
    x = pooled(relu(convolved(images, weights)))
    return np.reshape(x, (2, 8)) @ dense + bias


@kernel((2, 3, 3, 2), (1, 1, 2, 2), (3, 3, 2, 2), curved=False)
def residual_block(x, first, second):
    """The result of one layer inside a border of zeros for the next."""
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, first.shape[3]))
    padded[:, 1:-1, 1:-1, :] = convolved(x, first)
    return relu(normalised(convolved(normalised(padded), second)) + x)


@kernel((3, 4), (4, 4), (4, 4), (4, 4))
def attention(x, q, k, v):
    """Earlier ones are seen by later ones only."""
    scores = (x @ q) @ (x @ k).T / np.sqrt(x.shape[1])
    scores[np.triu_indices(len(x), k=1)] = -np.inf
    return softmax(scores) @ (x @ v)


@kernel((4, 2), (2, 3), (3, 3), 3)
def recurrent(inputs, w, u, b):
    states = np.zeros((len(inputs) + 1, len(b)))
    for t, x in enumerate(inputs):
        states[t + 1] = np.tanh(x @ w + states[t] @ u + b)
    return states[1:]


@kernel((3, 3), 3)
def momentum_descent(A, start):
    """The steps of an optimiser, differentiated through."""
    x, speed = start.copy(), np.zeros_like(start)
    history = []
    for _ in range(3):
        gradient = A.T @ (A @ x - 1.0)
        speed *= 0.9
        speed -= 0.05 * gradient
        x += speed
        history.append(x.copy())
    return np.array(history)
