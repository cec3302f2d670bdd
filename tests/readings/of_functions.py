"""Functions, what they close over, their defaults, their code, what stands for one."""

from __future__ import annotations

import contextlib
import functools
import operator
import types

import numpy as np

import tape

from .kit import Plain, reading

# ruff: noqa: PLC3002

GLOBAL = 2.0


@reading
def function_that_claims_to_be_a_library():
    space = {"__name__": "numpy.linalg", "k": [2.0]}
    exec("def g(): return k[0]", space)
    g = space["g"]
    return (lambda x: x * g()), lambda: space["k"].__setitem__(0, 5.0)


@reading
def getattr_under_another_name():
    held, functions = Plain(), [getattr]
    return (lambda x: x * functions[0](held, "".join(["k"]))), lambda: setattr(held, "k", 5.0)


@reading
def operator_call():
    k = [2.0]
    g = lambda: k[0]  # noqa: E731
    return (lambda x: x * operator.call(g)), lambda: k.__setitem__(0, 5.0)


@reading
def attributes_of_a_function():
    g = types.FunctionType((lambda: 2.0).__code__, globals())
    return (lambda x: x * getattr(g, "k", 2.0)), lambda: setattr(g, "__dict__", {"k": 5.0})


@reading
def ufunc_of_python():
    k = [2.0]
    u = np.frompyfunc(lambda v: v * k[0], 1, 1)
    return (lambda x: x * float(u(1.0))), lambda: k.__setitem__(0, 5.0)


@reading
def global_name():
    return (lambda x: x * GLOBAL), lambda: globals().__setitem__("GLOBAL", GLOBAL + 1)


@reading
def global_deleted_and_builtin():
    globals()["abs"] = lambda v: 2.0
    return (lambda x: x * abs(-7.0)), lambda: globals().pop("abs", 0)


@reading
def builtin_shadowed():
    globals().pop("divmod", None)
    return (lambda x: x * divmod(7.0, 2.0)[0]), lambda: globals().__setitem__("divmod", lambda a, b: (9.0, 1.0))


@reading
def enclosed():
    k = 2.0

    def change():
        nonlocal k
        k = 5.0

    return (lambda x: x * k), change


@reading
def enclosed_deeper():
    k = 2.0

    def change():
        nonlocal k
        k = 5.0

    return (lambda x: (lambda: sum(k * v for v in x))()), change


@reading
def defaults():
    def f(x, k=2.0):
        return x * k

    return f, lambda: setattr(f, "__defaults__", (5.0,))


@reading
def mutable_default():
    def f(x, k=[2.0]):  # noqa: B006
        return x * k[0]

    return f, lambda: f.__defaults__[0].__setitem__(0, 5.0)


@reading
def keyword_defaults():
    def f(x, *, k=2.0):
        return x * k

    return f, lambda: f.__kwdefaults__.update(k=5.0)


@reading
def code_replaced():
    def g():
        return 2.0

    return (lambda x: x * g()), lambda: setattr(g, "__code__", (lambda: 5.0).__code__)


@reading
def own_code_replaced():
    def f(x):
        return x * 2.0

    return f, lambda: setattr(f, "__code__", (lambda x: x * 5.0).__code__)


@reading
def attribute_of_a_function():
    def g():
        return g.k

    g.k = 2.0
    return (lambda x: x * g()), lambda: setattr(g, "k", 5.0)


@reading
def attribute_of_a_compiled_function():
    g = tape.compile(lambda x: x)
    g.k = 2.0
    return (lambda x: x * g.k), lambda: setattr(g, "k", 5.0)


@reading
def partial_keywords():
    p = functools.partial(lambda x, k: x * k, k=2.0)
    return p, lambda: p.keywords.update(k=5.0)


@reading
def partial_state():
    p = functools.partial(lambda k: k, 2.0)
    return (lambda x: x * p()), lambda: p.__setstate__((lambda k: k + 1, (5.0,), {}, None))


@reading
def partial_with_other_keywords():
    p = functools.partial(lambda x, k: x * k, k=2.0)
    return (lambda x: p(x)), lambda: p.__setstate__((p.func, p.args, {"k": 5.0}, None))


@reading
def partial_with_other_attributes():
    p = functools.partial(len)
    p.k = 2.0
    return (lambda x: x * p.k), lambda: p.__setstate__((p.func, p.args, p.keywords, {"k": 5.0}))


@reading
def decorated():
    k = [2.0]

    def twice(g):
        @functools.wraps(g)
        def inner(x):
            return g(x) * k[0]

        return inner

    return twice(lambda x: x), lambda: k.__setitem__(0, 5.0)


@reading
def lru_cached():
    held = functools.lru_cache(None)(lambda: [2.0])
    return (lambda x: x * held()[0]), lambda: held().__setitem__(0, 5.0)


@reading
def cached_property():
    class Own:
        @functools.cached_property
        def k(self):
            return [2.0]

    own = Own()
    return (lambda x: x * own.k[0]), lambda: own.k.__setitem__(0, 5.0)


@reading
def single_dispatch():
    @functools.singledispatch
    def g(v):
        return 2.0

    return (lambda x: x * g(1)), lambda: g.register(int, lambda v: 5.0)


@reading
def context_manager():
    k = [2.0]

    @contextlib.contextmanager
    def managed():
        yield k[0]

    def f(x):
        with managed() as v:
            return x * v

    return f, lambda: k.__setitem__(0, 5.0)


@reading
def generator_function():
    k = [2.0, 3.0]

    def values():
        yield from k

    return (lambda x: x * sum(values())), lambda: k.append(5.0)


@reading
def handed_to_vectorize():
    k = [2.0]
    return (lambda x: x * np.vectorize(lambda v: v * k[0])(1.0)), lambda: k.__setitem__(0, 5.0)


@reading
def monkeypatched_numpy():
    own = types.ModuleType("numpy_like")
    own.sin = lambda v: v * 2.0
    return (lambda x: own.sin(x)), lambda: setattr(own, "sin", lambda v: v * 5.0)
