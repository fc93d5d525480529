"""The workload `http`: whole servers under the load of wrk, thrum's examples/http beside Go's net/http and nginx.

The servers only serve; the load, the latencies and the server's CPU time are taken here, the same way for all of them.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import programs
from harness.programs import Failed, Missing, Program, Sample
from harness.servers import START_TIMEOUT_S, comes_up, cpu_seconds, free_port
from harness.workloads import Workload

CONNECTIONS = 64
WARM_UP_S = 1  # wrk counts in whole seconds
LOAD_S = 3
PATH = "/plaintext"
KIND = "server"
SERVER_RUNTIMES = ["thrum", "go", "nginx"]  # the order in which a round runs them

NGINX_CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr warn;
worker_processes {procs};
events {{ worker_connections 4096; }}
http {{
  access_log off;
  default_type text/plain;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location {path} {{ return 200 "Hello, World!"; }}
  }}
}}
"""


@dataclass(frozen=True)
class Load:
    """What wrk says of one run."""

    requests: int
    requests_per_s: float
    p50_us: float
    p99_us: float


def find(runtime: str, binaries: Path, out: Path) -> Program:
    """The runtime's server, as a program whose only workload is this one. Missing: it, or the load, is not there."""
    if shutil.which("wrk") is None:
        raise Missing("no `wrk` on PATH (Debian: wrk)")
    if runtime == "thrum":
        path = programs.newest_below(binaries, "example_http")
    elif runtime == "go":
        path = programs.newest_below(out, "bench_go")
    else:
        found = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if found is None:
            raise Missing("no `nginx` on PATH (Debian: nginx)")
        path = Path(found)
    return Program(runtime, path, frozenset(["http"]), version_of_nginx(path) if runtime == "nginx" else "")


def version_of_nginx(path: Path) -> str:
    said = subprocess.run([path, "-v"], capture_output=True, text=True, timeout=programs.QUESTION_TIMEOUT_S).stderr
    return said.strip().removeprefix("nginx version: ")


def run_once(program: Program, workload: Workload, procs: int, timeout_s: float) -> list[Sample]:
    """One sample per figure: requests/s, the median latency, the 99th percentile, the server's CPU time per request."""
    with serving(program, procs) as (server, port):
        run_wrk(port, WARM_UP_S, timeout_s)
        before = cpu_seconds(server)
        load = run_wrk(port, LOAD_S, timeout_s)
        used = cpu_seconds(server) - before
    samples = [
        Sample(load.requests_per_s / 1e3, "k requests/s"),
        Sample(load.p50_us, "us"),
        Sample(load.p99_us, "us"),
        Sample(used * 1e6 / load.requests, "us CPU/request"),
    ]
    if len(samples) != len(workload.figures):
        raise Failed(f"{workload.name} has {len(workload.figures)} figures, {len(samples)} were taken")
    return samples


@contextlib.contextmanager
def serving(program: Program, procs: int) -> Iterator[tuple[int, int]]:
    """The server's process id and its port, until the end of the block; with one P it has the last CPU to itself."""
    with tempfile.TemporaryDirectory() as folder:
        port = None
        command = [str(program.path)]
        if program.runtime == "thrum":
            command += ["--port", "0", "--procs", str(procs)]
        elif program.runtime == "go":
            command += ["--serve-http", str(procs)]
        else:
            port = free_port()
            command += ["-p", folder, "-c", str(write_configuration(Path(folder), procs, port))]
        if procs == 1:
            command = ["taskset", "-c", str((os.cpu_count() or 1) - 1), *command]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            try:
                yield server.pid, port_of(server) if port is None else when_connectable(server, port)
            finally:
                server.terminate()  # nginx ends its workers
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.wait(START_TIMEOUT_S)
                server.kill()


def write_configuration(folder: Path, procs: int, port: int) -> Path:
    path = folder / "nginx.conf"
    path.write_text(NGINX_CONFIGURATION.format(folder=folder, procs=procs, port=port, path=PATH))
    return path


def port_of(server: subprocess.Popen) -> int:
    """Of a server that prints `serving on ADDRESS:PORT` when it listens."""
    line = server.stdout.readline()
    if not line.startswith("serving on "):
        raise Failed(f"{' '.join(server.args)}: did not start\n{line}{server.stderr.read()}".rstrip())
    return int(line.rsplit(":", 1)[1])


def when_connectable(server: subprocess.Popen, port: int) -> int:
    if comes_up(server, port):
        return port
    server.kill()
    raise Failed(f"{' '.join(server.args)}: did not start\n{server.stderr.read()}".rstrip())


def run_wrk(port: int, seconds: int, timeout_s: float) -> Load:
    command = ["taskset", "-c", "0", "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency"]
    return parse_wrk(programs.output_of([*command, f"http://127.0.0.1:{port}{PATH}"], timeout_s))


def parse_wrk(output: str) -> Load:
    """A run with an error is none: a server that drops requests could be fast."""
    if "Socket errors" in output or "Non-2xx" in output:
        raise Failed(f"wrk saw errors\n{output}")
    try:
        return Load(
            requests=int(found(r"(\d+) requests in", output)),
            requests_per_s=float(found(r"Requests/sec:\s*([\d.]+)", output)),
            p50_us=microseconds(found(r"^\s*50%\s+(\S+)", output)),
            p99_us=microseconds(found(r"^\s*99%\s+(\S+)", output)),
        )
    except ValueError as error:
        raise Failed(f"wrk: {error}\n{output}") from None


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise ValueError(f"no {pattern!r}")
    return match[1]


def microseconds(text: str) -> float:
    """As wrk writes times: 87.00us, 1.24ms, 2.00s."""
    value, unit = float(text.rstrip("usm")), text.lstrip("0123456789.")
    return value * {"us": 1, "ms": 1e3, "s": 1e6}[unit]
