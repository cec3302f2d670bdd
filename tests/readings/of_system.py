"""Modules, scopes, files, settings, the interpreter itself."""

from __future__ import annotations

import builtins
import decimal
import gc
import inspect
import math
import os
import sys
import tempfile
import types
import warnings
from pathlib import Path

import numpy as np

import tape

from .kit import LATER, Plain, reading


@reading
def imported_inside():
    module = sys.modules["readings_settings"] = types.ModuleType("readings_settings")
    module.k = 2.0

    def f(x):
        import readings_settings

        return x * readings_settings.k

    return f, lambda: setattr(module, "k", 5.0)


@reading
def imported_from():
    module = sys.modules["readings_settings"] = types.ModuleType("readings_settings")
    module.k = 2.0

    def f(x):
        from readings_settings import k

        return x * k

    return f, lambda: setattr(module, "k", 5.0)


@reading
def module_replaced():
    sys.modules["readings_settings"] = one = types.ModuleType("readings_settings")
    two = types.ModuleType("readings_settings")
    one.k, two.k = 2.0, 5.0

    def f(x):
        import readings_settings as settings

        return x * settings.k

    return f, lambda: sys.modules.update(readings_settings=two)


@reading
def module_getattr():
    module, values = types.ModuleType("lazy"), {"k": 2.0}
    module.__getattr__ = lambda name: values[name]
    return (lambda x: x * module.k), lambda: values.update(k=5.0)


@reading
def module_of_a_class():
    kind = type("Settings", (types.ModuleType,), {"values": [2.0], "k": property(lambda self: self.values[0])})
    module = kind("settings")
    return (lambda x: x * module.k), lambda: kind.values.__setitem__(0, 5.0)


@reading
def module_that_gets_a_class():
    module = types.ModuleType("settings")
    module.k = 2.0
    kind = type("Settings", (types.ModuleType,), {"k": property(lambda self: 5.0)})
    return (lambda x: x * module.k), lambda: setattr(module, "__class__", kind)


@reading
def module_by_name():
    module = types.ModuleType("settings")
    module.k = 2.0
    return (lambda x: x * getattr(module, "".join("k"))), lambda: setattr(module, "k", 5.0)


@reading
def scope_by_name():
    return (lambda x: x * globals()["LATER"]["k"]), lambda: LATER.update(k=LATER["k"] + 1)


@reading
def evaluated():
    return (lambda x: x * eval("LATER['k']")), lambda: LATER.update(k=LATER["k"] + 1)


@reading
def executed():
    def f(x):
        space = {"x": x, "LATER": LATER}
        exec("y = x * LATER['k']", space)
        return space["y"]

    return f, lambda: LATER.update(k=LATER["k"] + 1)


@reading
def frames():
    def f(x):
        return x * inspect.currentframe().f_globals["LATER"]["k"]

    return f, lambda: LATER.update(k=LATER["k"] + 1)


@reading
def scope_of_a_function():
    def g():
        return LATER

    return (lambda x: x * g.__globals__["LATER"]["k"]), lambda: LATER.update(k=LATER["k"] + 1)


@reading
def cell_by_hand():
    k = 2.0

    def g():
        return k

    cell = g.__closure__[0]
    return (lambda x: x * cell.cell_contents), lambda: setattr(cell, "cell_contents", 5.0)


@reading
def modules():
    return (lambda x: x * len([n for n in sys.modules if n.startswith("zz_")])), lambda: sys.modules.update(
        {f"zz_{len(sys.modules)}": types}
    )


@reading
def arguments_of_the_program():
    return (lambda x: x * len(sys.argv)), lambda: sys.argv.append("more")


@reading
def recursion_limit():
    return (lambda x: x * sys.getrecursionlimit()), lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 1)


@reading
def environment():
    os.environ["READINGS"] = "2"
    return (lambda x: x * float(os.environ["READINGS"])), lambda: os.environ.update(READINGS="5")


@reading
def environment_by_function():
    os.environ["READINGS"] = "2"
    return (lambda x: x * float(os.getenv("READINGS"))), lambda: os.environ.update(READINGS="5")


