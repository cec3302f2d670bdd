"""What a checkout of NPBench holds: kernels, their sizes and their inputs.  Its files are run, never changed."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

DACE = frozenset({
    "adi", "atax", "bicg", "cavity_flow", "cholesky", "conv2d_bias", "correlation", "covariance", "deriche", "doitgen",
    "durbin", "fdtd_2d", "gemm", "gemver", "gesummv", "go_fast", "gramschmidt", "hdiff", "heat_3d", "jacobi_1d",
    "jacobi_2d", "k2mm", "k3mm", "lenet", "lu", "ludcmp", "mlp", "mvt", "resnet", "seidel_2d", "softmax", "symm",
    "syr2k", "syrk", "trisolv", "trmm", "vadv",
})  # fmt: skip
"""The kernels whose gradients DaCe AD reports: those with a gradient among DaCe's own tests."""

SMALL: dict[str, dict[str, float]] = {
    "azimint_hist": {"N": 200, "npt": 4},
    "azimint_naive": {"N": 200, "npt": 4},
    "lenet": {"N": 2, "H": 16, "W": 16},
    "nbody": {"tEnd": 0.4},
}
"""Sizes for judging where cutting every size down to about ten leaves nothing to compute, or chaos."""


class Unfit(Exception):
    """A kernel without anything to differentiate."""


@dataclass(frozen=True)
class Kernel:
    """A kernel as its file in ``bench_info`` describes it."""

    root: Path
    name: str
    info: Mapping[str, Any]

    def module(self, suffix: str = "") -> ModuleType:
        """One of its files, run anew: the inputs (no suffix), ``_numpy`` or ``_jax``."""
        folder = self.root / "npbench" / "benchmarks" / self.info["relative_path"]
        path = folder / f"{self.info['module_name']}{suffix}.py"
        if not path.exists():
            raise Unfit(f"no {path.name} in the checkout")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def function(self, suffix: str = "_numpy", numpy: Any = np) -> Callable[..., Any]:
        """The kernel itself, with another namespace as its ``np`` where one is given."""
        module = self.module(suffix)
        if numpy is not np:
            module.__dict__["np"] = numpy
        return getattr(module, self.info["func_name"])

    def single(self) -> bool:
        """Whether the kernel itself rounds to float32 whatever its inputs are."""
        path = self.module("_numpy").__file__
        assert path is not None
        return "float32" in Path(path).read_text(encoding="utf-8")

    def case(self, parameters: Mapping[str, Any]) -> Case:
        """Its inputs at some sizes."""
        values = dict(parameters)
        init = self.info.get("init")
        if init:
            made = getattr(self.module(), init["func_name"])(*(values[name] for name in init["input_args"]))
            names = init["output_args"]
            values |= zip(names, made if len(names) > 1 else (made,))
        arguments = {name: values[name] for name in self.info["input_args"]}
        floats = [k for k, v in arguments.items() if isinstance(v, np.ndarray) and v.dtype.kind in "fc"]
        if not floats:
            raise Unfit("no float inputs")
        case = Case(arguments, tuple(floats), tuple(self.info.get("output_args", ())))
        return case if case.changed else replace(case, changed=case.altered(self.function()))

    def sizes(self, preset: str) -> dict[str, Any]:
        if preset not in self.info["parameters"]:
            raise Unfit(f"no preset {preset}; there are {', '.join(self.info['parameters'])}")
        return self.info["parameters"][preset]

    def small(self) -> dict[str, Any]:
        """Sizes of about ten; those that differ go on to differ, so that no two axes are mistaken for each other."""
        sizes = self.sizes("S")
        different = sorted({v for v in sizes.values() if isinstance(v, int)})
        cut = {k: min(v, 9 + different.index(v)) if isinstance(v, int) else v for k, v in sizes.items()}
        return cut | SMALL.get(self.name, {})


