"""thrum with and without heuristics of its scheduler, in turns: bench/run.py --without."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from harness import workloads
from harness.environment import variable
from harness.summary import Group, Row
from harness.table import NOTHING, number, spread
from harness.workloads import Workload

HEADER = Path(__file__).resolve().parents[2] / "src/thrum/base/ablation.h"  # the list that the programs are built from
ENTRY = re.compile(r'^  X\((\w+), "([^"]*)", "([^"]*)"\)', re.M)
VARIABLE = "THRUM_ABLATE"
CAN_LEAVE_OUT = "heuristics can be left out"  # said by --about of a program that was built with THRUM_ABLATION
WITH, WITHOUT = "with", "without"
PAYS, COSTS, NOISE = "pays", "costs", "no difference"


class UnknownHeuristic(Exception):
    pass


@dataclass(frozen=True)
class Heuristic:
    name: str
    rows: tuple[str, ...]  # the workloads on which it should show
    without: str  # what happens without it


@dataclass
class Ablation:
    """Heuristics that are left out together, and what that did."""

    heuristics: tuple[Heuristic, ...]
    groups: list[Group] = field(default_factory=list)

    @property
    def name(self) -> str:
        return ",".join(heuristic.name for heuristic in self.heuristics)

    @property
    def rows(self) -> list[Row]:
        return [row for group in self.groups for row in group.rows]


def known(header: Path = HEADER) -> list[Heuristic]:
    found = ENTRY.findall(header.read_text(encoding="utf-8"))
    return [Heuristic(name, tuple(rows.split()), without) for name, rows, without in found]


def choose(text: str) -> list[Ablation]:
    """`all`: one for each heuristic. Otherwise one for all the names between commas."""
    heuristics = {heuristic.name: heuristic for heuristic in known()}
    if text == "all":
        return [Ablation((heuristic,)) for heuristic in heuristics.values()]
    names = list(dict.fromkeys(name for name in text.split(",") if name))
    unknown = [name for name in names if name not in heuristics]
    if unknown or not names:
        what = ", ".join(map(repr, unknown)) if unknown else "without a name"
        raise UnknownHeuristic(f"unknown heuristic {what}; there are: all, " + ", ".join(heuristics))
    return [Ablation(tuple(heuristics[name] for name in names))]


def plan(ablations: list[Ablation], asked: list[Workload], procs: list[int]) -> None:
    """Gives each ablation its groups: the workloads that were asked for, or those of its heuristics if none were."""
    for ablation in ablations:
        names = [name for heuristic in ablation.heuristics for name in heuristic.rows]
        members = asked or workloads.choose(names)
        ablation.groups = [Group(workload, count) for workload in members for count in procs]


def left_out(names: str):
    """The programs that are started meanwhile leave these heuristics out; an empty text leaves out none."""
    return variable(VARIABLE, names or None)


def order(round_number: int) -> tuple[str, str]:
    """Each side goes first in every second round, because a run may profit from what the run before has left warm."""
    return (WITH, WITHOUT) if round_number % 2 else (WITHOUT, WITH)


def verdict(row: Row) -> str | None:
    """Whether the heuristic makes a difference that is larger than the noise: each round on one side is better than
    each round on the other."""
    if row.median(WITH) is None or row.median(WITHOUT) is None:
        return None
    sign = -1 if row.figure.higher_is_better else 1
    used, left = ([sign * value for value in row.values[side]] for side in (WITH, WITHOUT))
    if max(used) < min(left):
        return PAYS
    return COSTS if max(left) < min(used) else NOISE


def table(ablation: Ablation) -> str:
    head = ["row", "P", "unit", WITH, WITHOUT, "ratio", f"spread {WITH} | {WITHOUT}", "the heuristic"]
    lines = [head, *(cells(row) for row in ablation.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = [f"without {ablation.name}: {'; '.join(heuristic.without for heuristic in ablation.heuristics)}"]
    text += ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join(text) + "\n"


def cells(row: Row) -> list[str]:
    unit = row.unit + (" (more is better)" if row.figure.higher_is_better else "")
    medians = ["failed" if side in row.failed else number(row.median(side)) for side in (WITH, WITHOUT)]
    spreads = " | ".join(spread(row.spread(side)) for side in (WITH, WITHOUT))
    ratio = number(row.ratio(WITHOUT, WITH))
    return [row.figure.name, str(row.procs), unit, *medians, ratio, spreads, verdict(row) or NOTHING]


def page(ablations: list[Ablation], head: str) -> str:
    """The table of decision 021: a line for each heuristic."""
    lines = [head, "", "| heuristic | without it | P=1 | P=2 |", "|---|---|---|---|"]
    for ablation in ablations:
        without = "; ".join(heuristic.without for heuristic in ablation.heuristics)
        lines.append(f"| `{ablation.name}` | {without} | {ratios(ablation, 1)} | {ratios(ablation, 2)} |")
    return "\n".join(lines)


def ratios(ablation: Ablation, procs: int) -> str:
    """The first figure of each workload, and of the further ones those that differ by more than the noise."""
    said = []
    for group in ablation.groups:
        for index, row in enumerate(group.rows):
            found = verdict(row)
            if group.procs != procs or (index > 0 and found not in (PAYS, COSTS)):
                continue
            text = f"{row.figure.name} {number(row.ratio(WITHOUT, WITH))}"
            said.append({PAYS: f"**{text}**", COSTS: f"{text} ✗"}.get(found, text))
    return ", ".join(said) or NOTHING
