"""Writing a random program.

Names say what they hold: ``s`` numbers without axes, ``v`` vectors of three, ``m`` matrices of three by three,
all computed from the arguments; ``p`` floats and ``i`` integers that Python was told; ``w`` a tensor that is written,
``u`` a view of one.
Outside of the function are ``W`` (an array), ``T`` (a tensor with gradient), ``C`` (a float), ``L`` (a list of floats)
and ``helper`` and ``inner`` (functions, the second compiled).
"""

from __future__ import annotations

import random

from .tree import Program, Statement

SCALARS = (
    "{v}.sum()", "{v}.mean()", "{v}[{k}]", "{v}.max()", "({v} * {v}).sum()", "{v} @ {v}", "{m}[{k}, {k}]", "{m}.mean()",
    "tape.sin({s})", "{s} * {s}", "{s} + {p}", "{s}.tanh()", "tape.where({s} > {s}, {s}, {s} * 2)", "abs({s})",
    "{s} - {s}", "{s} / (1 + {s} * {s})", "{s}.detach() * {s}", "tape.stack([{s}, {s}]).sum()", "{s} * {p} - {i}",
    "tape.maximum({s}, {s})", "(-{s}.square()).exp()", "(1 + {s}.abs()).log()", "({v} - T).square().mean()",
    "(T * T).sum() * {s}", "{s} * C", "{s} + float(T[{k}])", "(W * {v}).sum()", "{s} ** 2", "{v}[{i} % 3]",
    "{s} * L[0]", "{v}[{v} > {s}].sum()", "helper({s})", "inner({v}).sum()", "{s}.clamp(-1, 1)", "max({v})", "sum({v})",
    "{v}[{v}.argmax()]", "max({v}, key=lambda e: -e)", "{m}.diagonal().sum()", "0.0 + {s}", "{s} * 1.0", "-(-{s})",
    "{s} - 0.0", "{s} + 0", "tape.prod({v}.tanh())", "{v}.std()", "sum(e * e for e in {v} if e > {p})",
    "tape.logsumexp({v}, 0)",
)  # fmt: skip
VECTORS = (
    "{v} * {s}", "{v} + {v}", "{v}.sin()", "({m} @ {v}).tanh()", "{v}[[2, 0, 1]]", "{v}.cumsum(0)",
    "tape.where({v} > {s}, {v}, -{v})", "tape.stack([{s}, {s}, {s}])", "tape.cat([{v}[:1], {v}[1:]])", "{m}.sum(0)",
    "{m}[{k}]", "{v} / (1 + {v} * {v})", "W * {v}", "T * {v}", "helper({v})", "{v}.clone()", "tape.stack(sorted({v}))",
    "({m}.T @ {v}).sigmoid()", "{v} - {p}", "{v}.flip(0)", "inner({v})", "{v} * (W * 2 - W)",
    "{v} + (T * 2).exp().clamp(0, 3)", "{v}.detach() + {v}", "{m}[:, {k}]", "{v} * x", "tape.softmax({v}, 0)",
    "{v} * tape.tensor([1.0, 2.0, {p}])", "np.sin({v})", "{v} * np.array([1.0, {p}, 0.5])", "({v} > {s}) * {v}",
    "{v}[tape.argsort({v})]", "tape.func.grad(lambda t: (t * {v}).sin().sum())({v})",
    "tape.func.jvp(lambda t: t * t.sum(), ({v},), ({v},))[1]", "tape.func.vmap(lambda t: t * {s} + t.sin())({v})",
    "tape.func.hessian(lambda t: (t ** 3).sum() * t[0])({v}) @ {v}",
    "tape.func.vmap(tape.func.grad(lambda t: (t * t * {s}).sin()))({v})",
    "tape.func.jacrev(lambda t: t.tanh() * t[0])({v}) @ {v}", "tape.func.vjp(lambda t: t * {s}, {v})[1]({v})[0]",
    "tape.func.jacfwd(lambda t: t * t[1])({v})[0]",
    "tape.autograd.grad(({v}.sin() * {v}).sum(), x, allow_unused=True, materialize_grads=True)[0]",
)  # fmt: skip
MATRICES = (
    "{m} * {s}", "({m} @ {m}).tanh()", "{m} + {v}", "{m}.T", "{v}.reshape(3, 1) * {v}", "tape.stack([{v}, {v}, {v}])",
    "{m}.sin()", "tape.where({m} > {s}, {m}, 0.0)", "{m} * W", "{m}[[1, 2, 0]]", "{m} / (1 + {m} * {m})", "{m} - T",
)  # fmt: skip
FLOATS = (
    "float({s})", "{s}.item()", "{v}.tolist()[{k}]", "float({v}.max())", "round(float({s}), 1)",
    "(1.0 if {s} > 0 else 2.0)", "C", "L[0]", "float({v}.detach().numpy()[{k}])", "min({p}, 2.0)", "{p} * 0.5",
    "float(W.sum())", "float(np.asarray({v}.detach()).max())", "float(len([e for e in {v} if e > 0]))",
    "float(T.sum() > 1)", "float(bool({s} > {s}))",
)  # fmt: skip
INTEGERS = (
    "int({s} * 2) % 3", "int({v}.argmax())", "sum(1 for e in {v} if e > {p})", "{v}.tolist().index(max({v}.tolist()))",
    "({i} + 1) % 3", "len({v}[{v} > {s}])", "int({s} > {s})", "sorted(range(3), key=lambda k: {v}[k].item())[0]",
)  # fmt: skip
TRUTHS = (
    "{s} > {s}", "{s} < {p}", "({v} > {s}).any()", "({v} > 0).all()", "{s}.item() > {p}", "{i} % 2 == 0", "not {s} < 0",
    "{v}[0] < {v}[1] < {v}[2]", "{s} > 0 and {s} < 2", "{v}[{k}] in {v}[1:]", "tape.equal({v}, {v})", "{p} > 0.3",
    "tape.allclose({v}, x)", "T[0] > {s}", "{s} == {s}", "W[0] > 0",
)  # fmt: skip
CHANGES = (
    "T.data.mul_(-0.5)", "W[:] = W[::-1] * 0.8", "C = C * -0.7", "L[0] = L[0] - 1.1", "T.data.add_(0.3)", "W *= -1",
    "T = tape.tensor([0.2, -0.4, 1.1], requires_grad=True)", "L.append(1.0)",
)  # fmt: skip
RESULTS = (
    "s0 + v0.sum()", "v0", "(s0, v1)", "{'a': v0, 'b': [s1, m0]}", "[w0, s0 * p0]", "v0 * p0 + i0", "(v0 * 1, v0 * 1)",
)  # fmt: skip
KINDS = {"s": SCALARS, "v": VECTORS, "m": MATRICES, "p": FLOATS, "i": INTEGERS}
NAMES = {"s": ("s0", "s1", "s2"), "v": ("v0", "v1", "v2", "x"), "m": ("m0", "m1"), "p": ("p0", "p1"), "i": ("i0", "i1")}


