"""Which version of the library this is."""

__version__ = "0.1.0"
