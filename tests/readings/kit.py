"""Where readings are registered, and things that several of them read."""

from __future__ import annotations

READINGS = {}
LATER = {"k": 2.0}


def reading(make):
    """Register a maker of a function and of its change."""
    READINGS[make.__name__] = make
    return make


def simple(name, thing, read, change):
    """Register what reads one thing, made by `thing`."""

    def make():
        held = thing()
        return (lambda x: x * read(held)), (lambda: change(held))

    READINGS[name] = make


class Plain:
    c = 2.0

    def __init__(self, k=2.0):
        self.k = k


class Data:
    """A descriptor."""

    def __init__(self):
        self.values = {}

    def __get__(self, thing, owner=None):
        return self.values.get("k", 2.0)


class Holder:
    """Special methods, each of which reads `c`."""

    described = Data()

    def __init__(self):
        self.c = [2.0, 3.0]
        self.inner = Plain()

    def first(self, *_):
        return self.c[0]

    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __truediv__ = __pow__ = __matmul__ = __rmatmul__ = first
    __neg__ = __abs__ = __float__ = __call__ = __enter__ = __missing__ = first
    __array_ufunc__ = None

    def __getitem__(self, key):
        return self.c[key]

    def __len__(self):
        return len(self.c)

    def __iter__(self):
        return iter(self.c)

    def __contains__(self, value):
        return value in self.c

    def __bool__(self):
        return self.c[0] < 3

    def __eq__(self, other):
        return self.c[0] == other

    def __lt__(self, other):
        return self.c[0] < other

    def __hash__(self):
        return int(self.c[0])

    def __index__(self):
        return int(self.c[0])

    def __round__(self, digits=0):
        return self.c[0]

    def __repr__(self):
        return str(self.c[0])

    def __format__(self, spec):
        return str(self.c[0])

    def __exit__(self, *_):
        return False

    def __reversed__(self):
        return iter(self.c[:1])

    @property
    def prop(self):
        return self.c[0]

    @classmethod
    def of_class(cls):
        return cls.described

    def __getattr__(self, name):
        if name.startswith("made_up"):
            return self.c[0]
        raise AttributeError(name)
