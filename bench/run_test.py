#!/usr/bin/env python3
"""Tests of the harness without any runtime: python3 bench/run_test.py"""

import contextlib
import io
import json
import os
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from unittest import mock

import run
from harness import chart, http, kv, machine, page, pq, programs, servers, table, workloads
from harness.programs import Failed, Missing, Program, Sample
from harness.summary import Group, Row


def figure_of(name: str) -> workloads.Figure:
    return next(figure for workload in workloads.ALL for figure in workload.figures if figure.name == name)


def row_of(name: str = "spawn", procs: int = 1, unit: str = "ns/task", **values: list[float]) -> Row:
    row = Row(figure_of(name), procs)
    for runtime, samples in values.items():
        for sample in samples:
            row.add(runtime, Sample(sample, unit))
    return row


SPAWN = workloads.choose(["spawn"])[0]
PROGRAM_WORKLOADS = [workload for workload in workloads.ALL if workload.name not in run.SERVERS]


class Summary(unittest.TestCase):
    def test_median_is_the_middle_round(self):
        self.assertEqual(row_of(thrum=[90, 10, 20]).median("thrum"), 20)
        self.assertEqual(row_of(thrum=[10, 20, 30, 90]).median("thrum"), 25)
        self.assertIsNone(row_of(thrum=[1, 2, 3]).median("go"))

    def test_spread_is_relative_to_the_median(self):
        low, high = row_of(thrum=[110, 100, 95]).spread("thrum")
        self.assertAlmostEqual(low, -0.05)
        self.assertAlmostEqual(high, 0.10)

    def test_a_runtime_that_failed_once_has_no_median_and_meets_no_goal(self):
        row = row_of(thrum=[1, 1], go=[100, 100, 100])
        row.failed.add("thrum")
        self.assertIsNone(row.median("thrum"))
        self.assertIsNone(row.ratio("thrum", "go"))
        self.assertIsNone(row.goal_met())

    def test_goals_differ_by_procs(self):
        self.assertTrue(row_of(procs=2, thrum=[30], go=[100]).goal_met())
        self.assertFalse(row_of(procs=1, thrum=[30], go=[100]).goal_met())
        self.assertIsNone(row_of(procs=8, thrum=[30], go=[100]).goal_met())

    def test_cost_ratio_of_a_speed_up_is_turned_over(self):
        row = row_of("parallel_sum", unit="speed-up", thrum=[2.0], go=[1.0])
        self.assertEqual(row.ratio("thrum", "go"), 2.0)
        self.assertEqual(row.cost_ratio("thrum", "go"), 0.5)

    def test_goal_of_what_should_be_high_is_a_least_ratio(self):
        self.assertTrue(row_of("blocking_yields", unit="yields", thrum=[200], go=[100]).goal_met())
        self.assertFalse(row_of("blocking_yields", unit="yields", thrum=[199], go=[100]).goal_met())
        self.assertIn("≥2", table.goal(row_of("blocking_yields", unit="yields", thrum=[200], go=[100])))

    def test_two_units_in_one_row_are_refused(self):
        with self.assertRaisesRegex(ValueError, "go answers in ms, others in ns/task"):
            row_of(thrum=[1]).add("go", Sample(1, "ms"))


class Groups(unittest.TestCase):
    def group(self) -> Group:
        return Group(workloads.choose(["wake"])[0], 2)

    def test_has_a_row_per_figure_and_deals_the_samples_out_in_order(self):
        group = self.group()
        group.add("go", [Sample(1.4, "us"), Sample(3.4, "us"), Sample(1060, "us/message")])
        self.assertEqual([row.figure.name for row in group.rows], ["wake", "wake_p99", "wake_pace"])
        self.assertEqual([row.median("go") for row in group.rows], [1.4, 3.4, 1060])
        self.assertEqual([row.goal() and row.goal().at_most for row in group.rows], [0.33, 0.29, None])

    def test_a_run_that_failed_takes_all_its_figures_along(self):
        group = self.group()
        self.assertFalse(group.has_failed("thrum"))
        group.fail("thrum")
        self.assertTrue(group.has_failed("thrum"))
        self.assertFalse(group.has_failed("go"))
        self.assertTrue(all("thrum" in row.failed for row in group.rows))


