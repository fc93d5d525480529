"""From raw values to what is shown: medians, spread, ratios, goals."""

import statistics
from dataclasses import dataclass, field

from harness.programs import Sample
from harness.workloads import Figure, Goal, Workload


@dataclass
class Row:
    """One figure at one number of procs: the values of every runtime, one per round."""

    figure: Figure
    procs: int
    unit: str = ""
    values: dict[str, list[float]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def add(self, runtime: str, sample: Sample) -> None:
        if self.unit not in ("", sample.unit):
            raise ValueError(f"{self.figure.name}: {runtime} answers in {sample.unit}, others in {self.unit}")
        self.unit = sample.unit
        self.values.setdefault(runtime, []).append(sample.value)

    def median(self, runtime: str) -> float | None:
        """None for a runtime that failed even once: a median of its lucky rounds would hide that."""
        if runtime in self.failed or runtime not in self.values:
            return None
        return statistics.median(self.values[runtime])

    def spread(self, runtime: str) -> tuple[float, float] | None:
        """How far the lowest and the highest round lie from the median, as fractions of it."""
        median = self.median(runtime)
        if not median:
            return None
        values = self.values[runtime]
        return min(values) / median - 1, max(values) / median - 1

    def ratio(self, runtime: str, other: str) -> float | None:
        numerator, denominator = self.median(runtime), self.median(other)
        if numerator is None or not denominator:
            return None
        return numerator / denominator

    def cost_ratio(self, runtime: str, other: str) -> float | None:
        """The ratio turned so that below 1 is always the better side, whatever the unit."""
        ratio = self.ratio(runtime, other)
        if ratio and self.figure.higher_is_better:
            return 1 / ratio
        return ratio

    def goal(self) -> Goal | None:
        return self.figure.goals.get(self.procs)

    def goal_met(self) -> bool | None:
        """None without a goal, and where a figure that it needs is missing."""
        if (goal := self.goal()) is None:
            return None
        reached = self.cost_ratio("thrum", goal.beside) if goal.beside else self.median("thrum")
        return None if reached is None else reached <= goal.at_most


class Group:
    """One workload at one number of procs: what one run of a program fills, a row per figure."""

    def __init__(self, workload: Workload, procs: int):
        self.workload = workload
        self.procs = procs
        self.rows = [Row(figure, procs) for figure in workload.figures]

    def add(self, runtime: str, samples: list[Sample]) -> None:
        for row, sample in zip(self.rows, samples, strict=True):
            row.add(runtime, sample)

    def fail(self, runtime: str) -> None:
        for row in self.rows:
            row.failed.add(runtime)

    def has_failed(self, runtime: str) -> bool:
        return any(runtime in row.failed for row in self.rows)
