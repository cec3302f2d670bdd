"""A small part of what ``tests/mutation.py`` shows for many rules: a damaged rule does not go unnoticed."""

import mutation
import pytest


@pytest.mark.parametrize("way", mutation.WAYS)
def test_a_damaged_rule_is_caught(way):
    alive, failed = mutation.survives(f"mul:1:{way}")
    assert not alive
    assert "mul" in failed


def test_a_rule_that_is_wrapped_and_right_is_not_caught():
    """So what catches the others is the damage, and not how it is done."""
    assert mutation.survives("mul:1:sound") == (True, "")


def test_the_script_reaches_many_rooms():
    """At least twenty different rules, from at least six files."""
    chosen = mutation.mutants(mutation.ENOUGH)
    rules = {mutant.rsplit(":", 1)[0] for mutant in chosen}
    assert len(rules) == mutation.ENOUGH >= 20
    rooms = {mutation.REGISTRY[r.split(":")[0]].rules[int(r.split(":")[1])].call.__code__.co_filename for r in rules}
    assert len(rooms) >= 6
