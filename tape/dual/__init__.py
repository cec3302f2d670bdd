"""Forward mode: `direction` has the tensors that move, `writing` what happens when they are changed in place."""

from . import writing as writing
from .direction import Direction as Direction, Dual as Dual, make as make, parts as parts, zeros as zeros
