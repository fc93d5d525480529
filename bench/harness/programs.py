"""The bench programs, one per runtime: finding them, building those of Go and tokio, running one workload once."""

import math
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.workloads import Workload

# Each has a bench program. A round runs them in this order.
RUNTIMES = ["thrum", "go", "tokio", "asio", "tbb", "boost", "bare"]
PEERS = [*RUNTIMES[1:], "nginx", "redis", "threads"]
GO_SOURCE = Path(__file__).resolve().parent.parent / "go"
TOKIO_SOURCE = GO_SOURCE.parent / "tokio"
CRATES = Path("/usr/share/cargo/registry")  # where Debian's packages put them; tokio/.cargo says the same
BUILD_IN_ROOT = Path("/var/tmp/thrum-bench-tokio")  # in the Debian that $TOKIO names
BUILD_TIMEOUT_S = 300  # the first build compiles Go's standard library, or tokio
QUESTION_TIMEOUT_S = 10  # --list and --about do no work


class Missing(Exception):
    """This machine does not have the runtime: said in a line and left out."""


class Failed(Exception):
    """A program that should have worked did not: reported with what it said, never left out in silence."""


@dataclass(frozen=True)
class Program:
    runtime: str
    path: Path
    workloads: frozenset[str]
    about: str


@dataclass(frozen=True)
class Sample:
    value: float
    unit: str


def output_of(command: list[str], timeout_s: float, **options) -> str:
    """What the command printed; Failed, with its stderr, when it fails or does not end in time."""
    shown = " ".join(command)
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout_s, **options)
    except subprocess.TimeoutExpired as expired:
        said = expired.stderr or ""
        if isinstance(said, bytes):  # some versions of Python have bytes here also in text mode
            said = said.decode(errors="replace")
        raise Failed(f"{shown}: did not end within {timeout_s:g} s\n{said.strip()}".rstrip()) from None
    except OSError as error:
        raise Failed(f"{shown}: {error.strerror}") from None
    if done.returncode != 0:
        raise Failed(f"{shown}: {ending(done.returncode)}\n{done.stderr.strip()}".rstrip())
    return done.stdout


def ending(returncode: int) -> str:
    """subprocess gives a signal as a negative number."""
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return f"killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"killed by signal {-returncode}"


def run_once(program: Program, workload: Workload, procs: int, timeout_s: float) -> list[Sample]:
    """One sample per figure of the workload, in their order."""
    command = [str(program.path), workload.asked_as, str(procs)]
    if workload.has_client and procs == 1:
        command = ["taskset", "-c", str((os.cpu_count() or 1) - 1), *command]
    said = output_of(command, timeout_s, env=dict(os.environ, **workload.environment))
    return parse_lines(said, workload, procs)


def parse_lines(output: str, workload: Workload, procs: int) -> list[Sample]:
    """Reads `<figure> <procs> <value> <unit>`, a line per figure; the unit may hold blanks."""
    lines = output.splitlines()
    names = [workload.variant_of] if workload.variant_of else [figure.name for figure in workload.figures]
    try:
        if len(lines) != len(workload.figures):
            raise ValueError
        return [parse_line(line, name, procs) for line, name in zip(lines, names)]
    except (IndexError, ValueError):
        expected = " and ".join(f"`{name} {procs} <value> <unit>`" for name in names)
        raise Failed(f"expected a line {expected}, got {output!r}") from None


def parse_line(line: str, figure: str, procs: int) -> Sample:
    fields = line.split(maxsplit=3)
    value = float(fields[2])
    if fields[:2] != [figure, str(procs)] or not math.isfinite(value):
        raise ValueError
    return Sample(value, fields[3])


def find(runtime: str, binaries: Path, out: Path) -> Program:
    """The runtime's program, ready to run; Missing or Failed when there is none."""
    build = {"go": build_go, "tokio": build_tokio}.get(runtime)
    path = build(out) if build else newest_below(binaries, f"bench_{runtime}")
    return Program(
        runtime,
        path,
        workloads=frozenset(output_of([str(path), "--list"], QUESTION_TIMEOUT_S).split()),
        about=output_of([str(path), "--about"], QUESTION_TIMEOUT_S).strip(),
    )


def newest_below(folder: Path, name: str) -> Path:
    found = [path for path in folder.rglob(name) if path.is_file() and os.access(path, os.X_OK)]
    if not found:
        raise Missing(f"no {name} below {folder}: build the release preset, or say --bin DIR")
    return max(found, key=lambda path: path.stat().st_mtime)


def name_echo_client(binaries: Path) -> None:
    """The programs start it themselves. Without it `echo` fails, and says why."""
    try:
        os.environ.setdefault("BENCH_ECHO_CLIENT", str(newest_below(binaries, "bench_echo_client").resolve()))
    except Missing:
        pass


def build_go(out: Path) -> Path:
    wanted = os.environ.get("GO")
    compiler = shutil.which(wanted or "go")
    if compiler is None:
        if wanted:
            raise Failed(f"GO={wanted}: no such program")
        raise Missing("no `go` on PATH: install Go, or set GO=/path/to/go")
    program = out.resolve() / "bench_go"
    environment = dict(os.environ, GOTOOLCHAIN="local")  # measure the Go that was named, download no other
    # -buildvcs=false: the build must not depend on the state of the checkout.
    command = [compiler, "build", "-buildvcs=false", "-o", str(program), "."]
    output_of(command, BUILD_TIMEOUT_S, cwd=GO_SOURCE, env=environment)
    return program


def build_tokio(out: Path) -> Path:
    """In a copy of its source: cargo writes beside it. Debian's crates alone are used, nothing is fetched."""
    root = Path(os.environ.get("TOKIO") or "/")  # of another Debian, which may have a newer tokio and Rust
    is_other = root != Path("/")
    if not is_other and shutil.which("cargo") is None:
        raise Missing("no `cargo` on PATH (Debian: cargo)")
    version = newest_tokio(root)
    named = BUILD_IN_ROOT if is_other else out.resolve() / "tokio"  # as cargo sees it
    copy = inside(root, named) if is_other else named
    shutil.copytree(TOKIO_SOURCE, copy, dirs_exist_ok=True)
    enter = ["chroot", str(root)] if is_other else []
    rust = output_of([*enter, "rustc", "--version"], QUESTION_TIMEOUT_S).split()
    about = f"tokio {version}, {' '.join(rust[:2])}"
    environment = dict(os.environ, BENCH_ABOUT=about, CARGO_TARGET_DIR=str(named / "target"))
    if is_other:
        environment["RUSTFLAGS"] = "-C target-feature=+crt-static"  # it runs here, where the C library is older
    build = [*enter, "env", f"--chdir={named}", "cargo", "build", "--release", "--offline", "--quiet"]
    output_of(build, BUILD_TIMEOUT_S, env=environment)
    return copy / "target/release/bench_tokio"


def newest_tokio(root: Path) -> str:
    crates = inside(root, CRATES)
    versions = [crate.name.removeprefix("tokio-") for crate in crates.glob("tokio-[0-9]*")]
    if versions:
        return max(versions, key=lambda version: [int(part) for part in re.findall(r"\d+", version)])
    if root != Path("/"):
        raise Failed(f"TOKIO={root}: no tokio below {crates} (in that Debian: librust-tokio-dev, cargo)")
    raise Missing(f"no tokio below {crates} (Debian: librust-tokio-dev)")


def inside(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")
