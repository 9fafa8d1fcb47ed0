"""Writes the protobuf modules under src/ from proto/. A test fails while they differ: `python generate.py` brings them up to date."""

import importlib
import pathlib
import sys

from grpc_tools import protoc

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parents[2] / "proto"
FILES = ("agentsessions/v1/common.proto", "agentsessions/v1/invocation.proto", "agentsessions/v1/harness.proto")


def generate(out: pathlib.Path) -> None:
    """Generates messages and their types into `out`. The one service is small enough to be written by hand."""
    google = pathlib.Path(str(importlib.import_module("grpc_tools").__file__)).parent / "_proto"
    arguments = [f"-I{PROTO}", f"-I{google}", f"--python_out={out}", f"--pyi_out={out}", *FILES]
    if protoc.main(["protoc", *arguments]) != 0:
        sys.exit("protoc failed")


if __name__ == "__main__":
    generate(HERE / "src")
