"""`agentctl conformance` on harnesses in Python."""

import json
import subprocess

from conftest import CTL
from harness_server import ScriptedHarness, serve
from python_harness import EXAMPLES, running_harness


def conformance(address, *flags):
    command = [str(CTL), "conformance", "--harness", address, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def lines(report):
    return [json.loads(line) for line in report.stdout.splitlines()]


def test_example_of_the_python_sdk_passes_every_check():
    with running_harness(EXAMPLES / "conformance.py") as address:
        report = conformance(address, "--output", "json")
        assert report.returncode == 0, report.stdout + report.stderr
        subject, *checks, summary = lines(report)
        assert subject["harness"] == "conformance"
        assert {check["verdict"] for check in checks} == {"passed"}
        assert summary == {"passed": len(checks), "failed": 0, "skipped": 0}


def test_harness_that_checks_nothing_fails_and_each_finding_is_named(stubs):
    with serve(stubs, ScriptedHarness(stubs)) as address:
        report = conformance(address, "--patience", "2")
        assert report.returncode == 1
        assert "FAILED  model-other-call " in report.stdout
        assert "skipped park " in report.stdout
        assert "does not conform" in report.stderr


def test_nobody_at_the_address_is_a_failure_and_a_bad_address_is_wrong_usage():
    assert conformance("127.0.0.1:9").returncode == 1
    assert conformance("nonsense").returncode == 2
