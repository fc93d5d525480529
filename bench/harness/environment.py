"""Variables that the programs read which the bench starts."""

import contextlib
import os


@contextlib.contextmanager
def variable(name: str, value: str | None):
    """The programs that are started meanwhile see this value, or no such variable if it is None."""
    before = os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before
