"""The workload `kv`: servers of Redis' protocol, each under the load of redis-benchmark.

The servers are no bench programs: they are started, asked, and ended for every run, so that each begins empty.
"""

import contextlib
import csv
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.programs import Failed, Missing, Program, Sample, newest_below, output_of
from harness.servers import START_TIMEOUT_S, comes_up, cpu_seconds, free_port
from harness.workloads import KV, KV_COMMANDS, KV_PIPELINES, Workload

KIND = "server"
SERVER_RUNTIMES = ["thrum", "redis"]  # the order in which a round runs them
CONNECTIONS = 50
REQUESTS = {1: 100_000, 16: 1_000_000}  # for each command, by the number of requests in one write: about a second
END_TIMEOUT_S = 10


def find(runtime: str, binaries: Path, _out: Path) -> Program:
    """A server that can be started; Missing when it, or what asks it, is not there."""
    for tool in ("redis-benchmark", "redis-cli", "taskset"):
        if shutil.which(tool) is None:
            raise Missing(f"no `{tool}` on PATH (Debian: redis-tools, util-linux)")
    if runtime == "redis":
        found = shutil.which("redis-server")
        if found is None:
            raise Missing("no `redis-server` on PATH (Debian: redis-server)")
        path, about = Path(found), version_in(output_of([found, "--version"], START_TIMEOUT_S))
    else:
        path, about = newest_below(binaries, "example_kv"), ""
    return Program(runtime, path, frozenset([KV.name]), about)


def version_in(said: str) -> str:
    """`Redis server v=7.0.15 sha=...` -> `Redis 7.0.15`"""
    versions = [word.removeprefix("v=") for word in said.split() if word.startswith("v=")]
    return f"Redis {versions[0]}" if versions else "Redis"


def run_once(program: Program, _workload: Workload, procs: int, timeout_s: float) -> list[Sample]:
    """One sample per figure of the workload, in their order."""
    return [sample for pipeline in KV_PIPELINES for sample in run_load(program, procs, pipeline, timeout_s)]


def run_load(program: Program, procs: int, pipeline: int, timeout_s: float) -> list[Sample]:
    requests = REQUESTS[pipeline]
    with served(program, procs) as (server, port):
        under_load(port, pipeline, requests // 10, timeout_s)  # to warm up
        before = cpu_seconds(server)
        samples = under_load(port, pipeline, requests, timeout_s)
        used = cpu_seconds(server) - before
        # What the load leaves behind says whether it was worked off.
        for question in (["GET", "counter:__rand_int__"], ["LLEN", "mylist"]):
            said = output_of(["redis-cli", "-p", str(port), *question], timeout_s).strip()
            if not said.isdecimal() or int(said) < requests:
                raise Failed(f"{' '.join(question)} after {requests} requests: {said}")
    return [*samples, Sample(used * 1e6 / (requests * len(KV_COMMANDS)), "us CPU/request")]


def under_load(port: int, pipeline: int, requests: int, timeout_s: float) -> list[Sample]:
    load = ["redis-benchmark", "-p", str(port), "-c", str(CONNECTIONS), "-P", str(pipeline)]
    load += ["-n", str(requests), "-t", ",".join(KV_COMMANDS), "--csv"]
    return parse_csv(output_of(["taskset", "-c", "0", *load], timeout_s))


def parse_csv(output: str) -> list[Sample]:
    """The rate, the median and the 99th percentile of every command; redis-benchmark's times are in milliseconds."""
    try:
        rows = {row["test"].lower(): row for row in csv.DictReader(output.splitlines())}
        if set(rows) != set(KV_COMMANDS):
            raise ValueError
        samples = []
        for command in KV_COMMANDS:
            row = rows[command]
            samples.append(Sample(float(row["rps"]) / 1e3, "k requests/s"))
            samples += [Sample(float(row[column]) * 1e3, "us") for column in ("p50_latency_ms", "p99_latency_ms")]
        return samples
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Failed(f"expected redis-benchmark's table of {', '.join(KV_COMMANDS)}, got {output!r}") from None


def command_of(program: Program, procs: int, port: int) -> list[str]:
    command = [str(program.path), "--port", str(port)]
    if program.runtime == "redis":
        # Redis uses one thread by default, whatever `procs` says.
        command += ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    else:
        command += ["--procs", str(procs)]
    return ["taskset", "-c", str((os.cpu_count() or 1) - 1), *command] if procs == 1 else command


@contextlib.contextmanager
def served(program: Program, procs: int) -> Iterator[tuple[int, int]]:
    """The process id and the port of a server that lives as long as the `with`."""
    port = free_port()
    server = subprocess.Popen(command_of(program, procs, port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if not comes_up(server, port):
            raise Failed(f"{' '.join(map(str, server.args))}: no server listens on its port")
        yield server.pid, port
        if server.poll() is not None:
            raise Failed(f"{program.path.name} ended under the load, exit status {server.returncode}")
    finally:
        server.terminate()
        try:
            server.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
