"""Programs in files, and checked when they come from there."""
