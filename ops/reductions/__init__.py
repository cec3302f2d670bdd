"""Sums, products, extremes and variances along axes."""
