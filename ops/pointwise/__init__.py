"""Elementwise ops: arithmetic, comparisons, choices, elementary functions."""
