"""Machine code out of LLVM code, compiled or fetched from disk: equal kernels are compiled and loaded once."""

from __future__ import annotations

import weakref
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
    loaded = _loaded.get(name)
    if loaded is not None:
        return loaded, loaded.address
    return undisturbed(lambda: _compiled(name, code, level, lines))


def _compiled(name: str, code: str, level: int, lines: bool) -> tuple[Loaded, int]:
    """The same, of code that is not in use; by name, the engine that now is."""
    generator = machine(level)
    parsed = llvm.parse_assembly(code)
    found = objectcache.load(name)
    if found is None and level:
        optimise(parsed, generator, level, lines)
    engine = llvm.create_mcjit_compiler(parsed, generator)
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
