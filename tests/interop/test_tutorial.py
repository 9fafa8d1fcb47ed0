"""docs/harness-rust.md and docs/harness-python.md, followed to the end: the same agent in two languages leaves the same
records."""

import json
import subprocess
import sys

import pytest
from chain import check_chain
from conftest import CTL, running_node
from python_harness import EXAMPLES, running
from tutorial import TUTORIAL, node_flags, running_shop

AGENTS = {"python": (sys.executable, EXAMPLES / "refunds.py"), "rust": (CTL.parent / "examples/refunds",)}
PARKED = ["EXECUTION_START", "INPUT", "MODEL_CALL", "OUTPUT", "TOOL_CALL", "APPROVAL_REQUEST", "LIFECYCLE"]
RESUMED = ["APPROVAL_RESULT", "TOOL_RESULT", "MODEL_CALL", "OUTPUT", "END", "LIFECYCLE"]


@pytest.fixture(params=AGENTS)
def agent(request):
    """The address of the agent."""
    with running(*AGENTS[request.param], "127.0.0.1:0") as (_, address):
        yield address


def ctl(*arguments):
    """The lines that a command of agentctl prints as JSON."""
    command = [str(CTL), *arguments, "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def records(stubs, node, session):
    api = stubs.session_grpc.SessionsStub(node.channel)
    log = list(api.Replay(stubs.session.ReplayRequest(session=session), timeout=10))
    check_chain(log)
    return log


def kinds(stubs, log):
    return [stubs.common.EventKind.Name(record.event.kind).removeprefix("EVENT_") for record in log]


def ask(node, text, *flags):
    """Runs a turn that parks, and returns the uid of its session."""
    updates = ctl("exec", "--server", node.address, "--input", text, *flags)
    session = updates[-1]["session"]
    assert "pending_approval" in session
    return session["metadata"]["uid"]


def test_refund_is_paid_once_when_it_is_approved_whatever_is_killed(stubs, agent, tmp_path):
    with running_shop() as (shop, payments):
        flags = node_flags(tmp_path, shop, agent)
        with running_node(tmp_path, *flags) as node:
            session = ask(node, "Please refund 12.50 for order A7.", "--harness", "refunds")
            node.kill()
        with running_node(tmp_path, *flags) as node:
            [pending] = ctl("pending", "--server", node.address)
            assert pending["metadata"]["uid"] == session
            ctl("approve", "--server", node.address, "--reason", "within policy", "--actor", "ada", session)
            log = records(stubs, node, session)
        assert kinds(stubs, log) == PARKED + RESUMED
        assert [part.WhichOneof("part") for part in log[3].event.message.parts] == ["reasoning", "tool_call"]
        assert log[10].event.message.parts[0].text.text.endswith("refunded 12.50 for order A7")
        receipt = log[8].event.result
        assert (receipt.approval_request_seq, receipt.approval_decision_seq) == (6, 8)
        assert log[7].event.actor.principal == "ada"
        assert payments() == ["refunded 12.50 for order A7"]


def test_refund_is_not_paid_when_it_is_denied_and_the_next_turn_knows_of_it(stubs, agent, tmp_path):
    with running_shop() as (shop, payments):
        with running_node(tmp_path, *node_flags(tmp_path, shop, agent)) as node:
            session = ask(node, "Please refund 99 for order B2.", "--harness", "refunds")
            ctl("deny", "--server", node.address, "--reason", "too much", session)
            ctl("exec", "--server", node.address, "--session", session, "--input", "Why?")
            log = records(stubs, node, session)
        assert kinds(stubs, log[:13]) == PARKED + RESUMED
        assert "denied" in log[10].event.message.parts[0].text.text
        assert kinds(stubs, log[13:]) == ["EXECUTION_START", "INPUT", "MODEL_CALL", "OUTPUT", "END"]
        assert payments() == []


def test_agent_conforms_in_everything_that_it_does(agent):
    answers = TUTORIAL / "answers.jsonl"
    subject, *checks, summary = ctl("conformance", "--harness", agent, "--answers", str(answers))
    assert subject["harness"] == "refunds"
    assert summary["failed"] == 0, [check for check in checks if check["verdict"] == "failed"]
    assert {"park", "denial"} <= {check["check"] for check in checks if check["verdict"] == "passed"}
