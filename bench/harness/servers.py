"""What the workloads of whole servers share."""

import contextlib
import socket
import subprocess
import time

START_TIMEOUT_S = 10


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def comes_up(server: subprocess.Popen, port: int) -> bool:
    """Waits until somebody listens on the port; False when the server has ended or takes too long."""
    until = time.monotonic() + START_TIMEOUT_S
    while server.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        time.sleep(0.01)
    return False
