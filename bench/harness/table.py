"""The table at the end of a run."""

from harness.summary import Row

NOTHING = "–"


def render(rows: list[Row], runtimes: list[str]) -> str:
    others = [runtime for runtime in runtimes if runtime != "thrum"]
    head = ["figure", "P", "unit", *runtimes]
    head += [f"thrum/{other}" for other in others] + ["goal", "spread " + " | ".join(runtimes)]
    lines = [head] + [cells(row, runtimes, others) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    left_aligned = {0, 2, len(head) - 1}
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in left_aligned else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    )


def cells(row: Row, runtimes: list[str], others: list[str]) -> list[str]:
    unit = row.unit + (" (more is better)" if row.figure.higher_is_better else "")
    return [
        row.figure.name,
        str(row.procs),
        unit,
        *("failed" if runtime in row.failed else number(row.median(runtime)) for runtime in runtimes),
        *(number(row.ratio("thrum", other)) for other in others),
        goal(row),
        " | ".join(spread(row.spread(runtime)) for runtime in runtimes),
    ]


def number(value: float | None) -> str:
    """About three digits that count, without an exponent."""
    if value is None:
        return NOTHING
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{decimals}f}"


def goal(row: Row) -> str:
    """The bound, then what it is about unless that is the ratio to Go, then whether thrum reaches it."""
    if row.goal() is None:
        return NOTHING
    mark = {True: "✓", False: "✗", None: "?"}[row.goal_met()]
    return f"{bound(row)} {mark}"


def bound(row: Row) -> str:
    goal = row.goal()
    at_most = f"≥{1 / goal.at_most:.3g}" if row.figure.higher_is_better else f"≤{goal.at_most:g}"
    about = row.unit if goal.beside is None else "" if goal.beside == "go" else goal.beside
    return f"{at_most} {about}".rstrip()


def spread(bounds: tuple[float, float] | None) -> str:
    if bounds is None:
        return NOTHING
    low, high = bounds
    return f"{round(low * 100)}..{round(high * 100):+}%"
