"""The signatures of public functions, derived from the ops and worked out when somebody looks.

Functions that are derived from an op take ``*args, **kwargs``, because they accept PyTorch's words and NumPy's.  What
they take is in the op's declaration, so `inspect.signature`, `help`, editors and the stubs get it from there: PyTorch's
names in their order, and NumPy's words for the same parameters by keyword.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from inspect import Parameter, Signature
from typing import Any, TypeVar

from ops import Op
from ops.core.arguments import NO_DEFAULT, arguments_of

F = TypeVar("F", bound=Callable[..., Any])

BY_NAME, BY_KEYWORD = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
GENERIC = frozenset({"x", "a", "m", "v", "ary", "A", "arr", "array"}), frozenset({"y", "b", "B"})
"""Words for the first and the second operand that say no more than that; the functions call them input and other."""
TYPES = {
    "input": "Operand", "other": "Operand", "dim": "Dims", "dims": "Dims", "axis": "Dims", "axes": "Dims",
    "keepdim": "bool", "keepdims": "bool", "dtype": "DTypeLike | None", "out": "Tensor | None",
}  # fmt: skip
"""The types of parameters that mean the same everywhere; of others a default tells that is a truth value or text."""


class Lazy(Signature):
    """A signature that is worked out when something is read of it."""

    __slots__ = ("_compute", "_found")

    def __init__(self, compute: Callable[[], Signature]):
        self._compute = compute
        self._found: Signature | None = None

    def found(self) -> Signature:
        """The signature itself."""
        if self._found is None:
            self._found = self._compute()
        return self._found

    @property
    def parameters(self) -> Any:
        return self.found().parameters

    @property
    def return_annotation(self) -> Any:
        return self.found().return_annotation

    def replace(self, **changes: Any) -> Signature:  # type: ignore[override]
        return self.found().replace(**changes)

    def __reduce__(self) -> Any:
        return self.found().__reduce__()


def signed(function: F, compute: Callable[[], Signature]) -> F:
    """Give a function the signature that will be computed when it is asked for."""
    function.__signature__ = Lazy(compute)  # type: ignore[attr-defined]
    return function


def like(
    function: F, model: Callable[..., Any], first: str = "input", *, out: bool = True, gives: str | None = "Tensor"
) -> F:
    """Give a function the signature of another, whose first argument it calls `first`.

    Args:
        function: the function.
        model: the one that it calls.
        first: the name of the first argument.
        out: whether it takes ``out=`` if the other does.
        gives: the type of its result; None for that of the other.
    """

    def compute() -> Signature:
        found = inspect.signature(model)
        head, *rest = found.parameters.values()
        kept = [p for p in rest if out or p.name != "out"]
        annotation = found.return_annotation if gives is None else gives
        return Signature([head.replace(name=first, annotation="Tensor"), *kept], return_annotation=annotation)

    return signed(function, compute)


def passing_on(function: F, model: Callable[..., Any], gives: str | None = None) -> F:
    """Give a function its own parameters, and by keyword those of the one to which its ``**named`` go."""
    plain = _unsigned(function)

    def compute() -> Signature:
        found = inspect.signature(model)
        mine = [p for p in inspect.signature(plain).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        taken = {"input", *(p.name for p in mine)}
        more = [p for p in found.parameters.values() if p.kind in (BY_NAME, BY_KEYWORD) and p.name not in taken]
        annotation = found.return_annotation if gives is None else gives
        return Signature([*mine, *(p.replace(kind=BY_KEYWORD) for p in more)], return_annotation=annotation)

    return signed(function, compute)


def drawing_as(function: F, draw: Callable[..., Any]) -> F:
    """Give a method that draws numbers the parameters of the distribution, which follow a source and a shape."""

    def compute() -> Signature:
        given = list(inspect.signature(draw).parameters.values())[2:]
        kept = [
            p.replace(annotation="float | None" if p.default is None else "Any" if p.name == "p" else "float")
            for p in given if p.kind is not Parameter.VAR_KEYWORD
        ]  # fmt: skip
        self = Parameter("self", BY_NAME, annotation="Tensor")
        generator = Parameter("generator", BY_KEYWORD, default=None, annotation="Any")
        return Signature([self, *kept, generator], return_annotation="Tensor")

    return signed(function, compute)


def _unsigned(function: Any) -> Any:
    """A function with the same code and no signature given to it."""
    made = type(function)(function.__code__, function.__globals__, closure=function.__closure__)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    return made


def signature_of(op: Op, spellings: dict[str, tuple[str, ...]]) -> Signature:
    """The signature of the function that is derived from an op.

    Args:
        op: the op.
        spellings: by PyTorch's word for a parameter, the words that an op may have for it.
    """
    declared = list(_declared(op))
    names = words_of(op, spellings)
    shown = [p.replace(name=names[p.name]) for p in declared]
    alias = [p.replace(kind=BY_KEYWORD) for p, q in zip(declared, shown) if _also(p, q)]
    used = {p.name for p in shown}
    more = [Parameter(n, BY_KEYWORD, default=None) for n in ("dtype", "out") if n not in used and n not in names]
    own = [p for p in shown if p.kind is not BY_KEYWORD]
    named = [p for p in (*shown, *alias, *more) if p.kind is BY_KEYWORD and (p in shown or p.name not in used)]
    return Signature([*map(_typed, own), *map(_typed, named)], return_annotation=result_of(op))


def signature_of_short(op: Op) -> Signature:
    """The signature of the closure that an elementwise op is called by."""
    operands = [_typed(Parameter(name, BY_NAME)) for name in ("input", "other")[: op.arity]]
    return Signature([*operands, _typed(Parameter("out", BY_KEYWORD, default=None))], return_annotation="Tensor")


def words_of(op: Op, spellings: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """PyTorch's words for the arguments of an op, by the op's own."""
    declared = list(_declared(op))
    names = [p.name for p in declared]
    if any(p.name == "k" and p.default is Parameter.empty for p in declared):  # how many, not which diagonal
        spellings = {word: own for word, own in spellings.items() if word != "diagonal"}
    return {name: _shown(name, names, i, spellings) for i, name in enumerate(names)}


def result_of(op: Op) -> str:
    """The type of what the function derived from an op gives, as far as the declaration tells."""
    if op.kind == "composite":
        text = str(getattr(op.forward, "__annotations__", {}).get("return", ""))
        return text.replace("Any", "Tensor") if text.startswith("tuple[") else "Tensor"
    if op.outputs == 1:
        return "Tensor"
    return "tuple[Tensor, ...]" if op.outputs < 0 else f"tuple[{', '.join(['Tensor'] * op.outputs)}]"


def _declared(op: Op) -> Iterator[Parameter]:
    """The parameters of an op in its own words, by position where its function takes them so."""
    if op.kind == "composite":
        for p in inspect.signature(op.forward).parameters.values():
            if p.kind is not Parameter.VAR_KEYWORD:
                yield p.replace(annotation=Parameter.empty)
        return
    for name in ("tensors",) if op.variadic else op.operands:
        yield Parameter(name, BY_NAME)
    defaults = arguments_of(op.forward).keywords if op.params else {}
    default: Any = Parameter.empty
    for name, given in op.params.items():
        required = default is Parameter.empty and defaults.get(name, NO_DEFAULT) is NO_DEFAULT
        default = Parameter.empty if required else given
        yield Parameter(name, BY_NAME, default=default)


def _shown(name: str, names: list[str], position: int, spellings: dict[str, tuple[str, ...]]) -> str:
    """PyTorch's word for a parameter, which the function takes as well as the op's own."""
    if position < 2 and name in GENERIC[position]:
        return ("input", "other")[position]
    words = [w for w, own in spellings.items() if w not in names and next((o for o in own if o in names), None) == name]
    words = [w for w in words if w not in ("axis", "axes", "ddof", "size", "tensors")]
    if "dims" in words and name == "axes":
        return "dims"
    return words[0] if words else name


def _also(own: Parameter, shown: Parameter) -> bool:
    """Whether the op's own word is worth telling beside PyTorch's: it is NumPy's, of a parameter with a default."""
    return own.name != shown.name and own.default is not Parameter.empty and shown.name not in ("input", "other")


def _typed(p: Parameter) -> Parameter:
    if p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        return p.replace(annotation="Any")
    known = TYPES.get(p.name)
    if known is None and isinstance(p.default, (bool, str)):
        known = type(p.default).__name__
    return p.replace(annotation=known or "Any")


def named_after(function: Callable[..., Any], transformed: Callable[..., Any], prefix: str) -> Callable[..., Any]:
    """A transformed function with a name of its own, and the original's documentation."""
    name = getattr(function, "__name__", type(function).__name__)
    transformed.__name__ = transformed.__qualname__ = f"{prefix}({name})"
    transformed.__doc__ = getattr(function, "__doc__", None)
    transformed.__wrapped__ = function  # type: ignore[attr-defined]
    return transformed
