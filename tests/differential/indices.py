"""Random views and indices for a tensor of a given shape, in words that both libraries take."""

from __future__ import annotations

import math
from random import Random


def basic(shape: tuple[int, ...], random: Random) -> str:
    """An index of integers, slices, None and an ellipsis."""
    parts = [entry(n, random) for n in shape]
    if parts and random.random() < 0.4:
        parts = [*parts[: random.randrange(len(parts))], "..."]
    if random.random() < 0.15:
        parts.insert(random.randrange(len(parts) + 1), "None")
    return ", ".join(parts) or "..."


def entry(n: int, random: Random) -> str:
    """An index for one axis."""
    if n and random.random() < 0.3:
        return str(random.randrange(-n, n))
    start, stop = sorted((random.randrange(n + 1), random.randrange(n + 1)))
    step = random.choice(["", "", "", ":2"])
    return random.choice([":", f"{start}:{stop}{step}", f"{start}:{step}", f":{stop}"]) if n else ":"


def advanced(shape: tuple[int, ...], random: Random) -> str:
    """An index with a list of places or a mask in it.

    No integer stands beside it: NumPy, and so `tape`, reads x[0, :, places] as two lists, PyTorch as x[0][:, places].
    """
    axis = random.randrange(len(shape))
    n = shape[axis]
    if random.random() < 0.4:
        places = [random.random() < 0.6 for _ in range(n)]
        chosen = f"torch.tensor({places})"
    elif random.random() < 0.3 and len(shape) > 1:
        size = math.prod(shape)
        grid = [random.random() < 0.5 for _ in range(size)]
        return f"torch.tensor({grid}).reshape({shape})"
    else:
        chosen = f"torch.tensor({[random.randrange(-n, n) for _ in range(random.randint(1, 3))]})"
    before = [random.choice([":", ":", "1:", "::2"]) for _ in shape[:axis]]
    return ", ".join([*before, chosen])


def places(shape: tuple[int, ...], random: Random) -> str:
    """An index of a list of places, each once: what is written twice into one has no one gradient."""
    axis = random.randrange(len(shape))
    n = shape[axis]
    chosen = f"torch.tensor({random.sample(range(n), random.randint(1, n))})"
    return ", ".join([*(random.choice([":", "1:", "::2"]) for _ in shape[:axis]), chosen])


def views(name: str, shape: tuple[int, ...], random: Random) -> str:
    """An expression that looks at a tensor's memory, or at part of it."""
    rank = len(shape)
    d, e = (random.randrange(-rank, rank) if rank else 0 for _ in range(2))
    options = [f"{name}[{basic(shape, random)}]"] * 4
    options += [f"{name}.unsqueeze({random.randint(-rank - 1, rank)})", f"{name}.squeeze()", f"{name}.view_as({name})"]
    options += [f"{name}.reshape(-1)", f"{name}.expand(2, {', '.join(['-1'] * rank)})" if rank else f"{name}.expand(3)"]
    if rank:
        options += [f"{name}.transpose({d}, {e})", f"{name}.squeeze({d})", f"{name}.flatten()"]
        options += [f"{name}.movedim({d}, {e})", f"{name}.permute({tuple(random.sample(range(rank), rank))})"]
    if rank and shape[d]:
        k = random.randrange(shape[d])
        options += [f"{name}.select({d}, {k})", f"{name}.narrow({d}, {k}, {random.randint(1, shape[d] - k)})"]
    if rank > 1:
        options += [f"{name}.diagonal({random.randint(-1, 1)})", f"{name}.mT", f"{name}.swapaxes({d}, {e})"]
    return random.choice(options)


def many(name: str, shape: tuple[int, ...], random: Random) -> tuple[str, int] | None:
    """An expression that cuts a tensor into parts, and their number."""
    axes = [i for i, n in enumerate(shape) if n in (2, 3, 4)]
    if not axes:
        return None
    d = random.choice(axes)
    n = shape[d]
    return random.choice([(f"{name}.unbind({d})", n), (f"{name}.split(1, {d})", n), (f"{name}.chunk(2, {d})", 2)])
