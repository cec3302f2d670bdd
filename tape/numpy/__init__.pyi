"""Written by ``python -m tape.stubs`` from the signatures; see `tape.stubs`."""

from numpy import *
from numpy import fft as fft, linalg as linalg

from .arrays.face import Array as Array, Number as Number
