"""The workloads that run.py knows, what figures each gives, and where thrum should stand on them beside Go."""

from dataclasses import dataclass, field


class UnknownWorkload(Exception):
    pass


@dataclass(frozen=True)
class Goal:
    """What thrum should reach on one figure at one number of procs."""

    at_most: float  # thrum's figure divided by that of `beside`, or the inverse where more is better
    beside: str | None = "go"  # None: `at_most` is the figure itself, in its own unit


@dataclass(frozen=True)
class Figure:
    name: str
    goals: dict[int, Goal] = field(default_factory=dict)  # by procs; no entry, no goal
    higher_is_better: bool = False


def beside(peer: str | None, at_most: dict[int, float]) -> dict[int, Goal]:
    return {procs: Goal(value, peer) for procs, value in at_most.items()}


def of_go(p1: float, p2: float) -> dict[int, Goal]:
    return beside("go", {1: p1, 2: p2})


@dataclass(frozen=True)
class Workload:
    """One run of a program. It prints a line per figure, in this order. The first figure has the workload's name,
    unless the workload has a title."""

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


def single(name: str, goals: dict[int, Goal] | None = None, higher_is_better: bool = False) -> Workload:
    return Workload((Figure(name, goals or {}, higher_is_better),))


THIRD = of_go(0.33, 0.33)
QUARTER = of_go(0.25, 0.25)
AHEAD = of_go(1.0, 1.0)

# Each goal is the strictest of three, all divided by Go's figure on the machine on which the peers were measured (a
# quiet 2-core Neoverse V1): what thrum should reach there, what the best peer reaches, and a third of Go. Where a row
# cannot reach a third of Go, the third one is what it can reach: the calls of `blocking` take 100 ms by themselves.
TASKS = [
    single("spawn", of_go(0.08, 0.32)),
    single("spawn_deep", of_go(0.039, 0.031)),
    single("fib", of_go(0.069, 0.043)),
    single("yield", of_go(0.09, 0.058)),
    single("yield_many", of_go(0.1, 0.096)),
    single("mutex", of_go(0.66, 0.14)),
    single("memory", AHEAD),
    single("parallel_sum", beside("go", {2: 0.9}), higher_is_better=True),
]
CHANNELS = [
    single("pingpong", of_go(0.2, 0.2)),
    single("chan_spsc", THIRD),
    single("chan_mpmc", THIRD),
    single("chan_ring", QUARTER),
    single("select", THIRD),
    single("sieve", QUARTER),
    single("skynet", QUARTER),
]
TIME = [
    single("sleep", QUARTER),
    Workload((Figure("sleep_many", of_go(0.13, 0.15)), Figure("sleep_many_cpu", THIRD))),
    # The pace is a check on the other two and has its own yardstick, the 200 us that were asked for.
    Workload((Figure("wake", THIRD), Figure("wake_p99", of_go(0.33, 0.29)), Figure("wake_pace"))),
    # The goal is a time, because it is about the idle P: at P=1 there is none.
    Workload((Figure("wake_busy"), Figure("wake_busy_p99", beside(None, {2: 500.0})), Figure("wake_busy_worst"))),
]
KERNEL = [
    Workload((Figure("blocking", of_go(0.87, 0.82)),
              Figure("blocking_yields", of_go(0.5, 0.5), higher_is_better=True))),
    Workload((Figure("unannounced", of_go(0.87, 0.82)),
              Figure("unannounced_yields", of_go(0.5, 0.5), higher_is_better=True))),
    Workload((Figure("hog", THIRD), Figure("hog_worst", THIRD))),
    single("cpu_bound"),
    # Without preemption: what the turns cost is the difference, on each runtime.
    Workload(
        (Figure("cpu_bound_off"),),
        variant_of="cpu_bound",
        environment={"THRUM_DEBUG": "asyncpreemptoff=1", "GODEBUG": "asyncpreemptoff=1"},
    ),
    single("syscall", THIRD),
    Workload((Figure("idle", beside("bare", {1: 1.1, 2: 1.1})),)),
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
# A loop without a runtime shows what the kernel leaves. At P=2 it does the work on both threads as thrum does, and the
# goal is about Go. 1.03 is 0.97 of the loop's requests, 0.77 is 1.3 times Go's.
ECHO = {1: Goal(1.03, "bare"), 2: Goal(0.77)}
NETWORK = [
    Workload(
        (
            Figure("echo", ECHO, higher_is_better=True),
            Figure("echo_p50"),
            Figure("echo_p99", beside("go", {1: 0.46})),
            Figure("echo_cpu", AHEAD),
        ),
        has_client=True,
    ),
    Workload(
        (
            Figure("echo_5000", ECHO, higher_is_better=True),
            Figure("echo_5000_p50"),
            Figure("echo_5000_p99", beside("go", {2: 0.85})),
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
        rate = Figure(name, beside("redis", {1: 1.0, 2: 1.0}), higher_is_better=True)
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
