"""The workload `pq`: PostgreSQL asked over 500 connections, through libpq on thrum::posix and on threads, and by Go on
the wire.

Here the runtimes are the clients, and take the figures themselves. The server is the same for all of them, started anew
for every run and held to the first CPU.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harness import programs
from harness.programs import Failed, Missing, Program, Sample
from harness.workloads import PQ, Workload

KIND = "client"
SERVER_RUNTIMES = ["thrum", "go", "threads"]  # the order in which a round runs them
CONNECTIONS_MAX = 520  # the clients' 500, and some that the server keeps for its owner
INSTALLED = Path("/usr/lib/postgresql")  # where Debian's packages put the versions
START_TIMEOUT_S = 60
END_TIMEOUT_S = 10


def find(runtime: str, binaries: Path, out: Path) -> Program:
    """The runtime's client, as a program whose only workload is this one. Missing: it, or the server, is not there."""
    folder = server_programs()
    where, name = (out, "bench_go") if runtime == "go" else (binaries, f"bench_pq_{runtime}")
    path = programs.newest_below(where, name)
    about = programs.output_of([str(path), "--about"], programs.QUESTION_TIMEOUT_S).strip()
    return Program(runtime, path, frozenset([PQ.name]), f"{about}, PostgreSQL {folder.parent.name}")


def server_programs() -> Path:
    found = sorted(INSTALLED.glob("*/bin/initdb"), key=lambda path: float(path.parent.parent.name))
    if not found:
        raise Missing(f"no initdb below {INSTALLED} (Debian: postgresql)")
    if shutil.which("taskset") is None:
        raise Missing("no `taskset` on PATH (Debian: util-linux)")
    return found[-1].parent


def run_once(program: Program, workload: Workload, procs: int, timeout_s: float) -> list[Sample]:
    """One sample per figure: queries/s, the client's CPU time per query, its memory per connection."""
    with served() as folder:
        # libpq and Go's client name the same socket in their own ways.
        os.environ["BENCH_PQ_WHERE"] = f"host={folder} user=thrum dbname=postgres"
        os.environ["BENCH_PQ_SOCKET"] = f"{folder}/.s.PGSQL.5432"
        return programs.run_once(program, workload, procs, timeout_s)


def owner() -> dict[str, str]:
    """PostgreSQL does not run as root: there it is the user's whom its package has made."""
    return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}


def command_of(data: Path, folder: Path) -> list[str]:
    settings = {"listen_addresses": "", "max_connections": CONNECTIONS_MAX, "shared_buffers": "32MB", "fsync": "off"}
    server = ["taskset", "-c", "0", str(server_programs() / "postgres")]
    command = [*server, "-D", str(data), "-k", str(folder), "-p", "5432"]
    return command + [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


@contextlib.contextmanager
def served() -> Iterator[Path]:
    """The folder of the socket of a server that lives as long as the `with`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if owner():
            shutil.chown(folder, **owner())
        data = folder / "data"
        setup = [str(server_programs() / "initdb"), "-D", str(data), "-A", "trust", "-U", "thrum", "--no-sync"]
        programs.output_of(setup, START_TIMEOUT_S, cwd=folder, **owner())
        said = folder / "log"
        with open(said, "w") as log:
            server = subprocess.Popen(command_of(data, folder), cwd=folder, stdout=log, stderr=log, **owner())
        try:
            if not comes_up(server, folder):
                raise Failed(f"{' '.join(server.args)}: did not start\n{said.read_text()}".rstrip())
            yield folder
        finally:
            server.send_signal(signal.SIGQUIT)  # at once, and all its processes
            try:
                server.wait(END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def comes_up(server: subprocess.Popen, folder: Path) -> bool:
    """Waits until it answers; False when it has ended or takes too long."""
    question = [str(server_programs() / "pg_isready"), "-q", "-h", str(folder), "-p", "5432"]
    until = time.monotonic() + START_TIMEOUT_S
    while server.poll() is None and time.monotonic() < until:
        if subprocess.run(question).returncode == 0:
            return True
        time.sleep(0.05)
    return False
