#!/usr/bin/env python3
"""Tests of run.py --tracing: python3 bench/tracing_test.py"""

import contextlib
import io
import os
import stat
import struct
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import run
from harness import page, tracing, workloads
from harness.programs import Sample
from harness.summary import Group

# A bench program. It answers 100 ns, with the recorder 120 ns, and with a trace to a file 150 ns.
PROGRAM = """#!/bin/sh
case $1 in
  --list) echo pingpong; echo echo ;;
  --about) echo "thrum, gcc 12.2" ;;
  *)
    echo "$1 ${BENCH_TRACING-unset}" >>"$CALLS"
    case $BENCH_TRACING in '') value=100 ;; recorder) value=120 ;; *) value=150; cp "$MADE_TRACE" "$BENCH_TRACING" ;; esac
    echo "$1 $2 $value ns/round trip" ;;
esac
"""


def trace_of(records: list[int], lost: int = 0, ns: int = 3000) -> bytes:
    """A trace file with a block of records of these lengths in words."""
    words = b"".join(struct.pack("<Q", 3 | length << 8) + bytes(8 * (length - 1)) for length in records)
    made = tracing.HEADER.pack(b"thrumtrc", 1, 64, 10**9, 0, 1000, 0, 1, 1, 0, 1)
    for kind, contents in (
        (tracing.EVENTS, words),
        (tracing.CLOCK, struct.pack("<Qq", 0, 1000 + ns)),
        (4, bytes(24)),
        (tracing.END, struct.pack("<Q", lost)),
    ):
        made += tracing.BLOCK.pack(b"THRB", kind, 0, len(contents), 0, 0, 0, 0) + contents
    return made


class Files(unittest.TestCase):
    def look_at(self, contents: bytes) -> tracing.Recorded:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trace"
            file.write_bytes(contents)
            return tracing.look_at(file)

    def test_records_time_and_losses_are_counted(self):
        found = self.look_at(trace_of([3, 2, 4], lost=1))
        self.assertEqual((found.events, found.lost, found.ns), (3, 1, 3000))
        self.assertEqual(found.lost_share, 0.25)

    def test_what_is_no_whole_trace_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no trace file"):
            self.look_at(b"nothing!" + bytes(100))
        with self.assertRaisesRegex(ValueError, "cut off"):
            self.look_at(trace_of([3])[:-48])


class Costs(unittest.TestCase):
    def group(self, procs: int = 1) -> Group:
        group = Group(workloads.choose(["pingpong"])[0], procs)
        for side, value in ((tracing.OFF, 100), (tracing.RECORDER, 120), (tracing.FILE, 150), (tracing.GO_OFF, 200), (tracing.GO_FILE, 500)):
            group.add(side, [Sample(value, "ns/round trip")])
        return group

    def test_the_cost_of_an_event_is_the_time_that_a_unit_takes_longer(self):
        (row,) = self.group().rows
        recorded = tracing.Recorded(events=400, lost=0, ns=10_000)  # 6 events in the 150 ns of a round trip
        self.assertAlmostEqual(tracing.ns_per_event(row, tracing.FILE, recorded), 50 / 6)
        self.assertAlmostEqual(tracing.ns_per_event(row, tracing.RECORDER, recorded), 20 / 6)
        (row,) = self.group(procs=2).rows
        self.assertAlmostEqual(tracing.ns_per_event(row, tracing.FILE, recorded), 100 / 6)
        self.assertIsNone(tracing.ns_per_event(row, tracing.FILE, None))

    def test_the_page_has_a_line_for_each_figure(self):
        groups = [self.group()]
        text = tracing.page(groups, {id(groups[0]): tracing.Recorded(400, 0, 10_000)}, "made up")
        self.assertIn("| pingpong | 1 | 100 ns/round trip | 120 (× 1.20) | 150 (× 1.50) | 3.33; 8.33 | 0 | 200 | 500 (× 2.50) |", text)
        self.assertIn("| – | – |", tracing.page([Group(groups[0].workload, 1)], {}, "not measured"))

    def test_each_side_goes_first(self):
        self.assertEqual({tracing.order(number)[0] for number in range(1, 6)}, set(tracing.SIDES))

    def test_docs_tracing_has_the_marks(self):
        for architecture in ("x86_64", "aarch64"):
            page.check(run.PAGE_OF_TRACING, f"cost of tracing on {architecture}")


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        path = self.folder / "bench_thrum"
        path.write_text(PROGRAM)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        (self.folder / "made").write_bytes(trace_of([3] * 6, ns=150))

    def run_with(self, *arguments: str) -> tuple[int, str, str]:
        said, complaints = io.StringIO(), io.StringIO()
        places = ["--bin", str(self.folder), "--out", str(self.folder)]
        variables = {"CALLS": str(self.folder / "calls"), "MADE_TRACE": str(self.folder / "made"), "GO": "", "PATH": "/usr/bin:/bin"}
        with mock.patch.dict(os.environ, variables), contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaints):
            code = run.main(["--tracing", *arguments, *places])
        return code, said.getvalue(), complaints.getvalue()

    def test_all_sides_run_in_turns_and_leave_no_file(self):
        with mock.patch("harness.programs.shutil.which", return_value=None):
            code, said, complaints = self.run_with("--rounds", "3", "--procs", "1", "pingpong")
        self.assertEqual(code, 0, complaints)
        self.assertRegex(said, r"pingpong +1 +ns/round trip +100 +120 +150 .* 1\.20 +1\.50")
        self.assertRegex(said, r" 3\.33 +8\.33 +0 ")
        calls = [call.split()[1] for call in (self.folder / "calls").read_text().splitlines()]
        file = str(self.folder.resolve() / "bench.trace")
        self.assertEqual(calls, ["recorder", file, "unset", file, "unset", "recorder", "unset", "recorder", file])
        self.assertFalse(Path(file).exists())

    def test_the_whole_table_replaces_the_one_of_the_page(self):
        copy = self.folder / "tracing.md"
        copy.write_text(run.PAGE_OF_TRACING.read_text())
        patches = [
            mock.patch("harness.programs.shutil.which", return_value=None),
            mock.patch.object(run, "PAGE_OF_TRACING", copy),
            mock.patch.object(tracing, "WORKLOADS", ["pingpong"]),
        ]
        with contextlib.ExitStack() as patched:
            for patch in patches:
                patched.enter_context(patch)
            for _ in range(2):
                code, _, complaints = self.run_with("--rounds", "3", "--page")
                self.assertEqual(code, 0, complaints)
        text, architecture = copy.read_text(), os.uname().machine
        table = text.split(f"<!-- cost of tracing on {architecture}: ")[1].split(f"<!-- end of cost of tracing on {architecture} -->")[0]
        self.assertIn(", 3 rounds in turns: ", table)
        for procs in (1, 2):
            self.assertEqual(table.count(f"| pingpong | {procs} | 100 ns/round trip | 120 (× 1.20) | 150 (× 1.50) |"), 1)
        self.assertNotIn("has not been measured", table)

    def test_servers_are_refused(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            run.main(["--tracing", "http"])


if __name__ == "__main__":
    unittest.main()
