"""What a function may read from around it, and whether that is still as it was."""
