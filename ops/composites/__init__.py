"""NumPy functions that are written in other ops."""
