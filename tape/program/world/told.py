"""What all of Python, NumPy and SciPy were told, and do otherwise from then on: watched where it counts."""

from __future__ import annotations

import copyreg
import functools
import gc
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import BuiltinFunctionType, CellType, FunctionType
from typing import Any

import numpy as np

from ...base import printing
from ...base.untraced import thaw
from .known import is_looked_into
from .watched import Fact, InContext, One, Setting


def heed(look: Any, what: str) -> None:
    """Watch what was told about something, one of `TOLD`."""
    if what not in look.around.asked:
        look.around.asked.add(what)
        TOLD[what](look)


def _texts(look: Any) -> None:
    """Texts are made, perhaps of arrays or tensors, which is done as their ``set_printoptions`` says."""
    look.around.facts.append(print_options())
    look.around.space(vars(printing)).names.add("options")
    masked = sys.modules.get("numpy.ma.core")
    look.inside(getattr(masked, "masked_print_option", None))
    heed(look, "digits")


def print_options() -> One:
    """What tells whether NumPy's print options are still the same."""
    variable = getattr(sys.modules.get("numpy._core.printoptions"), "format_options", None)
    if isinstance(variable, ContextVar):
        return InContext(variable)
    return Fact(lambda: tuple(np.get_printoptions().values()))


def _copies(look: Any) -> None:
    """Things are copied, which is done as `copyreg` was told."""
    look.around.space(copyreg.dispatch_table).whole = True
    found = {kind: reduce for kind, reduce in copyreg.dispatch_table.items() if isinstance(reduce, FunctionType)}
    look.reducers = {kind: reduce for kind, reduce in found.items() if is_looked_into(reduce)}


def _digits(look: Any) -> None:
    """Whole numbers become texts, or texts whole numbers, up to so many digits."""
    count_settings(sys, "set_int_max_str_digits")
    look.around.facts.append(Setting(sys.get_int_max_str_digits, sys.set_int_max_str_digits))


def _codes(look: Any) -> None:
    """Texts become bytes, or bytes texts, with what `codecs.register_error` was given for what has no code."""
    handlers = error_handlers()
    if handlers is None:
        look.doubt("the error handlers of codecs")
        return
    look.around.space(handlers).whole = True
    for handler in handlers.values():
        if type(handler) is not BuiltinFunctionType:  # Python's own
            look.look(handler, None)


@functools.cache
def error_handlers() -> dict[str, Any] | None:
    """The dict in which Python keeps the error handlers of codecs, None if it is not found."""
    import codecs

    thaw()
    own = {"strict", "ignore", "replace", "backslashreplace"}
    holders = gc.get_referrers(codecs.lookup_error("strict"))
    found = [d for d in holders if type(d) is dict and own <= d.keys()]
    return found[0] if len(found) == 1 else None


def _special_errors(look: Any) -> None:
    """SciPy's special functions are called, which tell of errors as ``scipy.special.seterr`` says."""
    special: Any = sys.modules["scipy.special._ufuncs"]
    count_settings(special, "seterr")
    errors = Setting(lambda: tuple(special.geterr().items()), lambda value: special.seterr(**dict(value)))
    look.around.facts.append(errors)
    if any(action != "ignore" for kind, action in errors.value if kind != "memory"):  # a replay tells of none
        look.doubt("what scipy.special.seterr was told, by which errors are no longer ignored")


SETTERS: dict[int, Any] = {}
"""By identity, the functions that count how often they set something, in the place of others'."""


def count_settings(module: Any, name: str) -> None:
    """Let each call of a function that sets something be counted, by whatever name it is known where."""
    setting = vars(module)[name]
    if id(setting) in SETTERS:
        return

    @functools.wraps(setting)
    def counting(*args: Any, **kwargs: Any) -> Any:
        try:
            return setting(*args, **kwargs)
        finally:
            Setting.count.value += 1

    own: Any = counting
    SETTERS[id(counting)] = counting
    thaw()
    for holder in gc.get_referrers(setting):
        if type(holder) is dict and holder is not own.__dict__:
            holder.update([(key, counting) for key, value in list(holder.items()) if value is setting])
        elif type(holder) is CellType and all(holder is not cell for cell in own.__closure__):
            holder.cell_contents = counting


TOLD: dict[str, Callable[[Any], None]] = {
    "texts": _texts, "copies": _copies, "digits": _digits, "codes": _codes, "special errors": _special_errors,
}  # fmt: skip
"""By what is done in a function, what watches how."""


SPECIAL = "scipy.special", "scipy.stats"
"""How the names of modules begin whose code may call special functions."""


def heed_special(look: Any) -> None:
    """Watch what SciPy was told about errors of its special functions, which may be called."""
    if "scipy.special._ufuncs" in sys.modules:
        heed(look, "special errors")
