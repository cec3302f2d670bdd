"""Where the user's code finds the functions that it names, or was given to keep, and what it calls."""
