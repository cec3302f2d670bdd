"""Machine code out of LLVM code, compiled or fetched from disk: equal kernels are compiled and loaded once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ...base.undisturbed import undisturbed
from . import objectcache
from .platform import machine, target


class Loaded:
    """An engine in use.

    The engine itself could still be found by a weak reference while it is being closed; this cannot.
    """

    __slots__ = ("__weakref__", "address", "engine")

    def __init__(self, engine: llvm.ExecutionEngine):
        self.engine, self.address = engine, engine.get_function_address("kernel")


_loaded: weakref.WeakValueDictionary[str, Loaded] = weakref.WeakValueDictionary()
"""The engines in use, by what their code was compiled from: equal kernels are one, and go with their last user."""


def compile_kernel(module: Any, level: int = 2, lines: bool = False) -> tuple[Loaded, int]:
    """Machine code of a kernel module: what keeps it loaded, and the kernel's address.

    `level` says how hard LLVM tries, from 0 to 2; for code that stands in a line there is a short way (`lines`).
    """
    t, code = target(), str(module)
    name = objectcache.name_of(code, f"{t.cpu} {t.features} {level} {lines}", llvmlite.__version__)

    def optimised() -> llvm.ModuleRef:
        parsed = llvm.parse_assembly(code)
        if level:
            optimise(parsed, machine(level), level, lines)
        return parsed

    return machine_code(name, optimised, level)


def machine_code(name: str, module: Callable[[], llvm.ModuleRef], level: int = 2) -> tuple[Loaded, int]:
    """Machine code by the name of all that it depends on: in use, from disk, or made of a module."""
    loaded = _loaded.get(name)
    if loaded is not None:
        return loaded, loaded.address
    return undisturbed(lambda: _load(name, module, level))


IN_NAME = "define void @kernel(i64 %step) {\n  ret void\n}\n"
"""A module in place of the one that machine code on disk was made of: an engine has one, and looks no closer at it."""


def _load(name: str, module: Callable[[], llvm.ModuleRef], level: int) -> tuple[Loaded, int]:
    """The same, of code that is not in use; by name, the engine that now is."""
    found = objectcache.load(name)
    parsed = llvm.parse_assembly(IN_NAME) if found is not None else module()
    engine = llvm.create_mcjit_compiler(parsed, machine(level))
    engine.set_object_cache(lambda _, code: objectcache.save(name, code), lambda _: found)
    engine.finalize_object()
    loaded = _loaded[name] = Loaded(engine)
    return loaded, loaded.address


def optimise(module: llvm.ModuleRef, generator: llvm.TargetMachine, level: int, lines: bool) -> None:
    """Improve the code of a kernel.

    For code in a line it is enough to take in what is called, to find what is computed twice before it is
    rewritten, and to rewrite.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(generator, options)
    passes = llvm.create_new_module_pass_manager() if lines else builder.getModulePassManager()
    if lines:
        passes.add_always_inliner_pass()
        passes.add_simplify_cfg_pass()
        passes.add_sroa_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.add_new_gvn_pass()
        passes.add_instruction_combine_pass()
    passes.run(module, builder)
