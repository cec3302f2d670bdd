"""The loop of a fused kernel: over blocks, and in each over vectors; then the sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ENTRY = """\
define void @kernel(i64 %step){aligned} {{
entry:
  %at_table = add i64 %step, 8
  %to_table = inttoptr i64 %at_table to ptr
  %table = load i64, ptr %to_table
  %words = inttoptr i64 %table to ptr
  %first = load i64, ptr %words
  %at_end = getelementptr i64, ptr %words, i64 1
  %end = load i64, ptr %at_end
  %at_count = getelementptr i64, ptr %words, i64 2
  %count = load i64, ptr %at_count
  %at_workspace = getelementptr i64, ptr %words, i64 3
  %workspace = load i64, ptr %at_workspace
  %at_opening = getelementptr i64, ptr %words, i64 4
  %opening = load i64, ptr %at_opening
  %at_closing = getelementptr i64, ptr %words, i64 5
  %closing = load i64, ptr %at_closing
{sums}
{cleared_once}
{once}
{parted}
  %some_vectors = icmp slt i64 %first, %end
  %some_blocks = icmp slt i64 %opening, %closing
  %some = and i1 %some_vectors, %some_blocks
  br i1 %some, label %outer, label %done
outer:
  %block = phi i64 [%opening, %entry], [%next_block, %after]
  %start = mul i64 %block, %count
{by_block}
{cleared}
{vectors}
after:
{block_totals}
  %next_block = add i64 %block, 1
  %again = icmp slt i64 %next_block, %closing
  br i1 %again, label %outer, label %done
done:
{totals}
  ret void
}}"""

VECTORS = """\
{name}:
  %{name}.k = phi i64 [{first}, %{before}], [%{name}.next, %{last}]
  %{name}.place = mul i64 %{name}.k, {width}
  %{name}.at = call i64 asm "", "=r,0"(i64 %{name}.place)
  %{name}.flat = add i64 %start, %{name}.at
{mask}
{calls}
  %{name}.next = add i64 %{name}.k, 1
  %{name}.more = icmp slt i64 %{name}.next, {end}
  br i1 %{name}.more, label %{name}, label %{after}"""
"""Going through vectors.

LLVM does not see that places grow from vector to vector, for a word that has gone through an assembler might be any: to
choose among all ways to count addresses on took it a third of the time that the code of a kernel takes, and what it
chose was no faster than a base and a place, which instructions add by themselves.
"""

ASIDE = """\
  br i1 %all, label %added, label %aside
aside:
{put}
  br label %added
added:
{calls}
  br i1 %all, label %on, label %back
back:
{taken}
  br label %on
on:"""
"""Where some lanes of a vector are not there, the sums are put aside, and what the others add is added to them then.

