"""Lists of arrays, cut up before they are planned: into columns of numbers, or into tiles of rows."""
