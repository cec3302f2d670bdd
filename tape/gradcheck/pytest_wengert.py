"""The pytest plugin: the fixture ``gradcheck`` and the marker of the same name.

It is installed beside the package, under its own name, and imports nothing of it until a test asks:
pytest imports plugins at every start.

A test calls the fixture with a function and its inputs; arrays go in as arrays, tensors as tensors.
The marker gives options for the test's calls, those of `tape.gradcheck.check`::

    @pytest.mark.gradcheck(forward=True, rtol=1e-5)
    def test_loss(gradcheck):
        gradcheck(loss, np.ones(3), 0.5)
"""

from __future__ import annotations

from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", "gradcheck(**options): options for the fixture gradcheck, as of tape.gradcheck.check"
    )


@pytest.fixture
def gradcheck(request: pytest.FixtureRequest) -> Any:
    """``gradcheck(f, *inputs, **options)`` fails the test if a gradient of f is wrong.

    ``gradcheck.search(f, *inputs, **options)`` looks for inputs at which it is.
    """
    from tape.gradcheck.asserting import Gradcheck

    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("gradcheck"))):
        options |= marker.kwargs
    return Gradcheck(options)
