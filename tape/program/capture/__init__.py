"""Recording one call of a function: its arguments, its draws, what it changed."""
