"""The workloads that run.py knows, and where thrum should stand on them beside Go."""

from dataclasses import dataclass, field


class UnknownWorkload(Exception):
    pass


@dataclass(frozen=True)
class Workload:
    name: str
    # procs -> the largest thrum/go ratio that meets the goal; no entry, no goal
    goals: dict[int, float] = field(default_factory=dict)
    higher_is_better: bool = False


ALL = [
    Workload("spawn", goals={1: 0.25, 2: 0.35}),
    Workload("spawn_deep", goals={1: 0.12, 2: 0.12}),
    Workload("fib", goals={1: 0.12, 2: 0.12}),
    Workload("yield", goals={1: 0.15, 2: 0.15}),
    Workload("yield_many", goals={1: 0.2, 2: 0.2}),
    Workload("mutex", goals={1: 0.7, 2: 0.2}),
    Workload("memory"),
    Workload("parallel_sum", higher_is_better=True),
]


def choose(names: list[str]) -> list[Workload]:
    """The workloads of these names, in the order of the table; all of them when no name is given."""
    known = {workload.name for workload in ALL}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownWorkload(
            f"unknown workload {', '.join(map(repr, unknown))}; there are: "
            + ", ".join(workload.name for workload in ALL)
        )
    return [workload for workload in ALL if not names or workload.name in names]
