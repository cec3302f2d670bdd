"""Exponential, logarithm, hyperbolic tangent and error function of a vector, in arithmetic alone.

The code of a kernel takes them in: what two of them share is computed once (an error function and its
derivative share an exponential), nothing is put aside around a call, and there are as many lanes as the
kernel likes.  They need no library, so they are there on every platform.

The coefficients are minimax, found by Remez's exchange in 50 digits: what they leave out is below a twentieth
of the last place of the result.  With rounding, errors stay below one unit in the last place, or little above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from .vectors import Builder, VectorValue


@dataclass(frozen=True)
class Numbers:
    """What the functions need to know in some precision.

    Attributes:
        lowest, highest: beyond them an exponential is 0 or infinite.
        ln2: the logarithm of 2 as a number with few bits, whose small multiples are exact, and the rest.
        saturated: from there on the error function is 1.
        level: where the double of x is that, or more, so is the hyperbolic tangent.
        exp: (eʳ − 1 − r) / r² for |r| ≤ ½ log 2, in powers of r.
        log: (log(1 + f) − 2s) / s³ with s = f / (2 + f), for √½ ≤ 1 + f ≤ √2, in powers of s².
        erf: erf(x) / x − 1 for x ≤ 1, in powers of x².
        tail: exp(x²) erfc(x) from 1 to `saturated`, in powers of (x − 3) / (x + 3); as many as `erf` has.
    """

    lowest: float
    highest: float
    ln2: tuple[float, float]
    saturated: float
    level: float
    exp: Sequence[float]
    log: Sequence[float]
    erf: Sequence[float]
    tail: Sequence[float]


NUMBERS = {
    64: Numbers(
        -746.0, 710.0, (0.6931471803691238, 1.9082149292705877e-10), 5.95, 40.0,
        exp=(
            0.5000000000000013, 0.166666666666667, 0.041666666666514945, 0.00833333333330781, 0.0013888888947156694,
            0.00019841269916223976, 2.480148978236136e-05, 2.7557217227496906e-06, 2.763134167440187e-07,
            2.5117596289110633e-08,
        ),
        log=(
            0.6666666666666735, 0.39999999999411884, 0.28571428743107175, 0.22222198489466705, 0.18183569168664998,
            0.15313914770198567, 0.1479742019597858,
        ),
        erf=(
            0.12837916709551256, -0.3761263890318352, 0.112837916709442, -0.026866170643113415, 0.005223977606130842,
            -0.0008548325929766244, 0.0001205529358693695, -1.4924712439534814e-05, 1.6447132699786621e-06,
            -1.6206318752969208e-07, 1.3710988704190523e-08, -7.779462971761597e-10,
        ),
        tail=(
            0.17900115118135143, -0.3262335600460027, 0.24560380166393472, -0.15011593631192305, 0.07166585074637517,
            -0.02439232238563882, 0.00427038268821498, 0.0007132716326718972, -0.0005808856159553678,
            7.667061733450456e-05, 0.00010316262727437284, 1.5273183173196267e-05,
        ),
    ),
    32: Numbers(
        -104.0, 89.0, (0.693145751953125, 1.428606765330187e-06), 3.95, 20.0,
        exp=(0.5000000095887128, 0.16666518599153274, 0.04166620411086232, 0.00836891825118502, 0.0013950587042855383),
        log=(0.6666666564237357, 0.400003360213899, 0.285372471847513, 0.23583455870334294),
        erf=(
            0.12837916572955937, -0.376126258374651, 0.11283585248605635, -0.02685381458207252, 0.005188330482592488,
            -0.0008010202699272506, 7.853849828429409e-05,
        ),
        tail=(
            0.17900089967307065, -0.32624156322891734, 0.24550776635662638, -0.15069962456371944, 0.069695645721007,
            -0.028075842532816437, 0.0009057500516851617,
        ),
    ),
}  # fmt: skip
LOG2_E = 1.4426950408889634
SQRT_HALF = {64: 0x3FE6A09E667F3BCD, 32: 0x3F3504F3}
"""The square root of ½, as bits."""


def exp(m: Builder, x: VectorValue) -> VectorValue:
    """eˣ = 2ᵏ eʳ with |r| ≤ ½ log 2."""
    f = NUMBERS[m.bits]
    x = m.within(x, f.lowest, f.highest)
    k = (x * LOG2_E + m.shift) - m.shift
    r = x - k * f.ln2[0] - k * f.ln2[1]
    y = r * r * m.polynomial(r, f.exp) + r + 1.0
    return m.scaled(y, k)


def log(m: Builder, x: VectorValue) -> VectorValue:
    """log x = k log 2 + log(1 + f) with √½ ≤ 1 + f < √2, by the series of 2 atanh(f / (2 + f)).

    Of zero the quotient is −1 / 0, of less 0 / 0: so what it gives is right, and the processor raises its flags.
    """
    f, code = NUMBERS[m.bits], m.code
    width, bias = m.fraction, m.bias
    tiny = x < 2.0 ** (1 - bias)
    root = SQRT_HALF[m.bits]
    scaled = m.where(tiny, x * 2.0 ** (width + 2), x)
    moved = code.add(m.as_word(scaled), m.word((bias << width) - root))
    k = m.from_word(code.or_(code.lshr(moved, m.word(width)), m.word(bias + width << width)))
    k = k - m.where(tiny, 2.0**width + bias + width + 2, 2.0**width + bias)
    y = m.from_word(code.add(code.and_(moved, m.word((1 << width) - 1)), m.word(root))) - 1.0
    s = m.where(x > 0.0, y, m.where(x < 0.0, 0.0, -1.0)) / m.where(m.compare("<=", x, 0.0), 0.0, y + 2.0)
    square = s * s
    half = y * y * 0.5
    rest = s * (half + square * m.polynomial(square, f.log)) + k * f.ln2[1]
    z = k * f.ln2[0] - (half - rest - y)
    return m.where(x < float("inf"), z, x)


def erf(m: Builder, x: VectorValue) -> VectorValue:
    """erf x = x + x P(x²) for |x| ≤ 1, else 1 − exp(−x²) Q((x − 3) / (x + 3)), with the sign of x."""
    f = NUMBERS[m.bits]
    square = x * x
    tail = m.call(vector_code(m.module, "exp", m.bits, m.width), -square)
    size = m.intrinsic("fabs", x)
    size = m.where(size > f.saturated, f.saturated, size)
    near = size < 1.0
    t = m.where(near, square, (size - 3.0) / (size + 3.0))
    y = m.polynomial(t, [m.where(near, a, b) for a, b in zip(f.erf, f.tail, strict=True)])
    z = m.where(near, size, -tail) * y + m.where(near, size, 1.0)
    return m.intrinsic("copysign", z, x)


def tanh(m: Builder, x: VectorValue) -> VectorValue:
    """tanh x = y / (y + 2) with y = exp(2|x|) − 1 = 2ᵏ (eʳ − 1) + (2ᵏ − 1), with the sign of x.

    What y, y + 2 and the quotient lost in rounding is divided as well, and added: 1 / (y + 2) = (1 − tanh x) / 2.
    """
    f = NUMBERS[m.bits]
    x2 = m.intrinsic("fabs", x) * 2.0
    x2 = m.where(x2 > f.level, f.level, x2)
    shifted = x2 * LOG2_E + m.shift
    k = shifted - m.shift
    r = x2 - k * f.ln2[0] - k * f.ln2[1]
    power = m.power_of_two(shifted)
    more = r * r * m.polynomial(r, f.exp)
    first = more + r
    y = first * power + (power - 1.0)
    below = y + 2.0
    z = y / below
    lost = (more - (first - r)) * power - z * m.where(y < 2.0**m.fraction, y - (below - 2.0), 0.0)
    z = z + (y - z * below + lost) * (z * -0.5 + 0.5)
    return m.intrinsic("copysign", z, x)


FUNCTIONS: dict[str, Callable[[Builder, VectorValue], VectorValue]] = {
    "exp": exp, "log": log, "erf": erf, "tanh": tanh,
}  # fmt: skip

WRITTEN_OUT = "tape."
"""How the names of these begin in the code of a kernel."""


def vector_code(module: ir.Module, name: str, bits: int, width: int) -> ir.Function:
    """One of the functions for a vector, written into the module once."""
    full = f"{WRITTEN_OUT}{name}.v{width}f{bits}"
    if full in module.globals:
        return module.globals[full]
    vector = ir.VectorType(ir.DoubleType() if bits == 64 else ir.FloatType(), width)
    function = ir.Function(module, ir.FunctionType(vector, [vector]), full)
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    builder = Builder(function, bits, width)
    builder.finish(FUNCTIONS[name](builder, VectorValue(builder, function.args[0])))
    return function