So of a full vector nothing is masked before it is added.
"""

PUT = """\
  %{n}.from = getelementptr {type}, ptr %sums, i64 {k}
  %{n}.to = getelementptr {type}, ptr %kept, i64 {k}
  %{n}.sum = load {type}, ptr %{n}.from
  store {type} %{n}.sum, ptr %{n}.to
  store {type} zeroinitializer, ptr %{n}.from"""
TAKEN = """\
  %{n}.at = getelementptr {type}, ptr %sums, i64 {k}
  %{n}.of = getelementptr {type}, ptr %kept, i64 {k}
  %{n}.added = load {type}, ptr %{n}.at
  %{n}.kept = load {type}, ptr %{n}.of
  %{n}.there = select <{width} x i1> %mask, {type} %{n}.added, {type} zeroinitializer
  %{n}.total = fadd {type} %{n}.kept, %{n}.there
  store {type} %{n}.total, ptr %{n}.at"""
EACH = """\
  br label %{name}.each
{name}.each:
  %{name}.n = phi i64 [0, %{name}], [%{name}.next, %{name}.each]
{lines}
  %{name}.next = add i64 %{name}.n, 1
  %{name}.more = icmp slt i64 %{name}.next, {count}
  br i1 %{name}.more, label %{name}.each, label %{name}.end
{name}.end:"""
"""The same of each of many sums."""

PARTED = """\
  %whole = udiv i64 %count, {width}
  %fewer = icmp slt i64 %whole, %end
  %full_end = select i1 %fewer, i64 %whole, i64 %end
  %some_full = icmp slt i64 %first, %full_end
  %rest = select i1 %some_full, i64 %full_end, i64 %first
  %some_rest = icmp slt i64 %rest, %end"""
"""Which vectors are full: all but the last of a block."""

ALIGNED = " alignstack(64)"
"""Of a function of vectors: what it puts aside must not lie across lines of the cache, which costs as much again."""

IN_REGISTERS = """\
  %sums = alloca [{count} x {type}]
  %kept = alloca [{count} x {type}]"""
IN_MEMORY = """\
  %at_sums = add i64 %workspace, {offset}
  %sums = inttoptr i64 %at_sums to ptr
  %kept = getelementptr [{count} x {type}], ptr %sums, i64 1"""
"""Where the sums are accumulated, and put aside: few of them in variables, which become registers."""
FEW = 16

CLEARED = """\
  %clear{k} = getelementptr {type}, ptr %sums, i64 {place}
  store {type} zeroinitializer, ptr %clear{k}"""

MASK = """\
  %at_lane = insertelement <{width} x i64> poison, i64 %loop.at, i32 0
  %at_lanes = shufflevector <{width} x i64> %at_lane, <{width} x i64> poison, <{width} x i32> zeroinitializer
  %places = add <{width} x i64> %at_lanes, <{numbers}>
  %limit = insertelement <{width} x i64> poison, i64 %count, i32 0
  %limits = shufflevector <{width} x i64> %limit, <{width} x i64> poison, <{width} x i32> zeroinitializer
  %mask = icmp slt <{width} x i64> %places, %limits
  %beyond = add i64 %loop.at, {width}
  %all = icmp sle i64 %beyond, %count"""
"""Which lanes are there, and whether all of them are."""

TOTAL = """\
  %sum_to{k} = getelementptr {type}, ptr %sums, i64 {n}
  %lanes{k} = load {type}, ptr %sum_to{k}
{whole}
  %place{k} = getelementptr i64, ptr %words, i64 {word}
  %base{k} = load i64, ptr %place{k}
  %array{k} = inttoptr i64 %base{k} to ptr
  %element{k} = getelementptr {real}, ptr %array{k}, i64 {element}
  store {real} {value}, ptr %element{k}, align 4"""


class BlockSum(NamedTuple):
    """A sum: its number, the lines that write it, and whether each block has its own."""

    place: int
    total: str
    of_rows: bool


def loop_text(
    width: int, type_: str, chunks: Sequence[str], sums: Sequence[BlockSum], offset: int, once: Sequence[str] = (),
    by_block: Sequence[str] = (), parted: bool = False, in_order: bool = False,
) -> str:  # fmt: skip
    """The function ``kernel``, which calls others, each with some words more than all have.

    At the offset in the workspace there is room for the sums, twice.  `once` and `by_block` are lines that give those
    words.  If it is `parted`, full vectors have a loop of their own, in which there are no masks.  Sums of lanes one
    after the other, `in_order`, cannot be put aside.
    """
    clear = [CLEARED.format(k=k, place=s.place, type=type_) for k, s in enumerate(sums)]
    few = 0 < len(sums) <= FEW and len(chunks) == 1
    aside = sums and width > 1 and len(chunks) == 1 and not parted and not in_order
    return ENTRY.format(
        width=width,
        aligned=ALIGNED if width > 1 else "",
        sums=(IN_REGISTERS if few else IN_MEMORY).format(count=len(sums), type=type_, offset=offset),
        cleared_once="\n".join(c for c, s in zip(clear, sums) if not s.of_rows),
        once="\n".join(once),
        by_block="\n".join(by_block),
        cleared="\n".join(c for c, s in zip(clear, sums) if s.of_rows),
        block_totals="\n".join(s.total for s in sums if s.of_rows),
        parted=PARTED.format(width=width) if parted else "",
        vectors=_vectors(width, chunks, parted, _aside(width, type_, len(sums), few) if aside else ""),
        totals="\n".join(s.total for s in sums if not s.of_rows),
    )


def _aside(width: int, type_: str, count: int, few: bool) -> str:
    """What is done before and after a vector of which some lanes are not there; the calls are still to be filled in."""
    found = []
    for name, text in (("aside", PUT), ("back", TAKEN)):
        each = [text.format(n=f"{name}{k}", k=k, type=type_, width=width) for k in range(count if few else 0)]
        loop = text.format(n=f"{name}.one", k=f"%{name}.n", type=type_, width=width)
        found.append("\n".join(each) if few else EACH.format(name=name, lines=loop, count=count))
    return ASIDE.format(put=found[0], calls="{calls}", taken=found[1])


def _vectors(width: int, chunks: Sequence[str], parted: bool, aside: str) -> str:
    """The loop over the vectors of a block, or that over the full ones and that over what remains."""
    mask = MASK.format(width=width, numbers=", ".join(f"i64 {k}" for k in range(width))) if width > 1 else ""
    true = f"<{width} x i1> <{', '.join(['i1 true'] * width)}>"
    added = true if aside else f"<{width} x i1> %mask"
    given = f", <{width} x i1> %mask, i1 %all, {added}" if width > 1 else ""
    if not parted:
        loop = _loop("loop", width, chunks, given, mask, "%first", "%end", "outer", "after", aside)
        return f"  br label %loop\n{loop}"
    every = f", {true}, i1 true, {true}"
    full = _loop("full", width, chunks, every, "", "%first", "%full_end", "outer", "between")
    rest = _loop("loop", width, chunks, given, mask, "%rest", "%end", "between", "after")
    return (
        f"  br i1 %some_full, label %full, label %between\n{full}\nbetween:\n"
        f"  br i1 %some_rest, label %loop, label %after\n{rest}"
    )


def _loop(
    name: str, width: int, chunks: Sequence[str], lanes: str, mask: str, first: str, end: str, before: str, after: str,
    aside: str = "",
) -> str:  # fmt: skip
    """One of these loops: what its functions are told of the lanes that are there, and the lines that find it out."""
    calls = "\n".join(
        f"  call void @chunk{j}(i64 %table, ptr %sums, i64 %block, i64 %{name}.at, i64 %{name}.flat{lanes}{words})"
        for j, words in enumerate(chunks)
    )
    return VECTORS.format(
        name=name, width=width, mask=mask, calls=aside.format(calls=calls) if aside else calls, first=first, end=end,
        before=before, after=after, last="on" if aside else name,
    )  # fmt: skip


MEAN = """\
  %at_size{k} = getelementptr i64, ptr %words, i64 {word}
  %size{k} = load i64, ptr %at_size{k}
  %count{k} = sitofp i64 %size{k} to {real}
  %mean{k} = fdiv {real} {value}, %count{k}"""


def total_text(
    k: int, real: str, type_: str, n: int, reduce: str | None, divisor: int | None, word: int, element: str,
    in_order: bool,
) -> str:  # fmt: skip
    """The lines that write the sum of an accumulator, or that over the number in a word of the table, the mean.

    Its lanes are added in any order, or `in_order`.
    """
    value, whole = f"%lanes{k}", []
    if reduce is not None:
        how = "" if in_order else "reassoc "
        whole.append(f"  %total{k} = call {how}{real} @{reduce}({real} -0.0, {type_} {value})")
        value = f"%total{k}"
    if divisor is not None:
        whole.append(MEAN.format(k=k, word=divisor, real=real, value=value))
        value = f"%mean{k}"
    return TOTAL.format(
        k=k, n=n, type=type_, whole="\n".join(whole), word=word, real=real, element=element, value=value
    )
