"""The ops whose rules are somebody else's: methods of an object that each application brings along."""

from __future__ import annotations

from .op import ADJOINT, general

custom = general(
    "custom", lambda *xs, ctx: ctx.evaluate(xs),
    joint=lambda g, wanted, ctx: ctx.vjp(g, wanted),
    jvp=lambda xs, z, x_dots, ctx: ctx.jvp(xs, z, x_dots),
    node=lambda ctx: ctx.name(), outputs=-1,

    complex=ADJOINT,
    doc="What ``ctx.evaluate(xs)`` computes; ``ctx.vjp(g, wanted)`` and ``ctx.jvp(xs, z, x_dots)`` are its rules.",
)

replay = general(
    "replay", lambda *xs, program: tuple(program.evaluate(xs)),
    joint=lambda g, xs, wanted, program: program.vjp(g, xs, wanted),
    jvp=lambda xs, x_dots, program: program.jvp(xs, x_dots),
    node="ReplayBackward0", outputs=-1, complex=ADJOINT,
    doc="The results of a recorded program, ``program.evaluate(xs)``, whose adjoint and tangent are programs as well.",
)
