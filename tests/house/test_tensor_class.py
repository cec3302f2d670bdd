"""The tensor's class: put together in one place, its methods where they are written, its kinds behind one interface."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import tape
from tape.base.kind import TensorKind
from tape.base.tensor import STATE, Tensor, Theme
from tape.levels.batched import Batched
from tape.levels.direction import Dual
from tape.methods import Methods
from tape.program.recorded.outside import Outside
from tape.program.recorded.traced import Traced
from tape.recording.functions import METHODS

ROOT = Path(tape.__file__).parent
HOOKS = {name: value for name, value in vars(TensorKind).items() if name not in ("__module__", "__doc__", "__slots__")}
KINDS = (Tensor, Batched, Dual, Traced, Outside)


def assigned_from_outside(tree):
    """What a module puts on the class `Tensor`: ``Tensor.name = …`` and ``setattr(Tensor, …)``."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        yield from (t.attr for t in targets if isinstance(t, ast.Attribute) and is_name(t.value, "Tensor"))
        if isinstance(node, ast.Call) and is_name(node.func, "setattr") and is_name(node.args[0], "Tensor"):
            yield ast.unparse(node.args[1])


def is_name(node, name):
    return isinstance(node, ast.Name) and node.id == name


def parsed():
    """The modules one after another, so that only one of the trees is in memory, with millions of nodes in all."""
    for path in ROOT.rglob("*.py"):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_nothing_is_put_on_the_class_but_its_themes():
    found = {path: set(assigned_from_outside(tree)) for path, tree in parsed()}
    assert {path: names for path, names in found.items() if names} == {"methods.py": {"__bases__"}}


def test_that_check_sees_what_it_looks_for():
    tree = ast.parse("Tensor.a = 1\nTensor.b: int = 2\nsetattr(Tensor, 'c', 3)\nother.Tensor = 4\nTensor.d.e = 5")
    assert set(assigned_from_outside(tree)) == {"a", "'c'"}


def test_the_class_itself_has_state_and_little_else():
    own = {name for name in vars(Tensor) if name not in STATE and not name.startswith("__")}
    assert own == {"dtype", "is_leaf", "ndim", "shape"}


def test_every_method_comes_from_a_theme():
    assert Tensor.__bases__ == (Methods,)
    themes = [cls for cls in Methods.__bases__ if issubclass(cls, Theme)]
    assert set(themes) == set(Methods.__bases__)
    assert all(cls.__doc__ for cls in themes)
    assert all(hasattr(Tensor, name) for name in METHODS)


def test_methods_are_called_in_errors_what_users_call_them():
    with pytest.raises(TypeError, match=re.escape("Tensor.view_as() missing 1 required positional argument")):
        tape.ones(2).view_as()
    with pytest.raises(TypeError, match=re.escape("Tensor.backward() got an unexpected keyword argument 'retain'")):
        tape.ones(()).backward(retain=True)
    assert tape.exp.__qualname__ == "exp"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", sorted(name for name, hook in HOOKS.items() if inspect.isfunction(hook)))
def test_a_kind_takes_what_the_interface_says(kind, name):
    """As many arguments, with the same defaults; they are given by position, so their names may be others."""
    wanted, given = (inspect.signature(getattr(cls, name)).parameters.values() for cls in (TensorKind, kind))
    assert [p.default for p in given] == [p.default for p in wanted]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_answers_everything(kind):
    """What the interface leaves open, every kind says, or takes over from plain tensors."""
    left_open = [name for name, hook in HOOKS.items() if "NotImplementedError" in _source(hook)]
    assert len(left_open) > 8
    assert [name for name in left_open if inspect.getattr_static(kind, name) is HOOKS[name]] == []


def _source(hook):
    function = hook.__func__ if isinstance(hook, staticmethod) else hook
    return inspect.getsource(function) if inspect.isfunction(function) else ""


def test_every_change_in_place_is_functionalised_in_one_place():
    """The function is called by the kinds' `_alter` and by nobody else, and no kind computes a change by itself."""
    callers = {
        path for path, tree in parsed() if any(getattr(node, "id", "") == "functionalise" for node in ast.walk(tree))
    }
    assert callers == {"memory/eager.py", "recording/level.py", "program/recorded/traced_inplace.py"}
    assert {kind.__name__ for kind in KINDS if "_alter" in vars(kind)} == {"Outside"}  # which asks what it stands for
