"""The results in docs/performance.md and README.md: written from a run, never by hand."""

from pathlib import Path

from harness import chart, workloads
from harness.summary import Row
from harness.table import NOTHING, bound, number

THEMES = {
    "Goroutines": workloads.TASKS,
    "Channels": workloads.CHANNELS,
    "Time": workloads.TIME,
    "System calls, preemption and the world": workloads.KERNEL,
    "Network": workloads.NETWORK,
    "Whole servers": [workloads.HTTP, workloads.KV, workloads.PQ],
}
# README.md's rows: those that its reader asks for first, and the rows that thrum loses by most.
FRONT = {
    "spawn": "start a million empty goroutines",
    "spawn_deep": "fork and join, 2^18 leaves",
    "mutex": "100 goroutines on one mutex",
    "pingpong": "a round trip over two channels",
    "select": "`select` over four channels",
    "http": "HTTP requests per second beside Go's net/http",
    "kv_set": "Redis' SET beside Redis, one request in flight",
    "hog_worst": "worst lateness of a 1 ms sleeper beside a busy loop",
    "pauses_stopping": "stopping the world, median",
    "memory": "memory of a parked goroutine",
}


def marks_of(part: str) -> tuple[str, str]:
    return f"<!-- {part}: written by bench/run.py --page -->\n", f"<!-- end of {part} -->\n"


def check(path: Path, part: str) -> None:
    page, (begin, end) = path.read_text(encoding="utf-8"), marks_of(part)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"{path} needs the lines {begin.strip()!r} and {end.strip()!r}, once each and in this order")


def write(path: Path, part: str, text: str) -> None:
    """Puts `text` between the marks of this part. The rest of the file is written by hand and stays."""
    check(path, part)
    page, (begin, end) = path.read_text(encoding="utf-8"), marks_of(part)
    head, tail = page[: page.index(begin) + len(begin)], page[page.index(end) :]
    path.write_text(f"{head}\n{text.strip()}\n\n{tail}", encoding="utf-8")


def all_results(rows: list[Row], machine_line: str, rounds: int, date: str) -> str:
    by_figure = pairs(rows)
    lines = [f"{date}, {rounds} rounds in turns: {machine_line}", ""]
    for theme, members in THEMES.items():
        lines += [f"**{theme}**", ""]
        lines += ["| figure | P | thrum | to Go | to the best other | goal |", "|---|---|---|---|---|---|"]
        for workload in members:
            for figure in workload.figures:
                lines += [line_of(row) for row in by_figure.get(figure.name, [])]
        lines.append("")
    return "\n".join(lines)


def line_of(row: Row) -> str:
    name = row.figure.name + (" (more is better)" if row.figure.higher_is_better else "")
    figure = f"{long_number(row.median('thrum'))} {row.unit}".strip()
    goal = NOTHING if row.goal() is None else bound(row) + {True: "", False: " ✗", None: " ?"}[row.goal_met()]
    return f"| {name} | {row.procs} | {figure} | {number(row.ratio('thrum', 'go'))} | {to_best_other(row)} | {goal} |"


def to_best_other(row: Row) -> str:
    """Beside the best of the others than Go; where more is better, a ratio above 1 is."""
    peers = [peer for peer in row.values if peer not in ("thrum", "go")]
    others = [(cost, peer) for peer in peers if (cost := row.cost_ratio("thrum", peer))]
    if not others:
        return NOTHING
    _, peer = max(others)
    return f"{number(row.ratio('thrum', peer))} {chart.NAMES[peer]}"


def front(rows: list[Row], where: str) -> str:
    by_figure = pairs(rows)
    lines = [f"Measured on {where}:", ""]
    lines += ["| workload | thrum at P=1 | ratio at P=1 | ratio at P=2 |", "|---|---|---|---|"]
    for name, text in FRONT.items():
        at = {row.procs: row for row in by_figure[name]}
        beside = "redis" if name.startswith("kv") else "go"
        costs = [row.cost_ratio("thrum", beside) for row in at.values()]
        shown = text + (" (more is better)" if at[1].figure.higher_is_better else "")
        loses = any(cost and cost > 1 for cost in costs)
        ratios = " | ".join(number(at[procs].ratio("thrum", beside)) for procs in (1, 2))
        median = f"{long_number(at[1].median('thrum'))} {at[1].unit}"
        lines.append(f"| {f'**{shown}**' if loses else shown} | {median} | {ratios} |")
    return "\n".join(lines)


def long_number(value: float | None) -> str:
    return f"{value:,.0f}" if value and value >= 1000 else number(value)


def pairs(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.figure.name, []).append(row)
    return found
