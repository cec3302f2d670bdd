"""One derivative rule of an op, and the names of the values that it asks for (see `ops.core.op`)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .arguments import argument_names


class Rule:
    """One derivative rule with respect to one operand, and the names of the values it reads.

    A partial that is 0 whatever the operands are `is_zero`: its product with an adjoint depends on nothing.
    """

    __slots__ = ("_pick", "call", "is_partial", "is_zero", "names")

    def __init__(self, call: Callable[..., Any], is_partial: bool):
        self.call = call
        self.names = argument_names(call)
        self.is_partial = is_partial and "g" not in self.names
        self.is_zero = self.is_partial and not self.names and call() == 0.0
        self._pick = operator.itemgetter(*self.names) if self.names else None

    def __call__(self, env: dict[str, Any]) -> Any:
        if self._pick is None:
            return self.call()
        picked = self._pick(env)
        return self.call(*picked) if len(self.names) > 1 else self.call(picked)
