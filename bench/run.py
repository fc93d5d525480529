#!/usr/bin/env python3
"""Runs the bench programs of all runtimes in one sitting and shows how thrum stands beside them.

Every round runs every workload, and within a workload the runtimes one right after the other: a machine that grows
slower or faster meanwhile does so for all of them, and the ratios hold. bench/README.md says what is measured.
"""

import argparse
import json
import sys
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from harness import ablation, chart, http, kv, machine, page, pq, programs, table, tracing, workloads
from harness.programs import Failed, Missing, Program
from harness.summary import Group, Row

ROOT = Path(__file__).resolve().parent.parent
DECISION = ROOT / "docs/decisions/021-heuristics-can-be-left-out.md"
PART_OF_DECISION = "table of heuristics"
PAGE_OF_TRACING = ROOT / "docs/tracing.md"
SERVERS = {"http": http, "kv": kv, "pq": pq}  # workloads of whole servers, and who finds and runs them
ROUNDS_MIN = 3  # fewer have no median that leaves an outlier out
ROUNDS_OF_ABLATION = 5  # of ten values, the five of one side are all better by chance once in 126 times
BUSY_CORES_MAX = 0.2  # a fifth of a core used by others already moves the P=2 rows of a small machine


def say(message: str, end: str = "\n") -> None:
    """Progress and trouble go to stderr, so that stdout holds the table alone."""
    print(message, end=end, file=sys.stderr, flush=True)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/run.py",
        description="Runs the workloads on thrum and its peers in turns and prints a table with ratios.",
        epilog="Go is $GO or the `go` on PATH. Exit status: 0 all ran, 1 something failed, 2 a wrong argument.",
    )
    names = ", ".join(workload.name for workload in workloads.ALL)
    parser.add_argument("workloads", nargs="*", metavar="workload", help=f"default: all of {names}")
    parser.add_argument("--rounds", type=round_count, metavar="N",
                        help=f"at least {ROUNDS_MIN}, the default; {ROUNDS_OF_ABLATION} with --without")
    parser.add_argument("--procs", type=procs_list, default=[1, 2], metavar="1,2",
                        help="how many threads run tasks at once")
    parser.add_argument("--out", type=Path, default=ROOT / "build/bench", metavar="DIR", help="default build/bench")
    parser.add_argument("--json", type=Path, metavar="FILE", help="default results.json in --out")
    parser.add_argument("--page", action="store_true",
                        help="write the results into docs/performance.md and README.md; for all workloads at P=1 and 2")
    parser.add_argument("--without", metavar="NAME,NAME",
                        help="measure thrum alone, with and without these heuristics of its scheduler; `all`: each of"
                             " them by itself. Default workloads: those on which they should show. --page writes the"
                             " table of decision 021")
    parser.add_argument("--tracing", action="store_true",
                        help="measure what tracing costs on thrum and on Go. Default workloads:"
                             f" {', '.join(tracing.WORKLOADS)}. --page writes the table of docs/tracing.md")
    parser.add_argument("--plan", action="store_true", help="say what would be measured, and measure nothing")
    parser.add_argument("--bin", type=Path, metavar="DIR", help="default build/release; build/ablation with --without")
    parser.add_argument("--timeout", type=float, default=120, metavar="S",
                        help="for one run of one program (default 120)")
    chosen = parser.parse_args(arguments)
    try:
        asked = workloads.choose(chosen.workloads) if chosen.workloads else []
        chosen.ablations = [] if chosen.without is None else ablation.choose(chosen.without)
    except (workloads.UnknownWorkload, ablation.UnknownHeuristic) as unknown:
        parser.error(str(unknown))
    chosen.workloads = asked or (workloads.choose(tracing.WORKLOADS) if chosen.tracing else workloads.ALL)
    chosen.rounds = chosen.rounds or (ROUNDS_OF_ABLATION if chosen.ablations or chosen.tracing else ROUNDS_MIN)
    chosen.bin = chosen.bin or ROOT / ("build/ablation" if chosen.ablations else "build/release")
    if chosen.tracing:
        if chosen.ablations:
            parser.error("--tracing and --without measure different things")
        if servers := [workload.name for workload in chosen.workloads if workload.name in SERVERS]:
            parser.error(f"--tracing: {', '.join(servers)}: the servers of this workload do not trace")
        if chosen.page and (asked or chosen.procs != [1, 2]):
            parser.error("--tracing --page needs no workloads and P=1 and 2, because that replaces the whole table")
        return chosen
    if chosen.ablations:
        ablation.plan(chosen.ablations, asked, chosen.procs)
        if chosen.page and (chosen.without != "all" or asked or chosen.procs != [1, 2]):
            parser.error("--without needs `all`, no workloads and P=1 and 2 for --page, because that replaces the whole"
                         " table")
        return chosen
    if chosen.page and (chosen.workloads != workloads.ALL or chosen.procs != [1, 2]):
        parser.error("--page needs all workloads at P=1 and 2, because it replaces all results")
    return chosen


