"""Which arguments of a function are differentiated, and what it returns."""

from __future__ import annotations

from typing import Any

from ..base.tensor import Tensor
from ..base.tree import Mismatch, Structure, leaves_like, leaves_of

Argnums = int | tuple[int, ...]


def positions(argnums: Argnums, count: int) -> tuple[int, ...]:
    """The positions that `argnums` means, among so many arguments.

    Raises:
        RuntimeError: if one is no int, is out of range, or comes twice; or if there is none.
    """
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    if not wanted:
        raise RuntimeError("argnums must be non-empty: it names at least one argument; got ()")
    for k in wanted:
        if not isinstance(k, int):
            raise RuntimeError(f"argnums must be int or Tuple of ints, and each of them must be int; got {argnums!r}")
        if not -count <= k < count:
            raise RuntimeError(f"argnums {k} does not exist: there are arguments, but only {count} positional inputs")
    found = tuple(k % count for k in wanted)
    if len(set(found)) < len(found):
        raise RuntimeError(f"argnums must be unique: they name each argument once; got {argnums!r}")
    return found


def chosen(argnums: Argnums, args: tuple[Any, ...]) -> Any:
    """The argument, or the tuple of arguments, that `argnums` means."""
    found = tuple(args[k] for k in positions(argnums, len(args)))
    return found if isinstance(argnums, tuple) else found[0]


def replaced(argnums: Argnums, args: tuple[Any, ...], new: Any) -> tuple[Any, ...]:
    """The arguments with `new` in the place of the chosen."""
    into = dict(zip(positions(argnums, len(args)), new if isinstance(argnums, tuple) else (new,)))
    return tuple(into.get(k, x) for k, x in enumerate(args))


def tensors_in(tree: Any, what: str) -> list[Tensor]:
    """The leaves of a tree of tensors.

    Raises:
        ValueError: if there is none, or one is no tensor.
    """
    found = leaves_of(tree)
    for x in found:
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{what} must be tensors, or tuples, lists and dicts of tensors; got {type(x).__name__}. "
                "Convert it with tape.tensor()."
            )
    if not found:
        raise ValueError(f"{what} must hold at least one tensor; got {tree!r}")
    return found


def outputs_in(tree: Any, name: str) -> list[Tensor]:
    """The leaves of what a function returned.

    Raises:
        RuntimeError: if there is none, or one is no tensor.
    """
    try:
        return tensors_in(tree, f"{name}: what the function returns")
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def inexact(outputs: list[Tensor], name: str) -> list[Tensor]:
    """The outputs, checked to have a derivative.

    Raises:
        RuntimeError: if one is an integer or boolean tensor.
    """
    for z in outputs:
        if not z._spec.inexact:
            raise RuntimeError(
                f"{name}: what the function returns must be floating point or complex; got {z.dtype}.\n"
                "Return what has no derivative as aux, with has_aux=True."
            )
    return outputs


def matching(structure: Structure, tree: Any, what: str, like: str) -> list[Any]:
    """The leaves of a tree that must be built like another.

    Raises:
        RuntimeError: if it is not.
    """
    try:
        return leaves_like(structure, tree)
    except Mismatch:
        raise RuntimeError(
            f"{what} must have the structure of {like}, {structure}; got {type(tree).__name__}: {tree!r}"
        ) from None


def fitting(tensors: list[Any], refs: list[Tensor], what: str, like: str) -> list[Tensor]:
    """Tensors that must have the shapes and dtypes of others.

    Raises:
        RuntimeError: if one has not, or is no tensor.
    """
    for i, (x, ref) in enumerate(zip(tensors, refs)):
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{what} must be tensors; number {i} is {type(x).__name__}")
        if x._spec.shape != ref._spec.shape:
            raise RuntimeError(
                f"{what} must have the shapes of {like}: number {i} must have {ref._spec.shape}, has {x._spec.shape}"
            )
        if x._spec.dtype != ref._spec.dtype:
            raise RuntimeError(
                f"{what} must have the dtypes of {like}: number {i} must be {ref.dtype}, is {x.dtype}; convert it "
                f"with .to({ref.dtype})"
            )
    return tensors


def split_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """Output and aux of a function.

    Raises:
        RuntimeError: if `has_aux` and it did not return a tuple of two.
    """
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple (output, aux) with has_aux=True; got "
            f"{type(result).__name__}"
        )
    return result
