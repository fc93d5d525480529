"""The chart: how each runtime stands beside Go, as an SVG that reads on light and on dark pages.

Bars start at Go = 1 and not at the left edge: on a log scale there is no zero, so a bar's length from an edge would
depend on where the axis happens to begin, while its length from 1 is the ratio itself. To the left is better than Go.
"""

import math
from xml.sax.saxutils import escape

from harness.summary import Row
from harness.table import number

YARDSTICK = "go"
LEFT, PLOT, RIGHT = 190, 470, 200  # widths of: workload names, bars, figures
TOP, BOTTOM = 104, 74
BAR, BAR_GAP, GROUP_GAP = 14, 4, 16
WIDTH = LEFT + PLOT + RIGHT
NAMES = {
    "thrum": "thrum", "go": "Go", "tokio": "tokio", "asio": "Asio", "tbb": "oneTBB", "boost": "Boost.Fiber",
    "nginx": "nginx", "redis": "Redis", "threads": "std::thread", "bare": "the kernel alone",
}

STYLE = """
svg { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 12px }
.page { fill: #ffffff } text { fill: #1f2328 } .quiet { fill: #59636e }
.grid { stroke: #d8dee4 } .one { stroke: #1f2328; stroke-width: 1.5 }
.title { font-size: 17px; font-weight: 600 } .name { font-weight: 600 } .small { font-size: 11px }
.thrum { fill: #1098ad } .tbb { fill: #d9730d } .boost { fill: #8e5bc0 }
.nginx { fill: #2f9e44 } .redis { fill: #c92a2a }
.tokio { fill: #b08900 } .asio { fill: #c2488a } .threads { fill: #868e96 } .bare { fill: #495057 }
.goal { stroke: #1f2328; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117 } text { fill: #e6edf3 } .quiet { fill: #9198a1 }
  .grid { stroke: #30363d } .one, .goal { stroke: #e6edf3 }
  .thrum { fill: #3bc9db } .tbb { fill: #ffa94d } .boost { fill: #c4a1eb }
  .nginx { fill: #69db7c } .redis { fill: #ff8787 }
  .tokio { fill: #ffd43b } .asio { fill: #f783ac } .threads { fill: #ced4da } .bare { fill: #f1f3f5 }
}
"""


class LogAxis:
    """Maps ratios to x; covers every ratio and 1 itself, with room beyond the outermost ones."""

    def __init__(self, ratios: list[float]):
        self.low = min([*ratios, 0.5]) / 1.25
        self.high = max([*ratios, 1.6]) * 1.25

    def x(self, ratio: float) -> float:
        return LEFT + PLOT * math.log(ratio / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
        return [step for step in steps if self.low <= step <= self.high]


def render(rows: list[Row], runtimes: list[str], machine_line: str) -> str | None:
    """None when there is nothing to draw: no row with Go and another runtime in it."""
    compared = [runtime for runtime in runtimes if runtime != YARDSTICK]
    groups = [(row, bars) for row in rows if (bars := bars_of(row, compared))]
    if not groups:
        return None
    compared = [runtime for runtime in compared if any(runtime == shown for _, bars in groups for shown, _ in bars)]
    goals = [goal for row, _ in groups if (goal := goal_of(row))]
    axis = LogAxis([ratio for _, bars in groups for _, ratio in bars] + goals)
    bottom = TOP + sum(group_height(len(bars)) for _, bars in groups)
    drawn = [*header(compared, machine_line), *grid(axis, bottom)]
    y = TOP
    for row, bars in groups:
        drawn += group(row, bars, axis, y)
        y += group_height(len(bars))
    drawn += footer(bottom, any(row.figure.higher_is_better for row, _ in groups), bool(goals))
    height = bottom + BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="thrum beside Go, relative cost per workload">',
            f"<style>{STYLE}</style>",
            '<rect class="page" width="100%" height="100%"/>',
            *drawn,
            "</svg>\n",
        ]
    )


def bars_of(row: Row, runtimes: list[str]) -> list[tuple[str, float]]:
    ratios = [(runtime, row.cost_ratio(runtime, YARDSTICK)) for runtime in runtimes]
    return [(runtime, ratio) for runtime, ratio in ratios if ratio and ratio > 0]


def goal_of(row: Row) -> float | None:
    """One that is not about Go has no place on this axis."""
    goal = row.goal()
    return goal.at_most if goal and goal.beside == YARDSTICK else None


def group_height(bars: int) -> int:
    # Never lower than the two lines of text at its left.
    return max(bars * (BAR + BAR_GAP), 32) + GROUP_GAP


def text(x: float, y: float, content: str, css: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(content)}</text>'


def header(runtimes: list[str], machine_line: str) -> list[str]:
    drawn = [
        text(16, 28, "Cost relative to Go, left is better", "title"),
        text(16, 48, machine_line, "quiet small"),
    ]
    x = LEFT
    for runtime in runtimes:
        drawn.append(f'<rect x="{x}" y="62" width="12" height="12" rx="2" class="{runtime}"/>')
        drawn.append(text(x + 18, 72, NAMES[runtime]))
        x += 90
    return drawn


def grid(axis: LogAxis, bottom: int) -> list[str]:
    drawn = []
    for tick in axis.ticks():
        x = axis.x(tick)
        css = "one" if tick == 1 else "grid"
        drawn.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}" class="{css}"/>')
        label, label_css = ("Go = 1", "name") if tick == 1 else (f"{tick:g}", "quiet")
        drawn.append(text(x, bottom + 18, label, label_css, "middle"))
    return drawn


def group(row: Row, bars: list[tuple[str, float]], axis: LogAxis, top: int) -> list[str]:
    drawn = [
        text(16, top + 12, f"{row.figure.name}, P={row.procs}", "name"),
        text(16, top + 27, f"Go {number(row.median(YARDSTICK))} {row.unit}", "quiet small"),
    ]
    for place, (runtime, ratio) in enumerate(bars):
        y = top + place * (BAR + BAR_GAP)
        start, end = sorted((axis.x(1), axis.x(ratio)))
        # A bar of exactly 1 would have no width at all; a hair shows that it was measured.
        drawn.append(
            f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1.5):.1f}" height="{BAR}" rx="2"'
            f' class="{runtime}"/>'
        )
        if runtime == "thrum" and (goal := goal_of(row)):
            x = axis.x(goal)
            drawn.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 3}" y2="{y + BAR + 3}" class="goal"/>')
        drawn.append(text(LEFT + PLOT + 54, y + 11, f"{number(ratio)}×", "name small", "end"))
        drawn.append(text(LEFT + PLOT + 66, y + 11, f"{number(row.median(runtime))} {row.unit}", "small"))
    return drawn


def footer(bottom: int, has_inverted: bool, has_goals: bool) -> list[str]:
    notes = ["Medians; log scale. Bars grow from Go's figure: to the left cheaper than Go, to the right dearer."]
    second = ["The upright stroke on thrum's bar is its goal."] if has_goals else []
    second += ["Speed-ups are turned over, so that left is better there too."] if has_inverted else []
    notes += [" ".join(second)] if second else []
    return [text(16, bottom + 44 + 16 * line, note, "quiet small") for line, note in enumerate(notes)]