@reading
def file():
    path = Path(tempfile.mkdtemp(), "k")
    path.write_text("2")
    return (lambda x: x * float(path.read_text())), lambda: path.write_text("5")


@reading
def file_opened():
    path = Path(tempfile.mkdtemp(), "k")
    path.write_text("2")

    def f(x):
        with open(path) as stream:
            return x * float(stream.read())

    return f, lambda: path.write_text("5")


@reading
def file_of_numbers():
    path = Path(tempfile.mkdtemp(), "k.npy")
    np.save(path, np.array(2.0))
    return (lambda x: x * float(np.load(path))), lambda: np.save(path, np.array(5.0))


@reading
def mapped_file():
    path = Path(tempfile.mkdtemp(), "k.npy")
    held = np.memmap(path, float, "w+", shape=2)
    other = np.memmap(path, float, "r+", shape=2)
    return (lambda x: x * (1 + held[0])), lambda: other.fill(5.0)


@reading
def files_there():
    path = Path(tempfile.mkdtemp(), "k")
    return (lambda x: x * (1.0 + os.path.exists(path))), lambda: path.write_text("5")


@reading
def print_options():
    return (lambda x: x * len(np.array2string(np.array([1 / 3])))), lambda: np.set_printoptions(
        precision=np.get_printoptions()["precision"] % 8 + 1
    )


@reading
def print_options_of_text():
    held = np.array([1 / 3])
    return (lambda x: x * len(str(held))), lambda: np.set_printoptions(
        precision=np.get_printoptions()["precision"] % 8 + 1
    )


@reading
def error_state():
    def change():
        np.seterr(divide="ignore" if np.geterr()["divide"] == "warn" else "warn")

    return (lambda x: x * len(np.geterr()["divide"])), change


@reading
def decimal_context():
    return (lambda x: x * len(str(decimal.Decimal(1) / 3))), lambda: setattr(
        decimal.getcontext(), "prec", decimal.getcontext().prec % 20 + 2
    )


@reading
def warning_filters():
    return (lambda x: x * len(warnings.filters)), lambda: warnings.simplefilter("ignore", BytesWarning, append=True)


@reading
def garbage():
    return (lambda x: x * gc.get_threshold()[0]), lambda: gc.set_threshold(gc.get_threshold()[0] + 1)


@reading
def identity():
    held = [Plain(), Plain()]
    return (lambda x: x * (id(held[0]) % 9973)), lambda: held.reverse()


@reading
def reference_count():
    held, kept = Plain(), []
    return (lambda x: x * sys.getrefcount(held)), lambda: kept.append(held)


@reading
def subclasses():
    own, kept = type("Own", (), {}), []
    return (lambda x: x * len(own.__subclasses__())), lambda: kept.append(type("More", (own,), {}))


@reading
def registered():
    import abc

    own = abc.ABCMeta("Own", (), {})
    return (lambda x: x * (1.0 + isinstance(1.5, own))), lambda: own.register(float)


@reading
def registered_by_a_metaclass():
    import abc

    own = type("Meta", (abc.ABCMeta,), {})("Own", (), {})
    return (lambda x: x * (1.0 + isinstance(1.5, own))), lambda: own.register(float)


@reading
def traceback():
    def f(x):
        try:
            raise ValueError
        except ValueError as error:
            return x * error.__traceback__.tb_frame.f_globals["LATER"]["k"]

    return f, lambda: LATER.update(k=LATER["k"] + 1)


@reading
def patched_builtin():
    builtins.readings_k = 2.0
    return (lambda x: x * readings_k), lambda: setattr(builtins, "readings_k", 5.0)  # noqa: F821


@reading
def patched_math():
    before = math.erf

    def change():
        math.erf = lambda v: before(v) + 1

    math.erf = getattr(before, "plain", before)
    return (lambda x: x * math.erf(1.0)), change


@reading
def state_of_a_generator():
    rng = np.random.default_rng(0)
    return (lambda x: x * rng.bit_generator.state["state"]["state"] % 9973), lambda: rng.normal()


@reading
def default_dtype():
    return (lambda x: x + tape.ones(3).numpy().itemsize), lambda: tape.set_default_dtype("float32")
