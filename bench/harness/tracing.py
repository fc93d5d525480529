"""What tracing costs: thrum without a trace, with the flight recorder and with a trace to a file, and Go without and
with its tracer, in turns. bench/run.py --tracing."""

import contextlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from harness.environment import variable
from harness.page import long_number
from harness.summary import Group, Row
from harness.table import NOTHING, number, spread

WORKLOADS = ["pingpong", "fib", "skynet", "echo"]
VARIABLE = "BENCH_TRACING"  # read by the bench programs of thrum and Go: `recorder`, or the name of a file
OFF, RECORDER, FILE, GO_OFF, GO_FILE = "off", "recorder", "file", "Go off", "Go file"
SIDES = (OFF, RECORDER, FILE, GO_OFF, GO_FILE)
RUNTIMES = ["thrum", "go"]
HEADER = struct.Struct("<8sIIQQqqIIII")
BLOCK = struct.Struct("<4sHHIIQQQ")
EVENTS, CLOCK, END = 1, 2, 5  # kinds of blocks: docs/trace-format.md
WORDS_LOOKED_AT = 1_000_000  # of a large file only a part is looked at, evenly spread


@dataclass(frozen=True)
class Recorded:
    """What a trace file holds."""

    events: float
    lost: int
    ns: int

    @property
    def lost_share(self) -> float:
        return self.lost / (self.events + self.lost) if self.events + self.lost else 0.0


def runtime_of(side: str) -> str:
    return "go" if side in (GO_OFF, GO_FILE) else "thrum"


def order(round_number: int) -> tuple[str, ...]:
    """Each side goes first in some round, because a run may profit from what the run before it has left warm."""
    first = round_number % len(SIDES)
    return SIDES[first:] + SIDES[:first]


@contextlib.contextmanager
def asked_for(side: str, file: Path):
    """The programs that are started meanwhile trace as this side says. The file is removed afterwards."""
    wanted = {RECORDER: "recorder", FILE: str(file), GO_FILE: str(file)}.get(side)
    try:
        with variable(VARIABLE, wanted):
            yield
    finally:
        file.unlink(missing_ok=True)


def look_at(file: Path) -> Recorded:
    """Counts the events of a trace file of thrum. ValueError: it is none, or it is not complete."""
    with file.open("rb") as trace:
        header = HEADER.unpack(trace.read(HEADER.size))
        if header[0] != b"thrumtrc":
            raise ValueError(f"{file} is no trace file")
        begin_ns, end_ns, lost, blocks = header[5], header[5], None, []
        while head := trace.read(BLOCK.size):
            _, kind, _, length, *_ = BLOCK.unpack(head)
            if kind == EVENTS:
                blocks.append((trace.tell(), length))
            elif kind == CLOCK:
                end_ns = struct.unpack("<Qq", trace.read(16))[1]
                length -= 16
            elif kind == END:
                lost = struct.unpack("<Q", trace.read(8))[0]
                length -= 8
            trace.seek(length, os.SEEK_CUR)
        if lost is None:
            raise ValueError(f"{file} was cut off")
        words = sum(length for _, length in blocks) // 8
        step = max(1, words // WORDS_LOOKED_AT)
        looked_at = blocks[::step]
        found = sum(records_at(trace, at, length) for at, length in looked_at)
    looked_at_words = sum(length for _, length in looked_at) // 8
    return Recorded(found * words / looked_at_words if looked_at_words else 0, lost, end_ns - begin_ns)


def records_at(trace, at: int, length: int) -> int:
    trace.seek(at)
    words = memoryview(trace.read(length)).cast("Q")
    count = place = 0
    while place < len(words):
        count += 1
        place += max(1, words[place] >> 8 & 0xFF)
    return count


def ns_per_event(row: Row, side: str, recorded: Recorded | None) -> float | None:
    """How much longer a unit takes on each P, divided by the events of a unit. None where the Ps are not busy all the
    time, so that the time of a unit says nothing about the work."""
    times = {one: row.median(one) for one in (OFF, FILE, side)}
    if recorded is None or not recorded.events or not recorded.ns or None in times.values() or row.figure.higher_is_better:
        return None
    in_ns = 1e6 if row.unit.startswith("ms") else 1e3 if row.unit.startswith("us") else 1
    events_per_unit = (recorded.events + recorded.lost) / recorded.ns * times[FILE] * in_ns
    return row.procs * (times[side] - times[OFF]) * in_ns / events_per_unit


def render(groups: list[Group], recorded: dict[int, Recorded]) -> str:
    head = ["figure", "P", "unit", *SIDES, "recorder/off", "file/off", "Go file/off", "ns an event: recorder", "file", "lost", "spread " + " | ".join(SIDES)]
    lines = [head]
    for group in groups:
        found = recorded.get(id(group))
        for row in group.rows:
            lines.append([
                row.figure.name,
                str(row.procs),
                row.unit + (" (more is better)" if row.figure.higher_is_better else ""),
                *("failed" if side in row.failed else number(row.median(side)) for side in SIDES),
                *(number(ratio) for ratio in ratios(row)),
                *(number(ns_per_event(row, side, found)) for side in (RECORDER, FILE)),
                share_lost(found),
                " | ".join(spread(row.spread(side)) for side in SIDES),
            ])  # fmt: skip
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def ratios(row: Row) -> list[float | None]:
    return [row.ratio(RECORDER, OFF), row.ratio(FILE, OFF), row.ratio(GO_FILE, GO_OFF)]


def share_lost(found: Recorded | None) -> str:
    return NOTHING if found is None else f"{found.lost_share:.1%}" if found.lost else "0"


def page(groups: list[Group], recorded: dict[int, Recorded], head: str) -> str:
    """The table of docs/tracing.md."""
    lines = [head, "", "| figure | P | off | flight recorder | to a file | ns an event, recorder; file | events lost | Go | Go to a file |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for group in groups:
        found = recorded.get(id(group))
        for row in group.rows:
            recorder, file, go = ratios(row)
            per_event = "; ".join(number(ns_per_event(row, side, found)) for side in (RECORDER, FILE))
            name = row.figure.name + (" (more is better)" if row.figure.higher_is_better else "")
            lines.append(
                f"| {name} | {row.procs} | {long_number(row.median(OFF))} {row.unit} | {with_ratio(row, RECORDER, recorder)} "
                f"| {with_ratio(row, FILE, file)} | {per_event} | {share_lost(found)} | {long_number(row.median(GO_OFF))} "
                f"| {with_ratio(row, GO_FILE, go)} |"
            )
    return "\n".join(lines)


def with_ratio(row: Row, side: str, ratio: float | None) -> str:
    return f"{long_number(row.median(side))} (× {number(ratio)})" if ratio is not None else NOTHING
