"""Passes over the columns of a recorded program, as Python or as machine code."""