class Workloads(unittest.TestCase):
    def test_every_figure_has_a_name_of_its_own(self):
        names = [figure.name for workload in workloads.ALL for figure in workload.figures]
        self.assertEqual(len(names), len(set(names)))

    def test_further_figures_add_to_the_name_of_the_workload(self):
        for workload in workloads.ALL:
            for figure in workload.figures:
                self.assertTrue(figure.name.startswith(workload.name), figure.name)

    def test_no_goal_is_looser_than_the_figures_to_beat(self):
        # At P=1 and P=2: Go, the best peer, and what thrum should reach, in one run on the machine of the peers. None:
        # no peer does the same.
        measured = {
            "spawn": [(463, 37, 80), (460, 147, 150)],
            "spawn_deep": [(1090, 43, 90), (698, 22, 55)],
            "fib": [(1041, 72, 90), (846, 37, 55)],
            "skynet": [(1089, 944, 400), (992, 928, 300)],
            "yield": [(165, 28, 15), (256, 22, 15)],
            "yield_many": [(262, 97, 60), (414, 55, 40)],
            "pingpong": [(531, 319, 150), (490, 490, 200)],
            "chan_spsc": [(68, 30, 25), (82, 65, 40)],
            "chan_mpmc": [(68, 36, 30), (240, 110, 90)],
            "chan_ring": [(302, 155, 80), (261, 261, 100)],
            "select": [(522, 249, 200), (545, 545, 220)],
            "sieve": [(348, 287, 140), (323, 203, 120)],
            "mutex": [(18, 14, 12), (135, 23, 20)],
            "sleep": [(800, 433, 300), (1108, 891, 400)],
            "sleep_many": [(2951, 413, 400), (1951, 516, 300)],
            "hog_worst": [(39, 39, 20), (39, 39, 20)],
            "blocking": [(116, 102, 102), (124, 105, 102)],
            "syscall": [(38, None, 20), (38, None, 20)],
        }
        for name, rows in measured.items():
            goals = figure_of(name).goals
            self.assertEqual(set(goals), {1, 2}, name)
            for procs, (go, *others) in enumerate(rows, start=1):
                self.assertEqual(goals[procs].beside, "go", name)
                for other in filter(None, others):
                    self.assertLessEqual(goals[procs].at_most, round(other / go, 3), f"{name} at P={procs}")

    def test_goals_that_no_peer_sets(self):
        self.assertEqual(figure_of("pauses_stopping").goals, workloads.AHEAD)
        self.assertEqual(figure_of("kv_set").goals[1], workloads.Goal(1.0, "redis"))
        self.assertEqual(figure_of("idle").goals[2], workloads.Goal(1.1, "bare"))
        self.assertEqual(figure_of("echo").goals, {1: workloads.Goal(1.03, "bare"), 2: workloads.Goal(0.77, "go")})
        self.assertEqual(figure_of("wake_busy_p99").goals, {2: workloads.Goal(500.0, None)})

    def test_a_goal_may_be_a_time(self):
        self.assertTrue(row_of("wake_busy_p99", procs=2, unit="us", thrum=[499]).goal_met())
        self.assertFalse(row_of("wake_busy_p99", procs=2, unit="us", thrum=[501], go=[9000]).goal_met())
        self.assertEqual(table.goal(row_of("wake_busy_p99", procs=2, unit="us", thrum=[499])), "≤500 us ✓")

    def test_a_goal_may_be_about_a_loop_without_a_runtime(self):
        row = row_of("echo", unit="requests/s", thrum=[97], bare=[100], go=[1000])
        self.assertFalse(row.goal_met())
        self.assertEqual(table.goal(row), "≥0.971 bare ✗")
        self.assertIsNone(chart.goal_of(row))

    def test_channels_carry_what_gos_do(self):
        for source in ("thrum/channels.cpp", "thrum/pipelines.cpp", "boost/main.cpp"):
            self.assertNotRegex((Path(__file__).parent / source).read_text(), r"chan(nel)?<int>", source)

    def test_a_variant_is_asked_for_by_the_name_that_programs_know(self):
        [off] = workloads.choose(["cpu_bound_off"])
        self.assertEqual(off.asked_as, "cpu_bound")
        [sample] = programs.parse_lines("cpu_bound 2 3.5 ms\n", off, 2)
        self.assertEqual(sample, programs.Sample(3.5, "ms"))

    def test_pauses_tell_of_the_call_and_then_of_the_pause_alone(self):
        [pauses] = workloads.choose(["pauses"])
        of_call = ["pauses", "pauses_p99", "pauses_max"]
        of_pause = ["pauses_stopping", "pauses_stopping_p99", "pauses_stopped", "pauses_stopped_p99"]
        lines = "".join(f"{name} 2 {value} us\n" for value, name in enumerate(of_call + of_pause))
        self.assertEqual([sample.value for sample in programs.parse_lines(lines, pauses, 2)], [0, 1, 2, 3, 4, 5, 6])

    def test_are_the_ones_that_the_readme_tells_of(self):
        readme = (Path(__file__).parent / "README.md").read_text()
        for workload in workloads.ALL:
            self.assertIn(f"\n| {workload.name} |", readme)
            for figure in [] if workload.title else workload.figures[1:]:
                self.assertIn(f"`{figure.name}`", readme)

    def test_are_the_ones_that_the_go_program_answers(self):
        listed = "".join(path.read_text() for path in programs.GO_SOURCE.glob("*.go"))
        for workload in PROGRAM_WORKLOADS:
            self.assertIn(f'\t{{"{workload.asked_as}", ', listed)
            for figure in workload.figures[1:]:
                self.assertIn(f'{{"{figure.name.removeprefix(workload.name)}", ', listed)

    def test_are_the_ones_that_thrums_program_answers(self):
        bench = Path(__file__).parent
        listed = "".join(path.read_text() for path in [*(bench / "thrum").glob("*.cpp"), bench / "echo_load.h"])
        for workload in PROGRAM_WORKLOADS:
            self.assertIn(f'workload{{"{workload.asked_as}", ', listed)
            for figure in workload.figures[1:]:
                self.assertIn(f'{{"{figure.name.removeprefix(workload.name)}", ', listed)


    def test_echo_is_the_same_for_tokio_and_asio_and_without_a_runtime(self):
        bench = Path(__file__).parent
        tokio = (bench / "tokio/src/main.rs").read_text()
        in_cpp = [(bench / runtime / "main.cpp").read_text() for runtime in ("asio", "bare")]
        for workload in workloads.NETWORK:
            self.assertIn(f'("{workload.name}", ', tokio)
            for program in in_cpp:
                self.assertIn(f'workload{{"{workload.name}", ', program)
            for figure in workload.figures[1:]:
                self.assertIn(f'{{name}}{figure.name.removeprefix(workload.name)} {{procs}} ', tokio)


class Table(unittest.TestCase):
    def test_shows_values_ratios_goal_and_spread(self):
        rows = [row_of(thrum=[80, 76, 84], go=[400, 400, 420], tbb=[64, 64, 64]), row_of("mutex", thrum=[18], go=[20])]
        lines = table.render(rows, ["thrum", "go", "tbb"]).splitlines()
        self.assertEqual(lines[0].split()[:9], "figure P unit thrum go tbb thrum/go thrum/tbb goal".split())
        self.assertEqual(lines[1].split()[:10], "spawn 1 ns/task 80.0 400 64.0 0.200 1.25 ≤0.08 ✗".split())
        self.assertIn("-5..+5% | 0..+5% | 0..+0%", lines[1])
        self.assertIn("≤0.66 ✗", lines[2])
        self.assertIn("–", lines[2])

    def test_says_failed_and_leaves_the_goal_open(self):
        row = row_of(go=[100])
        row.failed.add("thrum")
        line = table.render([row], ["thrum", "go"]).splitlines()[1]
        self.assertIn("failed", line)
        self.assertIn("≤0.08 ?", line)


class Page(unittest.TestCase):
    ROWS = [row for workload in workloads.ALL for procs in (1, 2) for row in Group(workload, procs).rows]

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def enterContext(self, context):  # of unittest since Python 3.11
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def test_has_a_row_for_every_figure(self):
        text = page.all_results(self.ROWS, "a machine", 3, "2030-01-02")
        for workload in workloads.ALL:
            for figure in workload.figures:
                self.assertRegex(text, rf"(?m)^\| {figure.name}\b[^|]*\| 2 \|", figure.name)
        self.assertIn("2030-01-02, 3 rounds in turns: a machine", text)

    def test_a_row_names_the_best_other_and_marks_a_goal_that_is_missed(self):
        rows = [row_of("echo", unit="k requests/s", thrum=[98], go=[70], tokio=[90], bare=[100], asio=[60])]
        line = "| echo (more is better) | 1 | 98.0 k requests/s | 1.40 | 0.980 the kernel alone | ≥0.971 bare |"
        self.assertIn(line, page.line_of(rows[0]))
        missed = row_of("memory", unit="bytes/task", thrum=[4378], go=[2750])
        self.assertEqual(page.line_of(missed), "| memory | 1 | 4,378 bytes/task | 1.59 | – | ≤1 ✗ |")

    def test_the_front_page_shows_the_rows_that_go_wins_in_bold(self):
        rows = [Row(row.figure, row.procs, "us", {"thrum": [3], "go": [2], "redis": [2]}) for row in self.ROWS]
        lines = page.front(rows, "a machine").splitlines()
        self.assertEqual(len(lines), 4 + len(page.FRONT))
        self.assertIn("| **start a million empty goroutines** | 3.00 us | 1.50 | 1.50 |", lines)
        http = "| HTTP requests per second beside Go's net/http (more is better) | 3.00 us | 1.50 | 1.50 |"
        self.assertIn(http, lines)

    def test_only_what_stands_between_the_marks_is_replaced(self):
        path = self.folder / "page.md"
        path.write_text("before\n" + "old\n".join(page.marks_of("results")) + "after\n")
        page.write(path, "results", "new")
        self.assertEqual(path.read_text(), "before\n" + "\nnew\n\n".join(page.marks_of("results")) + "after\n")
        path.write_text("".join(reversed(page.marks_of("results"))))
        with self.assertRaisesRegex(ValueError, "page.md needs the lines"):
            page.write(path, "results", "new")

    def test_the_pages_of_the_repository_have_the_marks(self):
        for architecture in ("x86_64", "aarch64"):
            for path, part in run.pages({"architecture": architecture}).items():
                page.check(path, part)

    def test_is_only_for_all_workloads(self):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            run.parse_arguments(["spawn", "--page"])
        self.assertIn("--page needs all workloads", said.getvalue())


class Chart(unittest.TestCase):
    def test_is_well_formed_with_a_bar_per_runtime_and_names_escaped(self):
        rows = [row_of(thrum=[80], go=[400], tbb=[64]), row_of("yield", unit="ns/yield", thrum=[900], go=[90])]
        drawing = ElementTree.fromstring(chart.render(rows, ["thrum", "go", "tbb"], "a <CPU> & more"))
        rects = drawing.iter("{http://www.w3.org/2000/svg}rect")
        bars = [rect for rect in rects if rect.get("height") == str(chart.BAR)]
        self.assertEqual([bar.get("class") for bar in bars], ["thrum", "tbb", "thrum"])
        self.assertIn("a <CPU> & more", "".join(drawing.itertext()))

    def test_every_mark_lies_inside_the_plot(self):
        for ratio in (0.001, 0.9, 1, 1.1, 3000):
            axis = chart.LogAxis([ratio])
            for at in (ratio, 1, *axis.ticks()):
                self.assertTrue(chart.LEFT <= axis.x(at) <= chart.LEFT + chart.PLOT, (ratio, at))

    def test_knows_a_name_and_a_colour_for_every_runtime(self):
        for runtime in ("thrum", *programs.PEERS):
            self.assertIn(runtime, chart.NAMES)
        for peer in {"thrum", *programs.PEERS} - {chart.YARDSTICK}:
            self.assertEqual(chart.STYLE.count(f".{peer} {{ fill:"), 2, peer)  # light and dark

    def test_is_absent_without_go(self):
        self.assertIsNone(chart.render([row_of(thrum=[1])], ["thrum"], ""))


class Arguments(unittest.TestCase):
    def refused(self, *arguments: str) -> str:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as exit:
            run.parse_arguments(list(arguments))
        self.assertEqual(exit.exception.code, 2)
        return said.getvalue()

    def test_an_unknown_workload_is_named_with_those_there_are(self):
        said = self.refused("spawn", "swapn")
        self.assertIn("unknown workload 'swapn'", said)
        self.assertIn("spawn_deep", said)

    def test_rounds_and_procs_out_of_range_are_refused(self):
        self.assertIn("at least 3, not '2'", self.refused("--rounds", "2"))
        self.assertIn("not '1,0'", self.refused("--procs", "1,0"))

    def test_defaults_to_every_workload(self):
        self.assertEqual(run.parse_arguments([]).workloads, workloads.ALL)


class Warnings(unittest.TestCase):
    QUIET = {"cores": 2, "busy_cores_at_start": 0.0, "compiler": "gcc 12.2"}

    def test_a_quiet_machine_and_a_release_build_give_none(self):
        self.assertEqual(run.warnings(self.QUIET, [1, 2]), [])
        self.assertEqual(run.warnings(self.QUIET | {"compiler": None}, [1, 2]), [])

    def test_each_doubt_about_the_figures_is_told(self):
        busy = {"cores": 2, "busy_cores_at_start": 1.4, "compiler": "gcc 12.2, NOT OPTIMIZED"}
        self.assertEqual(len(run.warnings(busy, [1, 8])), 3)


class WithScripts(unittest.TestCase):
    """Small shell scripts stand in for programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def script(self, name: str, body: str) -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path


class Programs(WithScripts):
    def bench_script(self, name: str, body: str) -> Path:
        return self.script(name, f'case "$1" in --list) echo spawn;; --about) echo fake;; *) {body};; esac')

    def program(self, body: str) -> Program:
        return Program("fake", self.bench_script("bench_fake", body), frozenset(["spawn"]), "fake")

    def test_reads_the_line_with_blanks_in_its_unit(self):
        samples = programs.run_once(self.program('echo "spawn 1 12.5 ns/round trip"'), SPAWN, 1, timeout_s=5)
        self.assertEqual(samples, [Sample(12.5, "ns/round trip")])

    def test_reads_a_line_per_figure(self):
        sleep_many = workloads.choose(["sleep_many"])[0]
        both = "sleep_many 2 -0.5 ms late\nsleep_many_cpu 2 800 ns CPU/sleep\n"
        self.assertEqual(
            programs.parse_lines(both, sleep_many, 2), [Sample(-0.5, "ms late"), Sample(800, "ns CPU/sleep")]
        )
        for wrong in ("sleep_many 2 1 ms late\n", both + both, "\n".join(reversed(both.splitlines()))):
            with self.assertRaisesRegex(Failed, "`sleep_many 2 <value> <unit>` and `sleep_many_cpu 2 ", msg=wrong):
                programs.parse_lines(wrong, sleep_many, 2)

    def test_refuses_other_output(self):
        wrong_rows = ("spawn 2 1 ns", "fib 1 1 ns")
        wrong_values = ("", "spawn 1 x ns", "spawn 1 nan ns", "spawn 1 1", "spawn 1 1 ns\nmore")
        for output in wrong_rows + wrong_values:
            with self.assertRaises(Failed, msg=output):
                programs.parse_lines(output, SPAWN, 1)

    def test_a_failure_brings_the_stderr_along(self):
        with self.assertRaisesRegex(Failed, "exit status 3\nout of luck"):
            programs.run_once(self.program("echo out of luck >&2; exit 3"), SPAWN, 1, timeout_s=5)
        with self.assertRaisesRegex(Failed, "killed by SIGKILL"):
            programs.run_once(self.program("kill -9 $$"), SPAWN, 1, timeout_s=5)

    def test_a_hang_is_ended_and_brings_the_stderr_along(self):
        with self.assertRaisesRegex(Failed, "did not end within 0.2 s\nstuck"):
            programs.run_once(self.program("echo stuck >&2; exec sleep 20"), SPAWN, 1, timeout_s=0.2)

    def test_the_whole_run_reports_the_good_and_the_failed(self):
        self.bench_script("bench_thrum", 'echo "spawn $2 80 ns/task"')
        self.bench_script("bench_tbb", "echo broken >&2; exit 1")
        out, said = io.StringIO(), io.StringIO()
        without_go = mock.patch.dict(os.environ, {"GO": "", "PATH": "/usr/bin:/bin"})
        with without_go, mock.patch("shutil.which", return_value=None):
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
                folders = ["--bin", str(self.folder), "--out", str(self.folder / "out")]
                status = run.main(["spawn", *folders, "--procs", "1"])
        self.assertEqual(status, 1)
        self.assertIn("without go", said.getvalue())
        self.assertIn("FAILED tbb, spawn, P=1", said.getvalue())
        self.assertIn("broken", said.getvalue())
        report = json.loads((self.folder / "out/results.json").read_text())
        self.assertEqual(report["results"][0]["values"], {"thrum": [80, 80, 80]})
        self.assertEqual((report["results"][0]["workload"], report["results"][0]["figure"]), ("spawn", "spawn"))
        self.assertEqual(len(report["failures"]), 1)
        self.assertLessEqual({"cpu", "cores", "kernel", "compiler", "go"}, report["machine"].keys())


    def test_the_whole_run_reports_every_figure_of_a_workload(self):
        printed = 'printf "wake $2 %s us\\nwake_p99 $2 %s us\\nwake_pace $2 %s us/message\\n"'
        path = self.bench_script("bench_thrum", f"{printed} 1 2 201")
        path.write_text(path.read_text().replace("echo spawn", "echo wake"))
        out = io.StringIO()
        without_go = mock.patch.dict(os.environ, {"GO": "", "PATH": "/usr/bin:/bin"})
        with without_go, mock.patch("shutil.which", return_value=None):
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                run.main(["wake", "--bin", str(self.folder), "--out", str(self.folder / "out"), "--procs", "2"])
        report = json.loads((self.folder / "out/results.json").read_text())
        found = {result["figure"]: result["median"] for result in report["results"]}
        self.assertEqual(found, {"wake": {"thrum": 1}, "wake_p99": {"thrum": 2}, "wake_pace": {"thrum": 201}})
        self.assertEqual({result["workload"] for result in report["results"]}, {"wake"})
        self.assertIn("wake_pace", out.getvalue())


class Tokio(WithScripts):
    def built(self, cargo: str, crates: str = "tokio-1.24.2") -> Program:
        (self.folder / "registry" / crates).mkdir(parents=True)
        for name, body in {"cargo": cargo, "rustc": "echo rustc 1.63.0 built from source"}.items():
            self.script(name, body)
        with mock.patch.object(programs, "CRATES", self.folder / "registry"):
            with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:/usr/bin:/bin", "TOKIO": ""}):
                return programs.find("tokio", self.folder, self.folder / "out")

    def test_is_built_from_a_copy_with_the_crates_that_are_there(self):
        answers = 'case $1 in --list) echo echo;; --about) echo "$BENCH_ABOUT";; esac'
        program = self.built(
            f"""test "$1 $2 $3" = "build --release --offline" && grep -q /usr/share/cargo .cargo/config.toml || exit 1
mkdir -p "$CARGO_TARGET_DIR/release" && cd "$CARGO_TARGET_DIR/release"
printf '#!/bin/sh\nBENCH_ABOUT="%s"\n%s\n' "$BENCH_ABOUT" '{answers}' > bench_tokio && chmod +x bench_tokio"""
        )
        self.assertEqual(program.about, "tokio 1.24.2, rustc 1.63.0")
        self.assertEqual(program.workloads, frozenset(["echo"]))
        self.assertFalse((programs.TOKIO_SOURCE / "Cargo.lock").exists())

    def test_what_is_not_there_is_named(self):
        with self.assertRaisesRegex(Missing, "Debian: librust-tokio-dev"):
            self.built("exit 1", crates="tokio-macros-1.7.0")
        with mock.patch("shutil.which", return_value=None), self.assertRaisesRegex(Missing, "no `cargo`"):
            programs.build_tokio(self.folder)

    def test_that_of_another_debian_is_built_inside_it(self):
        root = self.folder / "root"
        for crate in ("tokio-1.9.0", "tokio-1.51.0", "tokio-macros-2.5.0"):
            (root / "usr/share/cargo/registry" / crate).mkdir(parents=True)
        self.script("chroot", f"""test "$1" = {root} || exit 1
case $2 in
  rustc) echo rustc 1.90.0;;
  *) echo "$@" > {self.folder}/command; echo "$RUSTFLAGS $BENCH_ABOUT" >> {self.folder}/command;;
esac""")
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:/usr/bin:/bin", "TOKIO": str(root)}):
            program = programs.build_tokio(self.folder)
        self.assertEqual(program, root / "var/tmp/thrum-bench-tokio/target/release/bench_tokio")
        self.assertTrue((root / "var/tmp/thrum-bench-tokio/src/main.rs").is_file())
        command, about = (self.folder / "command").read_text().splitlines()
        self.assertIn("env --chdir=/var/tmp/thrum-bench-tokio cargo build --release --offline", command)
        self.assertEqual(about, "-C target-feature=+crt-static tokio 1.51.0, rustc 1.90.0")

    def test_another_debian_without_tokio_fails(self):
        with mock.patch.dict(os.environ, {"TOKIO": str(self.folder)}):
            with self.assertRaisesRegex(Failed, "TOKIO=.*no tokio below"):
                programs.build_tokio(self.folder)

    def test_a_build_that_fails_says_why(self):
        with self.assertRaisesRegex(Failed, "no such crate"):
            self.built("echo no such crate >&2; exit 101")


class Servers(WithScripts):
    HEAD = (
        '"test","rps","avg_latency_ms","min_latency_ms",'
        '"p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"\n'
    )

    def test_a_figure_of_each_kind_for_each_command(self):
        rows = "".join(f'"{name}","{rps}.00","1","1","0.25","1","0.5","1"\n' for name, rps in
                       (("GET", 2000), ("SET", 1000), ("LPUSH", 4000), ("INCR", 3000)))
        samples = kv.parse_csv(self.HEAD + rows)
        self.assertEqual(samples[:3], [Sample(1, "k requests/s"), Sample(250, "us"), Sample(500, "us")])
        self.assertEqual([sample.value for sample in samples[::3]], [1, 2, 3, 4])
        self.assertEqual(2 * (len(samples) + 1), len(workloads.KV.figures))  # and the CPU time of all
        names = [workloads.KV.figures[i].name for i in (0, 4, 12, 15, 25)]
        self.assertEqual(names, ["kv_set", "kv_get_p50", "kv_cpu", "kv_16_set_p99", "kv_16_cpu"])

    def test_other_output_is_refused(self):
        for wrong in ("", self.HEAD, self.HEAD + '"SET","1"\n', "Could not connect to Redis\n"):
            with self.assertRaisesRegex(Failed, "redis-benchmark's table of set, get", msg=wrong):
                kv.parse_csv(wrong)

    def test_the_goal_is_about_redis(self):
        figure = figure_of("kv_16_get")
        row = Row(figure, 2)
        row.add("thrum", Sample(1200, "k requests/s"))
        row.add("go", Sample(5000, "k requests/s"))
        self.assertIsNone(row.goal_met())
        row.add("redis", Sample(1100, "k requests/s"))
        self.assertTrue(row.goal_met())
        self.assertIsNone(chart.goal_of(row))

    def test_with_one_proc_the_server_is_pinned(self):
        server = Program("thrum", Path("example_kv"), frozenset(), "")
        self.assertEqual(kv.command_of(server, 2, 7), ["example_kv", "--port", "7", "--procs", "2"])
        self.assertEqual(kv.command_of(server, 1, 7)[:2], ["taskset", "-c"])
        redis = Program("redis", Path("redis-server"), frozenset(), "")
        self.assertIn("--appendonly", kv.command_of(redis, 2, 7))

    def test_what_is_not_installed_is_named(self):
        with mock.patch("shutil.which", return_value=None), self.assertRaisesRegex(programs.Missing, "redis-tools"):
            kv.find("thrum", self.folder, self.folder)
        with mock.patch("shutil.which", side_effect=lambda tool: None if tool == "redis-server" else tool):
            with self.assertRaisesRegex(programs.Missing, "Debian: redis-server"):
                kv.find("redis", self.folder, self.folder)
            with self.assertRaisesRegex(programs.Missing, "no example_kv"):
                kv.find("thrum", self.folder, self.folder)

    def test_a_server_that_does_not_come_up_fails(self):
        program = Program("thrum", self.script("example_kv", "exit 1"), frozenset(), "")
        with self.assertRaisesRegex(Failed, "no server listens"), kv.served(program, 2):
            pass

    def test_reads_the_version(self):
        self.assertEqual(kv.version_in("Redis server v=7.0.15 sha=00000000:0 bits=64"), "Redis 7.0.15")
        self.assertEqual(kv.version_in(""), "Redis")


class Clients(WithScripts):
    """Of PostgreSQL, which need not be there."""

    def installed(self, *versions: str):
        for version in versions:
            (self.folder / version / "bin").mkdir(parents=True)
            (self.folder / version / "bin/initdb").touch()
        return mock.patch.object(pq, "INSTALLED", self.folder)

    def test_the_newest_server_is_taken(self):
        with self.installed("9.6", "15", "13"):
            self.assertEqual(pq.server_programs(), self.folder / "15/bin")

    def test_what_is_not_installed_is_named(self):
        with self.installed(), self.assertRaisesRegex(programs.Missing, "Debian: postgresql"):
            pq.find("thrum", self.folder, self.folder)
        with self.installed("15"):
            missing = {"thrum": "no bench_pq_thrum", "go": "no bench_go", "threads": "no bench_pq_threads"}
            for runtime, what in missing.items():
                with self.assertRaisesRegex(programs.Missing, what):
                    pq.find(runtime, self.folder, self.folder)

    def test_the_server_has_the_first_cpu_and_room_for_all(self):
        with self.installed("15"):
            command = pq.command_of(Path("data"), Path("folder"))
        self.assertEqual(command[:3], ["taskset", "-c", "0"])
        self.assertIn(f"max_connections={pq.CONNECTIONS_MAX}", command)

    def test_the_client_is_told_where_the_server_is(self):
        said = "".join(f"echo {figure.name} 2 1 unit; " for figure in workloads.PQ.figures)
        script = self.script("bench_pq_thrum", f'test "$BENCH_PQ_SOCKET" = /there/.s.PGSQL.5432 && {{ {said} }}')
        program = Program("thrum", script, frozenset(["pq"]), "")
        with mock.patch.object(pq, "served", lambda: contextlib.nullcontext(Path("/there"))):
            self.assertEqual(len(pq.run_once(program, workloads.PQ, 2, timeout_s=10)), 3)


WRK_SAID = """Running 3s test @ http://127.0.0.1:8080/plaintext
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   512.00us  100.00us   2.00ms   90.00%
  Latency Distribution
     50%  480.00us
     75%  600.00us
     99%    1.25ms
  300000 requests in 3.00s, 40.00MB read
