"""Programs out of programs: adjoints and tangents, by the rules of the ops."""
