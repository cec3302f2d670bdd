"""Calls of programs as one call of machine code."""
