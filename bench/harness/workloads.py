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


THIRD = {1: 0.33, 2: 0.33}
AHEAD = {1: 1.0, 2: 1.0}

# Each goal is the stricter of two. One is the figure that thrum should reach on the machine on which its peers were measured (a
# quiet 2-core Neoverse V1), divided by Go's figure there: 80 ns for a spawn where Go takes 463 is 0.17. The other is a third of Go,
# or what the row can reach at all: the calls of `blocking` take 100 ms by themselves.
TASKS = [
    single("spawn", {1: 0.17, 2: 0.33}),
    single("spawn_deep", {1: 0.083, 2: 0.079}),
    single("fib", {1: 0.086, 2: 0.065}),
    single("yield", {1: 0.09, 2: 0.059}),
    single("yield_many", {1: 0.1, 2: 0.097}),
    single("mutex", {1: 0.67, 2: 0.15}),
    single("memory", AHEAD),
    single("parallel_sum", {2: 0.9}, higher_is_better=True),
]
CHANNELS = [
    single("pingpong", {1: 0.2, 2: 0.2}),
    single("chan_spsc", THIRD),
    single("chan_mpmc", THIRD),
    single("chan_ring", {1: 0.25, 2: 0.25}),
    single("select", THIRD),
    single("sieve", {1: 0.25, 2: 0.25}),
    single("skynet", {1: 0.25, 2: 0.25}),
]
TIME = [
    single("sleep", {1: 0.25, 2: 0.25}),
    Workload((Figure("sleep_many", {1: 0.14, 2: 0.15}), Figure("sleep_many_cpu", THIRD))),
    # The pace is a check on the other two and has its own yardstick, the 200 us that were asked for.
    Workload((Figure("wake", THIRD), Figure("wake_p99", {1: 0.33, 2: 0.29}), Figure("wake_pace"))),
    # The goal is a time, with an idle P: see bench/README.md.
    Workload((Figure("wake_busy"), Figure("wake_busy_p99"), Figure("wake_busy_worst"))),
]
KERNEL = [
    Workload((Figure("blocking", {1: 0.88, 2: 0.82}), Figure("blocking_yields", {1: 0.5, 2: 0.5}, higher_is_better=True))),
    Workload((Figure("unannounced", {1: 0.88, 2: 0.82}), Figure("unannounced_yields", {1: 0.5, 2: 0.5}, higher_is_better=True))),
    Workload((Figure("hog", THIRD), Figure("hog_worst", THIRD))),
    single("cpu_bound"),
    # Without preemption: what the turns cost is the difference, on each runtime.
    Workload(
        (Figure("cpu_bound_off"),),
        variant_of="cpu_bound",
        environment={"THRUM_DEBUG": "asyncpreemptoff=1", "GODEBUG": "asyncpreemptoff=1"},
    ),
    single("syscall", THIRD),
    Workload((Figure("idle", {1: 1.1, 2: 1.1}, beside="bare"),)),
    Workload(
        (
            Figure("pauses", AHEAD),
            Figure("pauses_p99", AHEAD),
            Figure("pauses_max"),
            Figure("pauses_stopping", AHEAD),
            Figure("pauses_stopping_p99", AHEAD),
            Figure("pauses_stopped", AHEAD),
            Figure("pauses_stopped_p99", AHEAD),
        )
    ),
]
NETWORK = [
    Workload(
        (
            Figure("echo", {1: 0.75, 2: 0.77}, higher_is_better=True),
            Figure("echo_p50"),
            Figure("echo_p99", {1: 0.47}),
            Figure("echo_cpu", AHEAD),
        ),
        has_client=True,
    ),
    Workload(
        (
            Figure("echo_5000", {1: 0.77, 2: 0.77}, higher_is_better=True),
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
        rate = Figure(name, AHEAD, higher_is_better=True, beside="redis")
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
