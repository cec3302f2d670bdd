"""Ops that move numbers: shapes, indices, places, joining."""
