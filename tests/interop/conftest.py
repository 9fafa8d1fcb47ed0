"""Stubs generated from proto/, and a real node to talk to."""

import contextlib
import importlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import types
import uuid

import grpc
import pytest
from grpc_tools import protoc

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODE = pathlib.Path(os.environ.get("NODE_BIN", ROOT / "target/tested/agentsessionsd"))
HARNESSNODE = pathlib.Path(os.environ.get("HARNESSNODE_BIN", ROOT / "target/tested/harnessnode"))
CTL = pathlib.Path(os.environ.get("CTL_BIN", ROOT / "target/tested/agentctl"))
START_BOUND = 20


@pytest.fixture(scope="session")
def stubs(tmp_path_factory):
    """The generated modules: common, session, harness and their services."""
    out = tmp_path_factory.mktemp("stubs")
    files = sorted(str(path) for path in (ROOT / "proto").rglob("*.proto"))
    include = pathlib.Path(importlib.import_module("grpc_tools").__file__).parent / "_proto"
    arguments = ["protoc", f"-I{ROOT / 'proto'}", f"-I{include}", f"--python_out={out}", f"--grpc_python_out={out}"]
    assert protoc.main(arguments + files) == 0
    sys.path.insert(0, str(out))
    names = {"common": "common_pb2", "session": "session_pb2", "harness": "harness_pb2",
             "session_grpc": "session_pb2_grpc", "harness_grpc": "harness_pb2_grpc"}
    modules = {name: importlib.import_module(f"agentsessions.v1.{module}") for name, module in names.items()}
    return types.SimpleNamespace(**modules)


class Node:
    """A running agentsessionsd and a channel to it."""

    def __init__(self, process, addresses):
        self.process = process
        self.address = address = addresses[0]
        named = (line.removeprefix("streams ") for line in addresses if line.startswith("streams "))
        self.streams = next(named, None)
        self.channel = grpc.insecure_channel(address)

    def kill(self):
        self.channel.close()
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.channel.close()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0


@contextlib.contextmanager
def running_node(directory, *flags):
    ready = directory / f"ready-{uuid.uuid4()}"
    command = [str(NODE), "--addr", "127.0.0.1:0", "--journal", str(directory / "journal.db"),
               "--ready-file", str(ready), *flags]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_BOUND
        while not ready.exists():
            assert process.poll() is None, "the node ended before it was ready"
            assert time.monotonic() < deadline, "the node did not become ready"
            time.sleep(0.02)
        node = Node(process, ready.read_text().splitlines())
        yield node
        if process.poll() is None:
            node.stop()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@contextlib.contextmanager
def running_agents():
    """The address of the example agents, in a process of their own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % probe.getsockname()[1]
    command = [str(HARNESSNODE), "--addr", address, "--readyz", "127.0.0.1:0", "--kind", "agents"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        grpc.channel_ready_future(grpc.insecure_channel(address)).result(START_BOUND)
        yield address
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def node(tmp_path):
    with running_node(tmp_path) as running:
        yield running
