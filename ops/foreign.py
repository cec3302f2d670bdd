"""The op whose rules are somebody else's: methods of an object that each application brings along."""

from __future__ import annotations

from .core import ADJOINT, general

custom = general(
    "custom", lambda *xs, ctx: ctx.evaluate(xs),
    joint=lambda g, wanted, ctx: ctx.vjp(g, wanted),
    jvp=lambda xs, z, x_dots, ctx: ctx.jvp(xs, z, x_dots),
    node=lambda ctx: ctx.name(), outputs=-1,

    complex=ADJOINT,
    doc="What ``ctx.evaluate(xs)`` computes; ``ctx.vjp(g, wanted)`` and ``ctx.jvp(xs, z, x_dots)`` are its rules.",
)
