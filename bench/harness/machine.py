"""What a reader must know about the machine before the figures mean anything."""

import os
import platform
import subprocess
import time
from pathlib import Path

from harness.programs import PEERS, Program

WATCH_S = 0.3  # thirty ticks of the kernel's counters

def describe(programs: list[Program]) -> dict[str, object]:
    about = {program.runtime: program.about for program in programs if program.about}
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),  # those this run may use, not those in the box
        "architecture": platform.machine(),
        "kernel": f"{platform.system()} {platform.release()}",
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "busy_cores_at_start": round(busy_cores(WATCH_S), 2),
        # Of thrum's program alone: it is thrum's figures that a compiler changes here.
        "compiler": about["thrum"].removeprefix("thrum, ") if "thrum" in about else None,
        **{peer: about.get(peer) for peer in PEERS},
    }


def cpu_model() -> str:
    # lscpu first: on aarch64 /proc/cpuinfo has only numbers, which lscpu knows by name.
    return model_in(lscpu()) or model_in(Path("/proc/cpuinfo").read_text(errors="replace")) or "unknown"


def busy_cores(watch_s: float) -> float:
    """How many cores others use right now. Not the load average: that still remembers the build before the run."""
    before, start = busy_ticks(), time.monotonic()
    time.sleep(watch_s)
    return (busy_ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - start)


def busy_ticks() -> int:
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return user + nice + system + irq + softirq + steal


def lscpu() -> str:
    try:
        return subprocess.run(
            ["lscpu"], capture_output=True, text=True, timeout=10, env=dict(os.environ, LC_ALL="C")
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def model_in(text: str) -> str | None:
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() == "model name" and value.strip() not in ("", "-"):
            return value.strip()
    return None


def one_line(machine: dict[str, object]) -> str:
    parts = [f"{machine['cpu']}, {machine['cores']} cores", machine["kernel"]]
    parts += [machine[key] for key in ("compiler", *PEERS) if machine[key]]
    return " · ".join(str(part) for part in parts)
