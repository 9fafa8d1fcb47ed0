"""Harnesses and other programs that say in their first line where they are served, as processes."""

import contextlib
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "services/harness/python/examples"


@contextlib.contextmanager
def running(*command):
    """Yields the process and the address that it says it is served on."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline().split()[-1]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def running_harness(program, *arguments, address="127.0.0.1:0"):
    """Yields the address of a harness written with the Python SDK, which must stop when it is asked to."""
    with running(sys.executable, program, address, *arguments) as (process, served):
        yield served
        process.terminate()
        assert process.wait(20) == 0, "the harness did not stop when it was asked to"
