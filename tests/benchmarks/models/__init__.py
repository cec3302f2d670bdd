"""Statistical models, fits, and calls of small programs, beside their peers."""
