"""What type checkers are told about things that are installed at run time."""

import ast
import inspect

from ops import Operators, operators


def test_the_operators_declared_for_type_checkers_are_those_that_are_installed():
    (cls,) = ast.parse(inspect.getsource(Operators)).body
    (declared,) = [node for node in cls.body if isinstance(node, ast.If)]
    names = [target.id for node in declared.body if isinstance(node, ast.Assign) for target in node.targets]
    assert sorted(names) == sorted(operators.methods())
