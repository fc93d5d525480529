"""What the workloads of whole servers share."""

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

START_TIMEOUT_S = 10


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def comes_up(server: subprocess.Popen, port: int) -> bool:
    """Waits until a program listens on the port. False: the server has ended or takes too long."""
    until = time.monotonic() + START_TIMEOUT_S
    while server.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        time.sleep(0.01)
    return False


def cpu_seconds(process: int) -> float:
    """Of the process and its children: nginx's workers."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            parent, used = parse_stat(stat.read_text())
            if process in (int(stat.parent.name), parent):
                ticks += used
    return ticks / os.sysconf("SC_CLK_TCK")


def parse_stat(text: str) -> tuple[int, int]:
    """The parent's id and the ticks in user and in kernel mode. The name, in brackets, may hold anything."""
    fields = text.rpartition(")")[2].split()
    return int(fields[1]), int(fields[11]) + int(fields[12])
