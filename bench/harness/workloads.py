"""The workloads that run.py knows, what figures each gives, and where thrum should stand on them beside Go."""

from dataclasses import dataclass, field


class UnknownWorkload(Exception):
    pass


@dataclass(frozen=True)
class Figure:
    name: str
    # procs -> the largest thrum/go ratio that meets the goal (go/thrum where higher is better); no entry, no goal
    goals: dict[int, float] = field(default_factory=dict)
    higher_is_better: bool = False
    beside: str = "go"  # whom the goal is about


@dataclass(frozen=True)
class Workload:
    """One run of a program; it prints a line per figure, in this order. The first figure bears the workload's name, unless it has one."""

    figures: tuple[Figure, ...]
    # The load comes from another program on the first CPU: with one P the runtime has the last one to itself.
    has_client: bool = False
    title: str = ""
    variant_of: str = ""  # the workload that the programs know, run with `environment`
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.title or self.figures[0].name

    @property
    def asked_as(self) -> str:
        return self.variant_of or self.name


def single(name: str, goals: dict[int, float] | None = None, higher_is_better: bool = False) -> Workload:
    return Workload((Figure(name, goals or {}, higher_is_better),))


HALF = {1: 0.5, 2: 0.5}

TASKS = [
    single("spawn", {1: 0.25, 2: 0.35}),
    single("spawn_deep", {1: 0.12, 2: 0.12}),
    single("fib", {1: 0.12, 2: 0.12}),
    single("yield", {1: 0.15, 2: 0.15}),
    single("yield_many", {1: 0.2, 2: 0.2}),
    single("mutex", {1: 0.7, 2: 0.2}),
    single("memory", {1: 1.6, 2: 1.6}),  # 4,300 bytes beside Go's 2,750: a page of stack and a guard
    single("parallel_sum", {2: 1.1}, higher_is_better=True),
]
CHANNELS = [
    single("pingpong", HALF),
    single("chan_spsc", HALF),
    single("chan_mpmc", {1: 0.5, 2: 0.4}),
    single("chan_ring", HALF),
    single("select", HALF),
    single("sieve", HALF),
    single("skynet", HALF),
]
TIME = [
    single("sleep", HALF),
    Workload((Figure("sleep_many", HALF), Figure("sleep_many_cpu", HALF))),
    # The pace is a check on the other two and has its own yardstick, the 200 us that were asked for.
    Workload((Figure("wake", HALF), Figure("wake_p99", HALF), Figure("wake_pace"))),
]
KERNEL = [
    Workload((Figure("blocking", {1: 1.0, 2: 1.0}), Figure("blocking_yields", HALF, higher_is_better=True))),
    Workload((Figure("unannounced", {1: 1.0, 2: 1.0}), Figure("unannounced_yields", HALF, higher_is_better=True))),
    Workload((Figure("hog", {1: 0.6}), Figure("hog_worst", {1: 0.6}))),
    single("cpu_bound"),
    # Without preemption: what the turns cost is the difference, on each runtime.
    Workload(
        (Figure("cpu_bound_off"),),
        variant_of="cpu_bound",
        environment={"THRUM_DEBUG": "asyncpreemptoff=1", "GODEBUG": "asyncpreemptoff=1"},
    ),
    single("syscall", {1: 0.53, 2: 0.53}),
    single("idle", {1: 0.7, 2: 0.7}),
    # No goal: Go's goroutines can be stopped at nearly any instruction, ours not while they are in malloc.
    Workload(
        (
            Figure("pauses"),
            Figure("pauses_p99"),
            Figure("pauses_max"),
            Figure("pauses_stopping"),
            Figure("pauses_stopping_p99"),
            Figure("pauses_stopped"),
            Figure("pauses_stopped_p99"),
        )
    ),
]
AHEAD = {1: 1.0, 2: 1.0}
NETWORK = [
    Workload(
        (
            Figure("echo", {1: 0.75}, higher_is_better=True),
            Figure("echo_p50"),
            Figure("echo_p99", {1: 0.47}),
            Figure("echo_cpu", AHEAD),
        ),
        has_client=True,
    ),
    Workload(
        (
            Figure("echo_5000", {2: 0.84}, higher_is_better=True),
            Figure("echo_5000_p50"),
            Figure("echo_5000_p99", {2: 0.85}),
            Figure("echo_5000_cpu", AHEAD),
        ),
        has_client=True,
    ),
]
HTTP = Workload(
    (
        Figure("http", AHEAD, higher_is_better=True),
        Figure("http_p50", AHEAD),
        Figure("http_p99", AHEAD),
        Figure("http_cpu", AHEAD),
    ),
)

KV_COMMANDS = ["set", "get", "incr", "lpush"]
KV_PIPELINES = {1: "kv", 16: "kv_16"}  # so many requests in one write


def kv_figures(prefix: str) -> list[Figure]:
    """Three for every command, then the CPU time of all of them."""
    figures = []
    for name in (f"{prefix}_{command}" for command in KV_COMMANDS):
        rate = Figure(name, {2: 1.0}, higher_is_better=True, beside="redis")
        figures += [rate, Figure(f"{name}_p50"), Figure(f"{name}_p99")]
    return [*figures, Figure(f"{prefix}_cpu")]


KV = Workload(
    tuple(figure for prefix in KV_PIPELINES.values() for figure in kv_figures(prefix)),
    has_client=True,
    title="kv",
)
PQ = Workload((Figure("pq", higher_is_better=True), Figure("pq_cpu"), Figure("pq_memory")), has_client=True)
ALL = TASKS + CHANNELS + TIME + KERNEL + NETWORK + [HTTP, KV, PQ]


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
