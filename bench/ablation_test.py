#!/usr/bin/env python3
"""Tests of run.py --without: python3 bench/ablation_test.py"""

import contextlib
import io
import os
import stat
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import run
from harness import ablation, page, programs, workloads
from harness.programs import Sample
from harness.summary import Group

# A bench program. It answers 100 ns, and without `pace` 300 ns. It writes down what it left out.
PROGRAM = """#!/bin/sh
case $1 in
  --list) echo spawn; echo yield ;;
  --about) echo "thrum, gcc 12.2, heuristics can be left out" ;;
  *)
    echo "$1 ${THRUM_ABLATE-unset}" >>"$CALLS"
    case $THRUM_ABLATE in *pace*) value=300 ;; *) value=100 ;; esac
    echo "$1 $2 $value ns/task" ;;
esac
"""


def pair(used: list[float], left: list[float], name: str = "spawn"):
    row = Group(workloads.choose([name])[0], 1).rows[0]
    for side, values in ((ablation.WITH, used), (ablation.WITHOUT, left)):
        for value in values:
            row.add(side, Sample(value, "unit"))
    return row


class Names(unittest.TestCase):
    def test_every_entry_of_the_header_is_read(self):
        entries = ablation.HEADER.read_text(encoding="utf-8").count("\n  X(")
        self.assertGreater(entries, 30)
        self.assertEqual(len(ablation.known()), entries)

    def test_every_heuristic_names_workloads_that_there_are(self):
        for heuristic in ablation.known():
            self.assertTrue(heuristic.rows and heuristic.without, heuristic.name)
            workloads.choose(list(heuristic.rows))

    def test_names_between_commas_are_left_out_together_and_all_one_by_one(self):
        self.assertEqual([each.name for each in ablation.choose("pace,moment")], ["pace,moment"])
        self.assertEqual([each.name for each in ablation.choose("all")], [each.name for each in ablation.known()])

    def test_an_unknown_name_is_refused_with_the_names_that_there_are(self):
        said = io.StringIO()
        for arguments in (["--without", "pace,dance"], ["--without", ""], ["--without", ","]):
            with self.assertRaises(SystemExit) as end, contextlib.redirect_stderr(said):
                run.parse_arguments(arguments)
            self.assertEqual(end.exception.code, 2)
        self.assertIn("unknown heuristic 'dance'; there are: all, search_patience, ", said.getvalue())

    def test_the_workloads_are_those_asked_for_or_those_of_the_heuristic(self):
        def names(*arguments: str) -> list[str]:
            (one,) = run.parse_arguments(["--without", *arguments]).ablations
            return list(dict.fromkeys(group.workload.name for group in one.groups))

        self.assertEqual(names("second_look"), ["wake_busy"])
        self.assertEqual(names("second_look", "sieve", "spawn"), ["spawn", "sieve"])

    def test_the_table_of_the_decision_names_every_heuristic(self):
        page.check(run.DECISION, run.PART_OF_DECISION)
        text = run.DECISION.read_text(encoding="utf-8")
        for heuristic in ablation.known():
            self.assertIn(f"| `{heuristic.name}` | {heuristic.without} |", text)

    def test_the_whole_table_is_replaced_or_nothing(self):
        for arguments in (["pace"], ["all", "spawn"], ["all", "--procs", "1"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                run.parse_arguments(["--page", "--without", *arguments])


class Verdict(unittest.TestCase):
    def test_pays_only_if_no_round_without_it_is_as_good(self):
        self.assertEqual(ablation.verdict(pair([1, 2, 3], [4, 5, 6])), ablation.PAYS)
        self.assertEqual(ablation.verdict(pair([1, 2, 4], [4, 5, 6])), ablation.NOISE)
        self.assertEqual(ablation.verdict(pair([4, 5, 6], [1, 2, 3])), ablation.COSTS)

    def test_where_more_is_better_the_larger_side_wins(self):
        self.assertEqual(ablation.verdict(pair([4, 5, 6], [1, 2, 3], "parallel_sum")), ablation.PAYS)

    def test_a_side_that_failed_decides_nothing(self):
        row = pair([1, 2, 3], [4, 5, 6])
        row.failed.add(ablation.WITHOUT)
        self.assertIsNone(ablation.verdict(row))


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.calls = self.folder / "calls"
        path = self.folder / "bench_thrum"
        path.write_text(PROGRAM)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run_with(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        said, complaints = io.StringIO(), io.StringIO()
        places = ["--bin", str(self.folder), "--out", str(self.folder)]
        changed = mock.patch.dict(os.environ, {"CALLS": str(self.calls), **environment})
        with changed, contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaints):
            code = run.main([*arguments, *places])
        return code, said.getvalue(), complaints.getvalue()

    def test_both_sides_run_in_turns_and_the_table_shows_the_difference(self):
        code, said, complaints = self.run_with("--without", "pace", "--rounds", "3", "--procs", "1", "spawn", "yield")
        self.assertEqual((code, "FAILED" in complaints), (0, False), complaints)
        calls = self.calls.read_text().splitlines()
        one, other = ["unset", "pace"], ["pace", "unset"]
        self.assertEqual([call.split()[1] for call in calls], (one * 2 + other * 2 + one * 2))
        self.assertRegex(said, r"row +P +unit +with +without +ratio +spread with \| without +the heuristic")
        self.assertRegex(said, r"spawn +1 +ns/task +100 +300 +3\.00 .* pays")

    def test_what_the_caller_leaves_out_is_not_left_out_on_both_sides(self):
        self.run_with("--without", "moment", "--rounds", "3", "--procs", "1", "spawn", THRUM_ABLATE="pace")
        self.assertEqual(set(self.calls.read_text().splitlines()), {"spawn unset", "spawn moment"})

    def test_a_program_that_can_leave_nothing_out_is_refused(self):
        path = self.folder / "bench_thrum"
        path.write_text(PROGRAM.replace(", heuristics can be left out", ""))
        code, _, complaints = self.run_with("--without", "pace", "spawn")
        self.assertEqual(code, 1)
        self.assertIn("was not built with THRUM_ABLATION", complaints)
        self.assertFalse(self.calls.exists(), "nothing was measured")

    def test_the_page_has_a_line_for_each_heuristic_with_its_ratios(self):
        (one,) = ablation.choose("pace")
        ablation.plan([one], workloads.choose(["spawn"]), [1, 2])
        for group in one.groups:
            for value in (100, 101, 102):
                group.add(ablation.WITH, [Sample(value, "ns")])
                group.add(ablation.WITHOUT, [Sample(value * (3 if group.procs == 2 else 1), "ns")])
        text = ablation.page([one], "made up")
        self.assertIn("| spawn 1.00 | **spawn 3.00** |", text)
        self.assertIn("– | – |", ablation.page(ablation.choose("pace"), "not measured"))

    def test_what_the_programs_say_of_themselves_is_what_is_looked_for(self):
        common = (Path(run.ROOT) / "bench/common.h").read_text(encoding="utf-8")
        self.assertIn(f'"{", " + ablation.CAN_LEAVE_OUT}"', common)
        self.assertIsNotNone(programs.find("thrum", self.folder, self.folder))


if __name__ == "__main__":
    unittest.main()