@dataclass(frozen=True)
class Case:
    """Arguments of a kernel by name.

    Attributes:
        floats: the names of the float and complex arrays, with respect to which it is differentiated.
        changed: the names of the arrays that are its results if it returns no float.
    """

    arguments: Mapping[str, Any]
    floats: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def inputs(self) -> list[np.ndarray]:
        return [self.arguments[name] for name in self.floats]

    def total(
        self, kernel: Callable[..., Any], weights: Sequence[Any] | None = None, chosen: Sequence[int] | None = None
    ) -> Callable[..., Any]:
        """The sum of all float results, times weights if there are any, as a function of the float arrays alone.

        Of complex results it is that of their real and imaginary parts.
        `chosen` are the places of the results among those of another version, which may return more.
        """

        def total(*inputs: Any) -> Any:
            results = self.results(kernel, *inputs)
            results = results if chosen is None else [results[i] for i in chosen]
            parts = [z.sum() if hasattr(z, "sum") else z for z in weighted(real_parts(results), weights)]
            y = parts[0]
            for part in parts[1:]:
                y = y + part
            return y

        return total

    def results(self, kernel: Callable[..., Any], *inputs: Any) -> list[Any]:
        """The float results; a kernel may write into what it is given, so that it is given copies."""
        given = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.arguments.items()}
        given |= {k: x * 1 for k, x in zip(self.floats, inputs)}
        returned = [z for z in leaves(kernel(*given.values())) if is_float(z)]
        return returned or [given[name] for name in self.changed if is_float(given[name])]

    def altered(self, kernel: Callable[..., Any]) -> tuple[str, ...]:
        """The float arrays that the kernel writes into, found by letting it."""
        given = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.arguments.items()}
        with np.errstate(all="ignore"):
            kernel(*given.values())
        return tuple(k for k in self.floats if not np.array_equal(given[k], self.arguments[k], equal_nan=True))

    def with_inputs(self, inputs: Sequence[np.ndarray]) -> Case:
        return replace(self, arguments={**self.arguments, **dict(zip(self.floats, inputs))})


def real_parts(results: Sequence[Any]) -> list[Any]:
    """The real ones of some results, and both parts of complex ones."""
    return [part for z in results for part in ((z.real, z.imag) if is_complex(z) else (z,))]


def weighted(results: list[Any], weights: Sequence[Any] | None) -> list[Any]:
    return results if weights is None else [z * w for z, w in zip(results, weights)]


def places(wanted: Sequence[Any], found: Sequence[Any]) -> list[int]:
    """Where results stand among those of another version of the kernel: by shape, and the nearest of these."""
    left = list(range(len(found)))
    taken = []
    for z in wanted:
        alike = [i for i in left if np.shape(found[i]) == np.shape(z)]
        if not alike:
            raise Unfit("it returns other results than the NumPy kernel")
        taken.append(min(alike, key=lambda i: float(np.abs(np.asarray(found[i]) - np.asarray(z)).max(initial=0))))
        left.remove(taken[-1])
    return taken


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for inner in value:
            yield from leaves(inner)
    elif value is not None:
        yield value


def is_float(value: Any) -> bool:
    """Whether something is a float or complex number, or an array or tensor of them."""
    return _kind(value, float) == "float" or is_complex(value)


def is_complex(value: Any) -> bool:
    return _kind(value, complex) == "complex"


def _kind(value: Any, number: type) -> str | None:
    """The name of the dtype of anybody's array without its size, or of a class of Python's numbers."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return number.__name__ if isinstance(value, number) else None
    return str(dtype).rpartition(".")[2].rstrip("0123456789")


def kernels(root: Path, names: Sequence[str] = ()) -> list[Kernel]:
    """The kernels of a checkout, all or those that are named."""
    found = [
        Kernel(root, path.stem, json.loads(path.read_text(encoding="utf-8"))["benchmark"])
        for path in sorted((root / "bench_info").glob("*.json"))
    ]
    if not found:
        raise ValueError(f"{root} has no bench_info/*.json; give the folder of a checkout of NPBench")
    unknown = set(names) - {kernel.name for kernel in found}
    if unknown:
        raise ValueError(f"no kernel {', '.join(sorted(unknown))}; there are {', '.join(k.name for k in found)}")
    return [kernel for kernel in found if not names or kernel.name in names]
