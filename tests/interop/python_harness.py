"""Harnesses written with the Python SDK, as processes."""

import contextlib
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "services/harness/python/examples"


@contextlib.contextmanager
def running_harness(program, *arguments):
    """Yields the address that the harness says it is served on."""
    command = [sys.executable, str(program), "127.0.0.1:0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1]
        process.terminate()
        assert process.wait(20) == 0, "the harness did not stop when it was asked to"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
