"""What a thing is called in other libraries, and what here: each name is looked up by a test, on both sides.

A row is a name of theirs, ours (or several, or None where there is none), and what a user should know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

Row = tuple[str, str | tuple[str, ...] | None, str]

TORCH: tuple[Row, ...] = (
    ("torch.tensor", "tape.tensor", "float64 unless you say otherwise"),
    ("torch.Tensor.backward", "tape.Tensor.backward", ""),
    ("torch.Tensor.grad", "tape.Tensor.grad", "accumulates, as there"),
    ("torch.Tensor.detach", "tape.Tensor.detach", ""),
    ("torch.Tensor.retain_grad", "tape.Tensor.retain_grad", ""),
    ("torch.Tensor.register_hook", "tape.Tensor.register_hook", ""),
    ("torch.autograd.grad", "tape.autograd.grad", ""),
    ("torch.autograd.backward", "tape.autograd.backward", ""),
    ("torch.autograd.Function", "tape.autograd.Function", "or an op of your own, which the sweep does not stop at"),
    ("torch.autograd.gradcheck", "tape.autograd.gradcheck", "and the command `gradcheck`, for functions in a file"),
    ("torch.autograd.gradgradcheck", "tape.autograd.gradgradcheck", ""),
    ("torch.autograd.functional.jacobian", "tape.autograd.functional.jacobian", ""),
    ("torch.autograd.functional.hessian", "tape.autograd.functional.hessian", ""),
    ("torch.autograd.forward_ad", "tape.autograd.forward_ad", ""),
    ("torch.autograd.graph.saved_tensors_hooks", "tape.autograd.graph.saved_tensors_hooks", ""),
    ("torch.autograd.detect_anomaly", "tape.autograd.detect_anomaly", "names your line and the numbers behind a nan"),
    ("torch.autograd.profiler.profile", "tape.autograd.profiler.profile", "counts by your lines too"),
    ("torch.no_grad", "tape.no_grad", ""),
    ("torch.enable_grad", "tape.enable_grad", ""),
    ("torch.inference_mode", "tape.inference_mode", ""),
    ("torch.func.grad", "tape.func.grad", "takes arrays as well as tensors"),
    ("torch.func.vjp", "tape.func.vjp", ""),
    ("torch.func.jvp", "tape.func.jvp", ""),
    ("torch.func.jacrev", "tape.func.jacrev", ""),
    ("torch.func.jacfwd", "tape.func.jacfwd", ""),
    ("torch.func.hessian", "tape.func.hessian", ""),
    ("torch.func.linearize", "tape.func.linearize", ""),
    ("torch.vmap", "tape.vmap", ""),
    ("torch.compile", "tape.compile", "replays only what was verified; steps aside with a warning"),
    ("torch.utils.checkpoint.checkpoint", "tape.checkpoint", ""),
    ("torch.save", "tape.save", "tensors and programs, without pickle"),
    ("torch.load", "tape.load", ""),
    ("torch.from_numpy", "tape.from_numpy", ""),
    ("torch.set_default_dtype", "tape.set_default_dtype", ""),
    ("torch.linalg.solve", "tape.linalg.solve", "all of `tape.linalg` goes by these names"),
    ("torch.fft.rfft", "tape.fft.rfft", ""),
    ("torch.special.expit", "tape.special.expit", ""),
    ("torch.testing.assert_close", "tape.testing.assert_close", ""),
    ("torch.nn.Module", None, "a function, and its parameters as arguments: tuples, lists and dicts may nest"),
    ("torch.optim.SGD", None, "`scipy.optimize`, or `w -= rate * gradient`"),
    ("torch.Tensor.cuda", None, "there is no GPU"),
)
AUTOGRAD: tuple[Row, ...] = (
    ("autograd.grad", "tape.func.grad", ""),
    ("autograd.value_and_grad", "tape.func.value_and_grad", "for `scipy.optimize.minimize(…, jac=True)`"),
    ("autograd.elementwise_grad", None, "`tape.vmap(tape.func.grad(f))`"),
    ("autograd.jacobian", ("tape.func.jacrev", "tape.func.jacfwd"), "rows or columns: take the fewer"),
    ("autograd.hessian", "tape.func.hessian", ""),
    ("autograd.hessian_vector_product", None, "`tape.func.jvp(tape.func.grad(f), (x,), (v,))[1]`"),
    ("autograd.make_vjp", "tape.func.vjp", "value and pullback come in the other order"),
    ("autograd.make_jvp", "tape.func.jvp", ""),
    ("autograd.checkpoint", "tape.checkpoint", ""),
    ("autograd.numpy", "numpy", "NumPy itself; `tape.numpy` where you would rather say so"),
    ("autograd.scipy.special.gammaln", "scipy.special.gammaln", "SciPy itself"),
    ("autograd.extend.primitive", ("ops.elementwise", "ops.general"), "one statement declares the op and its rules"),
    ("autograd.extend.defvjp", "ops.general", "with forward, vjp and jvp"),
    ("autograd.test_util.check_grads", "tape.autograd.gradcheck", ""),
    ("autograd.builtins.dict", "dict", "Python's own; arguments and results may nest"),
)
JAX: tuple[Row, ...] = (
    ("jax.grad", "tape.func.grad", ""),
    ("jax.value_and_grad", "tape.func.value_and_grad", ""),
    ("jax.jit", "tape.compile", "`if` and `while` on values stay Python: each path is a program, and guarded"),
    ("jax.vmap", "tape.vmap", "`in_axes` is `in_dims`, `out_axes` is `out_dims`"),
    ("jax.jvp", "tape.func.jvp", ""),
    ("jax.vjp", "tape.func.vjp", ""),
    ("jax.linearize", "tape.func.linearize", ""),
    ("jax.jacrev", "tape.func.jacrev", ""),
    ("jax.jacfwd", "tape.func.jacfwd", ""),
    ("jax.hessian", "tape.func.hessian", ""),
    ("jax.checkpoint", "tape.checkpoint", "called with the function's arguments"),
    ("jax.lax.stop_gradient", "tape.stop_gradient", ""),
    ("jax.numpy", "numpy", "NumPy itself, with its in-place assignments: `y[i] = v` instead of `.at[i].set(v)`"),
    ("jax.scipy.special.gammaln", "scipy.special.gammaln", "SciPy itself"),
    ("jax.make_jaxpr", "tape.record", "`tape.record(f, *examples).show()`"),
    ("jax.custom_vjp", ("tape.autograd.Function", "ops.general"), ""),
    ("jax.custom_jvp", "ops.elementwise", "a formula, or a compiled function for each operand"),
    ("jax.lax.cond", None, "`if`, or `np.where`"),
    ("jax.lax.scan", None, "`for`: the loop is found again in the list"),
    ("jax.lax.while_loop", None, "`while`: a program for each number of turns"),
    ("jax.export", ("tape.Program.save", "tape.load"), "a file without pickle"),
    ("jax.pure_callback", None, "`tape.autograd.Function`, or an op of your own"),
    ("jax.random.normal", None, "draw with NumPy's generator outside, and pass the numbers as an argument"),
    ("jax.test_util.check_grads", "tape.autograd.gradcheck", ""),
)
CASADI: tuple[Row, ...] = (
    ("casadi.SX.sym", None, "an argument of a Python function"),
    ("casadi.MX.sym", None, "an argument of a Python function"),
    ("casadi.Function", "tape.record", "from a function and examples of its arguments"),
    ("casadi.gradient", "tape.func.grad", ""),
    ("casadi.jacobian", ("tape.func.jacrev", "tape.func.jacfwd"), "dense"),
    ("casadi.hessian", "tape.func.hessian", "dense"),
    ("casadi.jtimes", ("tape.func.jvp", "tape.func.vjp"), "forward, and transposed"),
    ("casadi.linearize", "tape.func.linearize", ""),
    ("casadi.if_else", "numpy.where", "or `if`, with a guard"),
    ("casadi.Function.map", "tape.vmap", "lanes of the vector registers; `threads=` of `tape.compile`"),
    ("casadi.Function.mapaccum", None, "a Python loop, which is found again in the list"),
    ("casadi.Function.save", "tape.Program.save", ""),
    ("casadi.Function.load", "tape.load", ""),
    ("casadi.Function.generate", ("tape.Program.njit", "tape.Program.low_level_callable"), "machine code, no C source"),
    ("casadi.Function.n_instructions", "tape.Program.statistics", ""),
    ("casadi.vertcat", "numpy.concatenate", ""),
    ("casadi.mtimes", "numpy.matmul", "`A @ x`"),
    ("casadi.nlpsol", None, "`scipy.optimize.minimize`, with compiled derivatives"),
    ("casadi.integrator", None, "a Python loop with a scheme of yours, differentiated step by step"),
)
LIBRARIES: dict[str, tuple[Row, ...]] = {"torch": TORCH, "autograd": AUTOGRAD, "jax": JAX, "casadi": CASADI}


def several(ours: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if ours is None else (ours,) if isinstance(ours, str) else ours


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; bars in its cells are escaped."""
    lines = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    head = list(head)
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])


def table(library: str) -> str:
    """The table of one library's names."""
    rows = LIBRARIES[library]
    cells = [
        (f"`{theirs}`", ", ".join(f"`{name}`" for name in several(ours)) or "–", text) for theirs, ours, text in rows
    ]
    return markdown((library, "here", ""), cells)


TABLES: dict[str, Callable[[], str]] = {library: partial(table, library) for library in LIBRARIES}
