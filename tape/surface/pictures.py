"""Large tensors and arrays in notebooks: shape, dtype, smallest and largest number, and a small picture.

Vectors are drawn as a curve, of matrices the elements as shades; of more axes the first matrix is drawn.  Every picture
says in words what it shows.
"""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from typing import Any

import numpy as np

WIDTH, HEIGHT, SIDE = 240, 60, 96
"""Of a curve in pixels; the most rows and columns of a picture of shades."""
DARK, LIGHT, MISSING = np.array([18.0, 58.0, 107.0]), np.array([244.0, 248.0, 255.0]), np.array([214.0, 69.0, 65.0])
"""The colours of the largest and the smallest number, and of what is not finite."""


def html(kind: str, array: np.ndarray, more: str = "") -> str:
    """A large array in HTML.

    Args:
        kind: what it is called.
        array: its numbers.
        more: what else there is to say, in plain text.
    """
    numbers = np.abs(array) if array.dtype.kind == "c" else array.astype(float)
    finite = numbers[np.isfinite(numbers)]
    size = " × ".join(map(str, array.shape))
    told = [f"<b>{escape(kind)}</b> {array.dtype}, {size}"]
    if finite.size:
        told.append(f"{'modulus ' if array.dtype.kind == 'c' else ''}from {finite.min():.6g} to {finite.max():.6g}")
    if finite.size < numbers.size:
        told.append(f"{numbers.size - finite.size:,} not finite")
    if more:
        told.append(escape(more))
    picture = (_curve(numbers) if array.ndim == 1 else _shades(numbers)) if finite.size else ""
    return f"<div>{', '.join(told)}</div>{picture}"


def _limits(x: np.ndarray) -> tuple[float, float]:
    finite = x[np.isfinite(x)]
    return float(finite.min()), float(finite.max())


def _curve(x: np.ndarray) -> str:
    """A vector as the range of its numbers over their position."""
    low, high = _limits(x)
    parts = [part[np.isfinite(part)] for part in np.array_split(x, min(len(x), WIDTH))]
    scale = (HEIGHT - 4) / (high - low or 1.0)
    step = WIDTH / len(parts)
    known = [(i, part) for i, part in enumerate(parts) if part.size]
    top = [f"{i * step:.1f},{HEIGHT - 2 - (part.max() - low) * scale:.1f}" for i, part in known]
    bottom = [f"{i * step:.1f},{HEIGHT - 2 - (part.min() - low) * scale:.1f}" for i, part in known]
    told = f"Curve of {len(x):,} numbers by position, from {low:.6g} below to {high:.6g} above"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{told}" width="{WIDTH}" height="{HEIGHT}">'
        f"<title>{told}</title>"
        f'<polygon points="{" ".join([*top, *bottom[::-1]])}" fill="#123a6b" stroke="#123a6b"/></svg>'
    )


def _shades(x: np.ndarray) -> str:
    """A matrix as shades, of at most so many rows and columns; of more axes the first."""
    matrix = x[(0,) * (x.ndim - 2)]
    rows, columns = (_chosen(n) for n in matrix.shape)
    shown = matrix[np.ix_(rows, columns)]
    if not np.isfinite(shown).any():
        return ""
    low, high = _limits(shown)
    depth = (shown - low) / (high - low or 1.0)
    pixels = LIGHT + np.where(np.isfinite(depth), depth, 0.0)[..., None] * (DARK - LIGHT)
    pixels[~np.isfinite(shown)] = MISSING
    every = "" if shown.shape == matrix.shape else f", of which {len(rows)} × {len(columns)} elements are drawn"
    first = f"the first of {x.size // matrix.size:,} matrices" if x.ndim > 2 else "a matrix"
    told = f"Shades of {first} of {matrix.shape[0]} × {matrix.shape[1]}{every}: {low:.6g} is light, {high:.6g} dark"
    scale = max(1, 2 * SIDE // max(shown.shape))
    sides = f'width="{scale * len(columns)}" height="{scale * len(rows)}"'
    data = base64.b64encode(png(pixels.round().astype(np.uint8))).decode()
    style = 'style="image-rendering:pixelated"'
    return f'<img alt="{told}" title="{told}" {sides} {style} src="data:image/png;base64,{data}"/>'


def _chosen(n: int) -> Any:
    return np.unique(np.linspace(0, n - 1, min(n, SIDE)).round().astype(int))


def png(pixels: np.ndarray) -> bytes:
    """A picture of uint8[rows, columns, 3] as a PNG file."""
    rows, columns, _ = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