class Grammar:
    """Chooses at random, with a budget for depth.

    Attributes:
        loops: how many loops are around what is written now.
    """

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.loops = 0

    def expression(self, kind: str, depth: int = 1) -> str:
        """Something of a kind, out of names and of other expressions."""
        return self.filled(self.random.choice(KINDS[kind]), depth)

    def truth(self) -> str:
        return self.filled(self.random.choice(TRUTHS), 1)

    def filled(self, pattern: str, depth: int) -> str:
        for kind in "svmpi":
            while f"{{{kind}}}" in pattern:
                deeper = depth > 0 and self.random.random() < 0.2
                part = f"({self.expression(kind, depth - 1)})" if deeper else self.random.choice(NAMES[kind])
                pattern = pattern.replace(f"{{{kind}}}", part, 1)
        while "{k}" in pattern:
            pattern = pattern.replace("{k}", str(self.random.randrange(3)), 1)
        return pattern

    def assignment(self, kinds: str = "sssvvvmpi") -> Statement:
        kind = self.random.choice(kinds)
        name = self.random.choice([n for n in NAMES[kind] if n != "x"])
        return Statement(f"{name} = {self.expression(kind)}")

    def block(self, depth: int) -> tuple[Statement, ...]:
        return tuple(s for _ in range(self.random.randint(1, 3)) for s in self.statement(depth - 1))

    def statement(self, depth: int) -> tuple[Statement, ...]:
        """One or more statements that belong together."""
        simple = (self._assign, self._assign, self._assign, self._in_place, self._view, self._write, self._flow)
        nested = (
            self._branch, self._branch, self._loop, self._march, self._fill, self._until, self._leave, self._mode,
            self._function, self._fail,
        )  # fmt: skip
        return self.random.choice(simple + nested if depth > 0 else simple)(depth)

    def _assign(self, depth: int) -> tuple[Statement, ...]:
        return (self.assignment(),)

    def _in_place(self, depth: int) -> tuple[Statement, ...]:
        name = self.random.choice(("v0", "v1", "v2"))
        text = self.random.choice((
            "{n} += {v}", "{n} *= {s}", "{n}[{k}] = {s}", "{n}.mul_({s})", "{n}.sub_({v})", "{n}.sin_()",
            "{n}[{k}] += {s}", "{n}[1:] = {v}[:2]", "{n}[{n} > {s}] = {s}", "{n}.clamp_(-2, 2)", "{n}.copy_({v})",
            "{n}.zero_()", "{n}[:2].mul_({s})",
        ))  # fmt: skip
        return Statement(f"{name} = {name}.clone()"), Statement(self.filled(text.replace("{n}", name), 1))

    def _view(self, depth: int) -> tuple[Statement, ...]:
        """Changes of a tensor and of a view of it that was taken before, between or after them."""
        name = self.random.choice(("v0", "v1", "m0", "m1", "w0"))
        look = self.random.choice((
            "{n}[{k}]", "{n}[:2]", "{n}[1:]", "{n}[::-1]", "{n}.T", "{n}.T[{k}]", "{n}.reshape(-1)", "{n}[None, 1:]",
            "{n}.unsqueeze(0)[..., :2]", "{n}.reshape(-1)[::2]", "{n}.T.reshape(-1)", "{n}.T[1:].T", "{n}.view_as({n})",
        ))  # fmt: skip
        changes = [
            "{n} *= {s}", "{n}[{k}] += {s}", "{n}[:2] = {n}[1:]", "{n}.clamp_(-2, 2)", "u0.mul_({s})", "u0 += {s}",
            "u0[...] = u0 * {p}", "u0.sin_()", "u0.copy_({n}.sum() * u0)", "{n}.T[{k}].add_({s})",
            "{n}[{n} > {s}] = {p}",
        ]  # fmt: skip
        lines = self.random.sample(changes, self.random.randint(1, 3))
        lines.insert(self.random.randint(0, len(lines)), f"u0 = {look}")
        lines = [f"{name} = {name} * 1", *lines, "s0 = s0 + u0.sum()"]
        return tuple(Statement(self.filled(line.replace("{n}", name), 1)) for line in lines)

    def _fill(self, depth: int) -> tuple[Statement, ...]:
        """A buffer filled in a loop."""
        line = self.random.choice((
            "w0[j] = {s} * x[j]", "w0[j] += {s} * w0[j - 1] + 1", "w0[j:] += {v}[j]", "w0[j], s0 = s0, s0 * x[j]",
            "w0[:j].mul_({s}); w0[j] = {v}[j]", "w0[j] = w0[:j].sum() + {s}",
        ))  # fmt: skip
        made = self.random.choice(("tape.zeros(3)", "tape.zeros_like(x)", "{v} * 1", "x.new_zeros(3)"))
        loop = Statement("for j in range(3):", (Statement(self.filled(line, 1)), *self.block(0)[:1]))
        return Statement(self.filled(f"w0 = {made}", 0)), loop, Statement("v0 = v0 * w0")

    def _write(self, depth: int) -> tuple[Statement, ...]:
        text = self.random.choice((
            "w0[{k}] = {s}", "w0 += {v}", "w0.mul_({s})", "w0 = w0 + {v}", "w0 = tape.zeros(3)", "v0 = w0 * {s}",
            "s0 = w0.sum()", "w0[{i} % 3] = {s}", "w0 += W", "w0 = tape.zeros_like(x)",
        ))  # fmt: skip
        return (Statement(self.filled(text, 1)),)

    def _flow(self, depth: int) -> tuple[Statement, ...]:
        text = self.random.choice((
            "v{k}.register_hook(lambda g: g * 1.5)", "s{k}.register_hook(lambda g: -g if g > 0 else g)",
            "v{k} = {v}.detach().requires_grad_()", "v{k} = {v}.data", "s{k} = {s}.detach()",
            "v{k} = tape.autograd.grad(({v}.sin() * {v}).sum(), {v}, retain_graph=True, materialize_grads=True)[0]",
            "s{k} = tape.autograd.grad({s} * {s}, {s}, create_graph=True, materialize_grads=True)[0]",
            "(v0,) = tape.autograd.grad(v{k}.exp().sum(), x, create_graph=True)",
        ))  # fmt: skip
        if self.loops > 1:  # gradients of gradients of … double in each step
            text = text.replace("v{k}.exp()", "(v{k}.detach() * x).exp()")
        return (Statement(self.filled(text, 1)),)

    def _branch(self, depth: int) -> tuple[Statement, ...]:
        parts = [Statement(f"if {self.truth()}:", self.block(depth))]
        if self.random.random() < 0.3:
            parts.append(Statement(f"elif {self.truth()}:", self.block(depth)))
        if self.random.random() < 0.6:
            parts.append(Statement("else:", self.block(depth)))
        return (Statement("if True:", tuple(parts)),)

    def _loop(self, depth: int) -> tuple[Statement, ...]:
        header = self.random.choice(("for j in range(3):", "for j in range(i0 % 3):", "for j, e in enumerate(x):"))
        last = Statement(self.random.choice(("s0 = s0 * 0.5 + v0[j]", "v1 = v1 * 0.5 + m0[j]", "s1 = s1 + x[j] * j")))
        return (Statement(header, (*self._inside(depth), last)),)

    def _inside(self, depth: int) -> tuple[Statement, ...]:
        """A block that is run several times."""
        self.loops += 1
        block = self.block(depth)
        self.loops -= 1
        return block

    def _march(self, depth: int) -> tuple[Statement, ...]:
        """A loop, of many steps at times, some of which take another branch; the list finds it again."""
        if self.random.random() < 0.7:
            return self._loop(depth)
        body = tuple(self.assignment("ssv") for _ in range(self.random.randint(1, 3)))
        calm = Statement(
            self.random.choice(("s0, s1 = s0.tanh(), s1.sin()", "s1 = s1 * 0.5 + x[j % 3]", "s2 = abs(s2)"))
        )
        branch = Statement(f"if {self.truth()}:", (self.assignment("s"),))
        inner = (*body, calm, branch) if self.random.random() < 0.5 else (calm, *body, calm)
        return Statement(f"for j in range({self.random.choice((40, 70, 120))}):", inner), Statement("v0 = v0.tanh()")

    def _until(self, depth: int) -> tuple[Statement, ...]:
        condition = self.random.choice(("abs(s0) > 0.5", "s0 > p0", "(v0.abs() > 1).any()", "float(s0) > 0.25"))
        steps = Statement("v0, s0 = v0 * 0.6, s0 * 0.55")
        header = f"while {condition} and (count := count + 1) < 7:"  # it ends whatever is taken out of its body
        return Statement("count = 0"), Statement(header, (steps, *self._inside(0)))

    def _leave(self, depth: int) -> tuple[Statement, ...]:
        kind = self.random.choice("svm")
        return (Statement(f"if {self.truth()}:", (Statement(f"return {self.expression(kind)}"),)),)

    def _mode(self, depth: int) -> tuple[Statement, ...]:
        mode = self.random.choice(("no_grad", "no_grad", "enable_grad"))
        return (Statement(f"with tape.{mode}():", self.block(0)),)

    def _function(self, depth: int) -> tuple[Statement, ...]:
        local = Statement("def local(t):", (Statement(self.filled("return t * {s} if t.sum() > {p} else t - {p}", 1)),))
        return (Statement("if True:", (local, Statement("v1 = local(v0)"), Statement("s1 = local(s2)"))),)

    def _fail(self, depth: int) -> tuple[Statement, ...]:
        text = self.random.choice((
            "raise ValueError(p0)", "s0 = v0[7]", "v0 = v0 + tape.ones(2)", "s0 = {}[i0]", "p0 = 1 / 0",
        ))  # fmt: skip
        return (Statement(f"if {self.truth()} and {self.truth()}:", (Statement(text),)),)


def write(seed: int) -> Program:
    """The program of a seed."""
    g = Grammar(seed)
    pick = g.random.choice
    body = tuple(s for _ in range(g.random.randint(3, 9)) for s in g.statement(2))
    result = pick(RESULTS)
    tier = pick((None, None, "interpret", "quick", "optimised"))
    changes = tuple(pick(CHANGES) for _ in range(3)) if g.random.random() < 0.5 else ()
    dtype = pick(("float64", "float64", "float64", "float64", "float32", "int64"))
    return Program(seed, body, result, dtype, g.random.random() < 0.6, tier, pick((None, 1, 2)), changes)
