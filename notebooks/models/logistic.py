"""Logistic regression: is a tumour benign?  569 biopsies, 30 measurements of each.

The data are the Wisconsin diagnostic breast cancer set (Wolberg, Street & Mangasarian, UCI 1995)
as scikit-learn bundles it, written to ``breast_cancer.npz``: X (569, 30), y (569,), 1 for benign.

    gradcheck notebooks/models/logistic.py:loss --input 'w=(30,)' --input b=0.5 \\
              --input 'X=breast_cancer.npz[X]' --input 'y=breast_cancer.npz[y]'

checks the gradient that tape derives.  With ``--gradient gradient`` it checks the one below,
which was written by hand.
"""

import numpy as np


def standardise(X):
    """Every column with mean 0 and standard deviation 1."""
    return (X - np.mean(X, axis=0)) / np.std(X, axis=0)


def loss(w, b, X, y, strength=0.01):
    """Mean negative log-likelihood plus a ridge penalty."""
    margin = (2.0 * y - 1.0) * (standardise(X) @ w + b)
    surprise = np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))
    return np.mean(surprise) + 0.5 * strength * np.sum(w**2)


def gradient(w, b, X, y, strength=0.01):
    """The derivatives of `loss` with respect to w and b, by hand."""
    Z = standardise(X)
    probability = 1.0 / (1.0 + np.exp(-(Z @ w + b)))
    residual = (probability - y) / len(y)
    return Z.T @ residual + strength * w, np.sum(residual)
