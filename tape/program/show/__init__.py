"""Programs to look at: text, drawings, numbers."""
