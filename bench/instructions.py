#!/usr/bin/env python3
"""Instructions per operation at P=1, counted by callgrind: the same figure on every run, however busy the machine.

usage: bench/instructions.py [--bin DIR] [OPERATION...]
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MEANING = {
    "go": "go, run, end, and its share of a wait_group",
    "yield": "yield to the other of two goroutines",
    "park_ready": "park, and be readied by the other of two goroutines (wait_group)",
    "spawn_join": "spawn and join: joined in place",
    "mutex": "lock and unlock, uncontended",
    "pingpong": "there and back between two goroutines over two channels without a buffer",
    "recorded": "the same with the flight recorder on: six events",
    "blocking": "announce a system call and return from it",
}
SMALL, LARGE = 20_000, 60_000


def count(program: pathlib.Path, operation: str, times: int) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out"]
        done = subprocess.run(
            [*valgrind, str(program), operation, str(times)],
            # callgrind may abort when a signal comes in between
            env=os.environ | {"THRUM_DEBUG": "asyncpreemptoff=1"}, capture_output=True, text=True, timeout=300)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        sys.exit(f"instructions: {program.name} {operation} {times} failed:\n{done.stderr}")
    return int(found.group(1))


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help=", ".join(MEANING))
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build/release/bin",
                        help="where bench_instructions is")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.operations if name not in MEANING]
    if unknown:
        parser.error(f"unknown operation {unknown[0]}; there are {', '.join(MEANING)}")
    program = chosen.bin / "bench_instructions"
    if not program.exists():
        sys.exit(f"instructions: {program} is not built")
    print(f"{'operation':<12} {'instructions':>12}  what")
    for name in chosen.operations or MEANING:
        each = (count(program, name, LARGE) - count(program, name, SMALL)) / (LARGE - SMALL)
        print(f"{name:<12} {each:>12.0f}  {MEANING[name]}", flush=True)


if __name__ == "__main__":
    main()
