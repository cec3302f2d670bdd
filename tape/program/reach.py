"""Which results of a list a gradient reaches."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import numpy as np

from ops import REGISTRY

from ..tensor import Tensor
from .listing import Listing
from .rules import rules
from .trace import CONSTANT, INPUT


def unreached(listing: Listing, tracked: Sequence[bool], captures: Sequence[Tensor], count: int) -> frozenset[int]:
    """The first `count` results that depend neither on a `tracked` input nor on a captured tensor."""
    leads = np.zeros(len(listing), dtype=np.bool_)
    for k in np.flatnonzero(listing.code == INPUT).tolist():
        leads[k] = tracked[listing.param[k]]
    for k in np.flatnonzero(listing.code == CONSTANT).tolist():
        leads[k] = any(listing.constant(k) is t for t in captures)
    stopped = np.zeros(len(listing), dtype=np.bool_)
    stopped[list(listing.stopped)] = True
    jitted = importlib.import_module("tape.jit.reverse")
    differentiable = rules(len(REGISTRY)).differentiable
    jitted.leading(listing.code, listing.first, listing.args, differentiable, stopped, leads)
    return frozenset(i for i, k in enumerate(listing.outputs[:count].tolist()) if not leads[k])
