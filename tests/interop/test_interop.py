"""What an independent client, harness and verifier see of a node."""

import json
import subprocess

import grpc
import pytest

from chain import check_chain
from conftest import CTL, running_node
from harness_server import ScriptedHarness, serve
from model_server import serve_model


def text_message(stubs, text, role="user"):
    pb = stubs.common
    return pb.Message(role=role, parts=[pb.Part(text=pb.TextPart(text=text))])


def kinds(stubs, records):
    return [stubs.common.EventKind.Name(record.event.kind) for record in records]


def run_turn(stubs, api, session, text, **fields):
    request = stubs.session.ExecRequest(session=session, inputs=[text_message(stubs, text)], **fields)
    return list(api.Exec(request, timeout=30))


def test_create_exec_replay_fork_and_list_with_every_hash_recomputed(stubs, node):
    api = stubs.session_grpc.SessionsStub(node.channel)
    created = api.CreateSession(stubs.session.CreateSessionRequest(session=stubs.session.Session(
        metadata={"name": "interop"}, labels={"k": "v"})), timeout=10)
    uid = created.metadata.uid
    assert created.harness == "echo" and created.last_seq == 0
    assert created.exec_state == stubs.session.EXEC_PENDING

    updates = run_turn(stubs, api, uid, "grüße \U0001f600")
    assert updates[0].WhichOneof("update") == "session" and updates[0].session.last_seq == 0
    streamed = [update.record for update in updates if update.WhichOneof("update") == "record"]
    assert kinds(stubs, streamed) == [
        "EVENT_EXECUTION_START", "EVENT_INPUT", "EVENT_MODEL_CALL", "EVENT_OUTPUT", "EVENT_END"]
    run_turn(stubs, api, uid, "two")

    replayed = list(api.Replay(stubs.session.ReplayRequest(session=uid), timeout=10))
    assert replayed[:5] == streamed
    check_chain(replayed)

    fork = api.Fork(stubs.session.ForkRequest(session=uid, at_seq=5, count=2, child_names=["a", "b"]), timeout=10)
    for child in fork.children:
        own = list(api.Replay(stubs.session.ReplayRequest(session=child.metadata.uid), timeout=10))
        check_chain(own)
        assert [r.content_hash for r in own[:5]] == [r.content_hash for r in replayed[:5]]
        assert own[5].event.lifecycle.detail == "parent@5" and len(own) == 6
        assert {r.fence for r in own} == {1}
        run_turn(stubs, api, child.metadata.uid, "alone")
        check_chain(list(api.Replay(stubs.session.ReplayRequest(session=child.metadata.uid), timeout=10)))

    listed, token = [], ""
    while True:
        page = api.ListSessions(stubs.session.ListSessionsRequest(page_size=2, page_token=token), timeout=10)
        listed += [session.metadata.uid for session in page.sessions]
        token = page.next_page_token
        if not token:
            break
    assert sorted(listed) == sorted([uid] + [child.metadata.uid for child in fork.children])


def test_harness_of_another_language_runs_a_turn_with_a_streamed_model(stubs, tmp_path):
    harness = ScriptedHarness(stubs)
    with serve(stubs, harness) as address, serve_model() as (base_url, calls), running_node(
            tmp_path, "--model", "m-1", "--model-base-url", base_url, "--harness", f"scripted={address}") as node:
        api = stubs.session_grpc.SessionsStub(node.channel)
        request = stubs.session.ExecRequest(harness="scripted", inputs=[text_message(stubs, "go")], config=b"\x00\xff")
        updates = list(api.Exec(request, timeout=30, metadata=[("x-request-id", "interop-1")]))
        uid = updates[0].session.metadata.uid
        records = [update.record for update in updates if update.WhichOneof("update") == "record"]
        deltas = [update.delta for update in updates if update.WhichOneof("update") == "delta"]

        assert kinds(stubs, records) == [
            "EVENT_EXECUTION_START", "EVENT_INPUT", "EVENT_MODEL_CALL", "EVENT_OUTPUT", "EVENT_TOOL_RESULT",
            "EVENT_USAGE", "EVENT_OUTPUT", "EVENT_END"]
        check_chain(records)
        assert records == list(api.Replay(stubs.session.ReplayRequest(session=uid), timeout=10))
        assert records[0].event.execution_start.harness_version == "7"
        answer = records[3].event.message.parts[0].text.text
        assert answer == "answer to ünïcode \U0001f600 \uffff"
        assert "".join(delta.chunk for delta in deltas) == answer and deltas[-1].done
        assert records[6].event.message.parts[0].text.text == "done here"
        assert len(calls) == 1 and calls[0]["model"] == "m-1" and calls[0]["stream"] is True

        assert harness.starts[0].session == uid and harness.starts[0].start.config == b"\x00\xff"
        assert harness.model_results[0].model_call_id == "call-1"
        assert harness.request_ids == ["interop-1"]

        run_turn(stubs, api, uid, "again")
        assert list(harness.starts[1].start.history) == [record.event for record in records]


def test_turn_of_an_unreachable_model_fails_and_is_recorded(stubs, tmp_path):
    with running_node(tmp_path, "--model", "m", "--model-base-url", "http://127.0.0.1:9") as node:
        api = stubs.session_grpc.SessionsStub(node.channel)
        with pytest.raises(grpc.RpcError) as failure:
            run_turn(stubs, api, "", "hello", harness="chat")
        assert failure.value.code() == grpc.StatusCode.INTERNAL
        session = api.ListSessions(stubs.session.ListSessionsRequest(), timeout=10).sessions[0]
        records = list(api.Replay(stubs.session.ReplayRequest(session=session.metadata.uid), timeout=10))
        check_chain(records)
        assert kinds(stubs, records)[-2:] == ["EVENT_MODEL_CALL", "EVENT_ERROR"]


def export(directory, address, uid):
    file = directory / "export.jsonl"
    subprocess.run([CTL, "export", "--server", address, "--session", uid, "--file", str(file)], check=True, timeout=30)
    return file


def verify(file):
    return subprocess.run([CTL, "verify", "--file", str(file)], capture_output=True, text=True, timeout=30)


def test_one_changed_byte_in_an_export_is_found_at_its_record(stubs, node, tmp_path):
    api = stubs.session_grpc.SessionsStub(node.channel)
    uid = run_turn(stubs, api, "", "to be tampered with")[0].session.metadata.uid
    file = export(tmp_path, node.address, uid)
    assert verify(file).returncode == 0

    lines = file.read_text().splitlines()
    position = next(i for i, line in enumerate(lines) if json.loads(line)["event"]["kind"] == "EVENT_OUTPUT")
    lines[position] = lines[position].replace("tampered", "tempered")
    file.write_text("\n".join(lines) + "\n")
    finding = verify(file)
    assert finding.returncode == 1
    assert f"seq={position + 1}" in finding.stdout + finding.stderr
