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
from harness import chart, machine, programs, table, workloads
from harness.programs import Failed, Program, Sample
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
        self.assertEqual([row.goal() for row in group.rows], [0.5, 0.5, None])

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

    def test_channels_and_time_aim_at_half_of_go_and_the_crowded_channel_at_less(self):
        for workload in workloads.CHANNELS + workloads.TIME:
            self.assertIn(workload.figures[0].goals[1], [0.5])
        self.assertEqual(figure_of("chan_mpmc").goals, {1: 0.5, 2: 0.4})
        self.assertEqual(figure_of("wake_p99").goals, {1: 0.5, 2: 0.5})
        self.assertEqual(figure_of("sleep_many_cpu").goals, {1: 0.5, 2: 0.5})

    def test_are_the_ones_that_the_readme_tells_of(self):
        readme = (Path(__file__).parent / "README.md").read_text()
        for workload in workloads.ALL:
            self.assertIn(f"\n| {workload.name} |", readme)
            for figure in workload.figures[1:]:
                self.assertIn(f"`{figure.name}`", readme)

    def test_are_the_ones_that_the_go_program_answers(self):
        listed = "".join(path.read_text() for path in programs.GO_SOURCE.glob("*.go"))
        for workload in workloads.ALL:
            self.assertIn(f'\t{{"{workload.name}", ', listed)
            for figure in workload.figures[1:]:
                self.assertIn(f'{{"{figure.name.removeprefix(workload.name)}", ', listed)

    def test_are_the_ones_that_thrums_program_answers(self):
        listed = "".join(path.read_text() for path in (Path(__file__).parent / "thrum").glob("*.cpp"))
        for workload in workloads.ALL:
            self.assertIn(f'workload{{"{workload.name}", ', listed)
            for figure in workload.figures[1:]:
                self.assertIn(f'{{"{figure.name.removeprefix(workload.name)}", ', listed)


class Table(unittest.TestCase):
    def test_shows_values_ratios_goal_and_spread(self):
        rows = [row_of(thrum=[80, 76, 84], go=[400, 400, 420], tbb=[64, 64, 64]), row_of("mutex", thrum=[18], go=[20])]
        lines = table.render(rows, ["thrum", "go", "tbb"]).splitlines()
        self.assertEqual(lines[0].split()[:9], "figure P unit thrum go tbb thrum/go thrum/tbb goal".split())
        self.assertEqual(lines[1].split()[:10], "spawn 1 ns/task 80.0 400 64.0 0.200 1.25 ≤0.25 ✓".split())
        self.assertIn("-5..+5% | 0..+5% | 0..+0%", lines[1])
        self.assertIn("≤0.7 ✗", lines[2])
        self.assertIn("–", lines[2])

    def test_says_failed_and_leaves_the_goal_open(self):
        row = row_of(go=[100])
        row.failed.add("thrum")
        line = table.render([row], ["thrum", "go"]).splitlines()[1]
        self.assertIn("failed", line)
        self.assertIn("≤0.25 ?", line)


class Chart(unittest.TestCase):
    def test_is_well_formed_with_a_bar_per_runtime_and_names_escaped(self):
        rows = [row_of(thrum=[80], go=[400], tbb=[64]), row_of("yield", unit="ns/yield", thrum=[900], go=[90])]
        drawing = ElementTree.fromstring(chart.render(rows, ["thrum", "go", "tbb"], "a <CPU> & more"))
        bars = [rect for rect in drawing.iter("{http://www.w3.org/2000/svg}rect") if rect.get("height") == str(chart.BAR)]
        self.assertEqual([bar.get("class") for bar in bars], ["thrum", "tbb", "thrum"])
        self.assertIn("a <CPU> & more", "".join(drawing.itertext()))

    def test_every_mark_lies_inside_the_plot(self):
        for ratio in (0.001, 0.9, 1, 1.1, 3000):
            axis = chart.LogAxis([ratio])
            for at in (ratio, 1, *axis.ticks()):
                self.assertTrue(chart.LEFT <= axis.x(at) <= chart.LEFT + chart.PLOT, (ratio, at))

    def test_knows_a_name_and_a_colour_for_every_runtime(self):
        for runtime in programs.RUNTIMES:
            self.assertIn(runtime, chart.NAMES)
        for peer in set(programs.RUNTIMES) - {chart.YARDSTICK}:
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


class Programs(unittest.TestCase):
    """Small shell scripts stand in for the bench programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def script(self, name: str, body: str) -> Path:
        path = self.folder / name
        path.write_text(f'#!/bin/sh\ncase "$1" in --list) echo spawn;; --about) echo fake;; *) {body};; esac\n')
        path.chmod(0o755)
        return path

    def program(self, body: str) -> Program:
        return Program("fake", self.script("bench_fake", body), frozenset(["spawn"]), "fake")

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
        self.script("bench_thrum", 'echo "spawn $2 80 ns/task"')
        self.script("bench_tbb", "echo broken >&2; exit 1")
        out, said = io.StringIO(), io.StringIO()
        with mock.patch.dict(os.environ, {"GO": "", "PATH": "/usr/bin:/bin"}), mock.patch("shutil.which", return_value=None):
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
                status = run.main(["spawn", "--bin", str(self.folder), "--out", str(self.folder / "out"), "--procs", "1"])
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
        path = self.script("bench_thrum", f"{printed} 1 2 201")
        path.write_text(path.read_text().replace("echo spawn", "echo wake"))
        out = io.StringIO()
        with mock.patch.dict(os.environ, {"GO": "", "PATH": "/usr/bin:/bin"}), mock.patch("shutil.which", return_value=None):
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                run.main(["wake", "--bin", str(self.folder), "--out", str(self.folder / "out"), "--procs", "2"])
        report = json.loads((self.folder / "out/results.json").read_text())
        found = {result["figure"]: result["median"] for result in report["results"]}
        self.assertEqual(found, {"wake": {"thrum": 1}, "wake_p99": {"thrum": 2}, "wake_pace": {"thrum": 201}})
        self.assertEqual({result["workload"] for result in report["results"]}, {"wake"})
        self.assertIn("wake_pace", out.getvalue())


class Machine(unittest.TestCase):
    def test_reads_the_model_of_either_source(self):
        self.assertEqual(machine.model_in("Architecture: x\nModel name:   Neoverse-V1\n"), "Neoverse-V1")
        self.assertEqual(machine.model_in("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n"), "Some CPU @ 3 GHz")
        self.assertIsNone(machine.model_in("BIOS Model name: x\nModel name: -\n"))


if __name__ == "__main__":
    unittest.main()
