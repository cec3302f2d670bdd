"""Large arrays of a list that is being recorded: what is foreseen of them, and what they hold, computed late."""
