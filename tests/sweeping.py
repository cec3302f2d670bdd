"""Fixtures: a test with each of the two sweeps, and one in which nothing but the test collects garbage."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(params=["jitted", "python"])
def either(request, monkeypatch):
    """Run a test with each of the two sweeps, and tell it which."""
    if request.param == "python":
        monkeypatch.setattr("tape.backprop.backward.jitted", lambda room: None)
    return request.param


@pytest.fixture
def by_hand():
    """No garbage is collected but by the test itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
