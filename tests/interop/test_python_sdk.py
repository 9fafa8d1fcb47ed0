"""The Python SDK on a real node: every effect, a park, kills in between, and what is recorded of it all."""

import pathlib
import sys

import grpc
import pytest
from chain import check_chain
from conftest import running_node
from python_harness import running
from tutorial import node_flags, running_shop

PROGRAM = pathlib.Path(__file__).with_name("every_effect.py")
BEFORE_THE_GATE = ["EXECUTION_START", "INPUT", "MODEL_CALL", "OUTPUT", "MODEL_CALL", "OUTPUT", "TOOL_CALL", "TOOL_RESULT"]
PARKED = [*BEFORE_THE_GATE, "TOOL_CALL", "APPROVAL_REQUEST", "LIFECYCLE"]
RESUMED = ["APPROVAL_RESULT", "TOOL_RESULT", "USAGE", "TOOL_RESULT", "OUTPUT", "END", "LIFECYCLE"]
BOUND = 60


def kinds(stubs, log):
    return [stubs.common.EventKind.Name(record.event.kind).removeprefix("EVENT_") for record in log]


def replay(stubs, api, session):
    log = list(api.Replay(stubs.session.ReplayRequest(session=session), timeout=BOUND))
    check_chain(log)
    return log


def ask(stubs, api):
    """The request of a turn whose first answer has a reasoning part and a tool call."""
    pb = stubs.common
    wish = pb.Message(role="user", parts=[pb.Part(text=pb.TextPart(text="refund 5 for order X1"))])
    return api.Exec(stubs.session.ExecRequest(harness="refunds", inputs=[wish]), timeout=BOUND)


def decide(stubs, api, session, approved):
    pending = session.pending_approval
    api.Approve(stubs.session.ApproveRequest(
        session=session.metadata.uid, execution_id=pending.execution_id, tool_call_id=pending.tool_call_id,
        request_seq=pending.request_seq, approved=approved, reason="because"), timeout=BOUND)
    api.Resume(stubs.session.ResumeRequest(session=session.metadata.uid), timeout=BOUND)


@pytest.mark.parametrize("approved", [True, False])
def test_every_effect_is_recorded_once_and_served_again_after_everything_was_killed(stubs, tmp_path, approved):
    socket, seen = f"unix://{tmp_path}/harness.sock", tmp_path / "seen"
    harness = (sys.executable, PROGRAM, socket, seen)
    with running_shop() as (shop, payments):
        flags = node_flags(tmp_path, shop, socket)
        with running(*harness), running_node(tmp_path, *flags) as node:
            *_, last = ask(stubs, stubs.session_grpc.SessionsStub(node.channel))
            node.kill()
        with running(*harness), running_node(tmp_path, *flags) as node:
            api = stubs.session_grpc.SessionsStub(node.channel)
            uid = last.session.metadata.uid
            assert kinds(stubs, replay(stubs, api, uid)) == PARKED
            decide(stubs, api, last.session, approved)
            log = replay(stubs, api, uid)
        paid = ["refunded 5 for order t1"] + (["refunded 5 for order g1"] if approved else [])
        assert payments() == paid

    assert kinds(stubs, log) == PARKED + RESUMED
    answer = log[3].event.message
    assert [part.WhichOneof("part") for part in answer.parts] == ["reasoning", "tool_call"]
    assert answer.parts[0].reasoning.opaque_bytes == b"The customer wants money back."
    first, second = seen.read_text().splitlines()
    assert first == second == answer.SerializeToString(deterministic=True).hex()

    receipt, usage, report, said = (record.event for record in log[12:16])
    assert (receipt.result.approval_request_seq, receipt.result.approval_decision_seq) == (10, 12)
    assert usage.usage == stubs.common.Usage(model="own", input_tokens=3, output_tokens=4, reasoning_tokens=5)
    assert (report.result.id, report.result.error) == ("r1", "it was closed")
    gated = "refunded 5 for order g1" if approved else "Tool execution denied by approval decision."
    assert said.message.parts[0].text.text == f"refunded 5 for order t1 / {gated} / {approved} / because"


def test_harness_that_is_killed_in_a_turn_interrupts_it_and_another_one_resumes_it(stubs, tmp_path):
    socket, seen = f"unix://{tmp_path}/harness.sock", tmp_path / "seen"
    with running_shop() as (shop, _):
        flags = node_flags(tmp_path, shop, socket)
        with running_node(tmp_path, *flags) as node:
            api = stubs.session_grpc.SessionsStub(node.channel)
            with running(sys.executable, PROGRAM, socket, seen) as (process, _):
                updates = ask(stubs, api)
                uid = next(updates).session.metadata.uid
                for update in updates:
                    if update.record.event.kind == stubs.common.EVENT_MODEL_CALL:
                        process.kill()
                        break
                with pytest.raises(grpc.RpcError) as failure:
                    list(updates)
            assert failure.value.code() == grpc.StatusCode.INTERNAL
            with running(sys.executable, PROGRAM, socket, seen):
                api.Resume(stubs.session.ResumeRequest(session=uid), timeout=BOUND)
            log = kinds(stubs, replay(stubs, api, uid))
        assert [kind for kind in log if kind != "ERROR"] == PARKED