Requests/sec: 100000.50
Transfer/sec:     13.00MB
"""


class Http(unittest.TestCase):
    def test_reads_what_wrk_says(self):
        self.assertEqual(http.parse_wrk(WRK_SAID), http.Load(300000, 100000.5, 480, 1250))
        self.assertEqual(http.microseconds("2.00s"), 2e6)

    def test_a_run_with_errors_or_without_figures_is_none(self):
        for wrong in (WRK_SAID + "  Socket errors: connect 0, read 3, write 0, timeout 0\n",
                      WRK_SAID + "  Non-2xx or 3xx responses: 5\n", WRK_SAID.replace("99%", "98%"), ""):
            with self.assertRaises(Failed):
                http.parse_wrk(wrong)

    def test_reads_the_cpu_time_of_a_process_whatever_its_name(self):
        stat = "42 (a ) b) S 7 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 4 0 1000 0 0"
        self.assertEqual(servers.parse_stat(stat), (7, 200))
        self.assertGreater(servers.cpu_seconds(os.getpid()), 0)

    def test_nginx_gets_as_many_workers_as_there_are_procs(self):
        with tempfile.TemporaryDirectory() as folder:
            written = http.write_configuration(Path(folder), 2, 4242).read_text()
        self.assertIn("worker_processes 2;", written)
        self.assertIn('listen 127.0.0.1:4242;', written)
        self.assertIn('{ return 200 "Hello, World!"; }', written)

    def test_a_server_that_does_not_start_fails_with_what_it_said(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "server"
            path.write_text("#!/bin/sh\necho no luck >&2\nexit 1\n")
            path.chmod(0o755)
            broken = Program("go", path, frozenset(["http"]), "fake")
            with self.assertRaisesRegex(Failed, "--serve-http 2: did not start\nno luck"):
                http.run_once(broken, workloads.choose(["http"])[0], 2, timeout_s=5)

    def test_what_is_not_there_is_named(self):
        nowhere = Path("/nowhere")
        with mock.patch("shutil.which", return_value=None), self.assertRaisesRegex(Missing, "no `wrk`"):
            http.find("thrum", nowhere, nowhere)
        with mock.patch("shutil.which", side_effect=lambda name, path=None: "wrk" if name == "wrk" else None):
            for runtime, what in {"thrum": "no example_http", "go": "no bench_go", "nginx": "no `nginx`"}.items():
                with self.assertRaisesRegex(Missing, what):
                    http.find(runtime, nowhere, nowhere)


class Machine(unittest.TestCase):
    def test_reads_the_model_of_either_source(self):
        self.assertEqual(machine.model_in("Architecture: x\nModel name:   Neoverse-V1\n"), "Neoverse-V1")
        self.assertEqual(machine.model_in("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n"), "Some CPU @ 3 GHz")
        self.assertIsNone(machine.model_in("BIOS Model name: x\nModel name: -\n"))


if __name__ == "__main__":
    unittest.main()
