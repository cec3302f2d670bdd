"""What tests of mistakes ask of an error: its kind, and the words that explain it."""

from __future__ import annotations

import pytest


def explained(mistake):
    """Make a mistake, ``(function, kind of error, words in its text)``."""
    function, kind, words = mistake
    with pytest.raises(kind) as caught:
        function()
    for word in words:
        assert word in str(caught.value)