def round_count(text: str) -> int:
    if not text.isdecimal() or int(text) < ROUNDS_MIN:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {ROUNDS_MIN}, not {text!r}")
    return int(text)


def procs_list(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise argparse.ArgumentTypeError(f"must be whole numbers of at least 1 between commas, not {text!r}")
    return list(dict.fromkeys(map(int, parts)))


def find_programs(chosen: argparse.Namespace) -> tuple[list[Program], list[str]]:
    """The bench programs, and the servers if a workload is for them."""
    wanted = ["thrum"] if chosen.ablations else tracing.RUNTIMES if chosen.tracing else programs.RUNTIMES
    measured = {group.workload.name for each in chosen.ablations for group in each.groups}
    members = [workload for workload in workloads.ALL if workload.name in measured] if measured else chosen.workloads
    searches = [(name, lambda name=name: programs.find(name, chosen.bin, chosen.out)) for name in wanted]
    for workload in members:
        if (servers := SERVERS.get(workload.name)) is None:
            continue
        searches += [
            (f"{name}'s {workload.name} {servers.KIND}",
             lambda name=name, servers=servers: servers.find(name, chosen.bin, chosen.out))
            for name in servers.SERVER_RUNTIMES
            if not chosen.ablations or name == "thrum"
        ]
    found, failures = [], []
    for name, search in searches:
        try:
            program = search()
        except Missing as missing:
            say(f"without {name}: {missing}")
        except Failed as failed:
            say(f"{name}: {failed}")
            failures.append(f"{name}: {failed}")
        else:
            say(f"{name}: {program.about or program.path}")
            found.append(program)
    return found, failures


def run_rounds(groups: list[Group], found: list[Program], rounds: int, timeout_s: float) -> list[str]:
    """Fills the groups; answers what failed. A program that failed on a group is not asked for that group again."""
    failures = []
    for round_number in range(1, rounds + 1):
        for group in groups:
            name = group.workload.name
            say(f"round {round_number}/{rounds}  {name:<12} P={group.procs} ", end="")
            for program in found:
                if group.workload.asked_as not in program.workloads or group.has_failed(program.runtime):
                    continue
                try:
                    run_once = SERVERS.get(name, programs).run_once
                    samples = run_once(program, group.workload, group.procs, timeout_s)
                    group.add(program.runtime, samples)
                    say(f"  {program.runtime} {', '.join(table.number(sample.value) for sample in samples)}", end="")
                except (Failed, ValueError) as failed:
                    group.fail(program.runtime)
                    failures.append(f"{program.runtime}, {name}, P={group.procs}: {failed}")
                    say(f"  {program.runtime} FAILED\n{failed}\n", end="")
            say("")
    return failures


def run_ablations(chosen: argparse.Namespace, found: list[Program]) -> list[str]:
    """Prints a table for each ablation as soon as it is measured; answers what failed."""
    failures = []
    for each in chosen.ablations:
        for round_number in range(1, chosen.rounds + 1):
            for group in each.groups:
                failures += run_pair(each.name, group, ablation.order(round_number), found, chosen.timeout)
            say(f"without {each.name}: round {round_number}/{chosen.rounds}")
        print(ablation.table(each), flush=True)
    return failures


def run_pair(names: str, group: Group, sides: tuple[str, str], found: list[Program], timeout_s: float) -> list[str]:
    failures = []
    for program in (program for program in found if group.workload.asked_as in program.workloads):
        for side in sides:
            if group.has_failed(side):
                continue
            try:
                with ablation.left_out(names if side == ablation.WITHOUT else ""):
                    run_once = SERVERS.get(group.workload.name, programs).run_once
                    group.add(side, run_once(program, group.workload, group.procs, timeout_s))
            except (Failed, ValueError) as failed:
                group.fail(side)
                failures.append(f"{side} {names}, {group.workload.name}, P={group.procs}: {failed}")
    return failures


def trace_in_turns(chosen: argparse.Namespace, found: list[Program], about: dict) -> list[str]:
    """Measures each workload with each way of tracing; answers what failed."""
    part = f"cost of tracing on {about['architecture']}"
    if chosen.page:
        page.check(PAGE_OF_TRACING, part)  # not after an hour
    groups = [Group(workload, procs) for workload in chosen.workloads for procs in chosen.procs]
    recorded: dict[int, tracing.Recorded] = {}  # by the group
    failures = []
    for round_number in range(1, chosen.rounds + 1):
        for group in groups:
            for side in tracing.order(round_number):
                failures += run_traced(chosen, group, side, found, recorded)
        say(f"tracing: round {round_number}/{chosen.rounds}")
    print(machine.one_line(about))
    print(tracing.render(groups, recorded))
    if chosen.page:
        date = datetime.now(timezone.utc).date().isoformat()
        head = f"{date}, {chosen.rounds} rounds in turns: {machine.one_line(about)}"
        page.write(PAGE_OF_TRACING, part, tracing.page(groups, recorded, head))
        say(f"wrote the {part} in {PAGE_OF_TRACING}")
    return failures


def run_traced(
    chosen: argparse.Namespace, group: Group, side: str, found: list[Program], recorded: dict[int, tracing.Recorded]
) -> list[str]:
    failures = []
    file = chosen.out.resolve() / "bench.trace"
    for program in (program for program in found if program.runtime == tracing.runtime_of(side)):
        if group.workload.asked_as not in program.workloads or group.has_failed(side):
            continue
        try:
            with tracing.asked_for(side, file):
                group.add(side, programs.run_once(program, group.workload, group.procs, chosen.timeout))
                if side == tracing.FILE and id(group) not in recorded:
                    recorded[id(group)] = tracing.look_at(file)
        except (Failed, OSError, ValueError) as failed:
            group.fail(side)
            failures.append(f"{side}, {group.workload.name}, P={group.procs}: {failed}")
    return failures


def say_plan(chosen: argparse.Namespace) -> None:
    for each in chosen.ablations:
        rows = dict.fromkeys(group.workload.name for group in each.groups)
        print(f"with and without {each.name}: {', '.join(rows)}")
    if not chosen.ablations:
        how = f", each with {', '.join(tracing.SIDES)}" if chosen.tracing else ""
        print(", ".join(workload.name for workload in chosen.workloads) + how)


def ablate(chosen: argparse.Namespace, found: list[Program], about: dict) -> list[str]:
    unfit = [program for program in found if program.runtime == "thrum" and ablation.CAN_LEAVE_OUT not in program.about]
    unfit = [program for program in unfit if program.about]  # servers say nothing
    if unfit:
        return [f"{unfit[0].path} was not built with THRUM_ABLATION: cmake --preset ablation"]
    if chosen.page:
        page.check(DECISION, PART_OF_DECISION)  # not after hours
    print(machine.one_line(about))
    failures = run_ablations(chosen, found)
    if chosen.page:
        date = datetime.now(timezone.utc).date().isoformat()
        text = ablation.page(chosen.ablations, f"{date}, {chosen.rounds} rounds in turns: {machine.one_line(about)}")
        page.write(DECISION, PART_OF_DECISION, text)
        say(f"wrote the {PART_OF_DECISION} in {DECISION}")
    return failures


def as_json(groups: list[Group], about: dict[str, object], rounds: int, failures: list[str]) -> str:
    results = [
        {
            "workload": group.workload.name,
            "figure": row.figure.name,
            "procs": row.procs,
            "unit": row.unit,
            "better": "higher" if row.figure.higher_is_better else "lower",
            "values": row.values,
            "median": {runtime: row.median(runtime) for runtime in row.values},
            **{f"thrum_to_{peer}": row.ratio("thrum", peer) for peer in programs.PEERS},
            "goal": asdict(row.goal()) if row.goal() else None,
            "goal_met": row.goal_met(),
        }
        for group in groups
        for row in group.rows
    ]
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    report = {"date": now, "machine": about, "rounds": rounds, "results": results, "failures": failures}
    return json.dumps(report, indent=2) + "\n"


def warnings(about: dict, procs: list[int]) -> list[str]:
    found = []
    if max(procs) > about["cores"]:
        found.append(f"P above {about['cores']}, the cores of this run, measures the kernel's scheduler too")
    if about["busy_cores_at_start"] > BUSY_CORES_MAX:
        found.append(f"others use {about['busy_cores_at_start']} cores of this machine: do not keep these figures")
    if "NOT OPTIMIZED" in (about["compiler"] or ""):
        found.append("bench_thrum was built without optimization: do not keep its figures")
    return found


def main(arguments: list[str]) -> int:
    chosen = parse_arguments(arguments)
    if chosen.plan:
        say_plan(chosen)
        return 0
    chosen.out.mkdir(parents=True, exist_ok=True)
    found, failures = find_programs(chosen)
    programs.name_echo_client(chosen.bin)
    if not found:
        say("nothing to run")
        return 1
    about = machine.describe(found)  # before the run, whose own load is not the machine's
    for warning in warnings(about, chosen.procs):
        say(f"note: {warning}")

    if chosen.ablations or chosen.tracing:
        failures += (ablate if chosen.ablations else trace_in_turns)(chosen, found, about)
        return tell_of(failures)

    if chosen.page:
        for path, part in pages(about).items():
            page.check(path, part)  # not after an hour

    groups = [Group(workload, procs) for workload in chosen.workloads for procs in chosen.procs]
    failures += run_rounds(groups, found, chosen.rounds, chosen.timeout)

    runtimes = list(dict.fromkeys(program.runtime for program in found))
    print(machine.one_line(about))
    print(table.render(rows_of(groups), runtimes))
    write_reports(chosen, groups, runtimes, about, failures)
    if chosen.page:
        write_pages(rows_of(groups), about, chosen.rounds)
    return tell_of(failures)


def tell_of(failures: list[str]) -> int:
    for failure in failures:
        say(f"FAILED {failure}")
    return 1 if failures else 0


def rows_of(groups: list[Group]) -> list[Row]:
    return [row for group in groups for row in group.rows]


def write_reports(
    chosen: argparse.Namespace, groups: list[Group], runtimes: list[str], about: dict, failures: list[str]
) -> None:
    results = chosen.json or chosen.out / "results.json"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(as_json(groups, about, chosen.rounds, failures), encoding="utf-8")
    say(f"wrote {results}")
    drawing = chart.render(rows_of(groups), runtimes, machine.one_line(about))
    path = chosen.out / "chart.svg"
    if drawing is None:
        path.unlink(missing_ok=True)  # one of an earlier run would pass for this one's
        say("no chart: it compares with Go, and no workload ran on Go and another runtime")
        return
    path.write_text(drawing, encoding="utf-8")
    say(f"wrote {path}")


def pages(about: dict) -> dict[Path, str]:
    """The pages that --page writes, and which part of each. The results of the two architectures stand side by side."""
    return {ROOT / "docs/performance.md": f"results on {about['architecture']}", ROOT / "README.md": "results"}


def write_pages(rows: list[Row], about: dict, rounds: int) -> None:
    date = datetime.now(timezone.utc).date().isoformat()
    where = f"{about['cores']} cores of {about['cpu']} ({about['architecture']}), {date}"
    texts = [page.all_results(rows, machine.one_line(about), rounds, date), page.front(rows, where)]
    for (path, part), text in zip(pages(about).items(), texts):
        page.write(path, part, text)
        say(f"wrote the {part} in {path}")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("\ninterrupted: nothing was written")
        sys.exit(130)
