"""What a Python function can read from around itself, and what changes that: a list to be read as a hostile one.

Each entry makes a function of an array and something that changes what the function reads.
"""

from . import of_methods, of_objects, of_functions, of_containers, of_arrays, of_system, of_settings  # isort: skip
from .kit import READINGS
from .of_chance import DRAWS

__all__ = [
    "DRAWS",
    "READINGS",
    "of_arrays",
    "of_containers",
    "of_functions",
    "of_methods",
    "of_objects",
    "of_settings",
    "of_system",
]
