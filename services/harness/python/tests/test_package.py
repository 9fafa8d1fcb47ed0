"""What is checked in is what would be generated, and what authors see is typed."""

import pathlib
import subprocess
import sys

import generate

HERE = pathlib.Path(__file__).resolve().parents[1]


def test_generated_modules_equal_a_fresh_generation(tmp_path: pathlib.Path) -> None:
    generate.generate(tmp_path)
    fresh = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*_pb2.py*")}
    kept = HERE / "src"
    assert len(fresh) == 6
    assert {path.relative_to(kept) for path in kept.rglob("*_pb2.py*") if path.suffix != ".pyc"} == set(fresh)
    for path, source in fresh.items():
        assert (kept / path).read_text() == source, f"{path} is out of date: run generate.py"


def test_package_and_examples_type_check() -> None:
    for target in (["-p", "agentsessions_harness"], ["examples"]):
        checked = subprocess.run([sys.executable, "-m", "mypy", *target], cwd=HERE, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr
