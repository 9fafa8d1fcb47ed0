"""A harness served over Harness.Connect: asks the model once, reports a tool and usage, says something of its own."""

import concurrent.futures
import contextlib

import grpc


class ScriptedHarness:
    """Records what the host sent, so that tests can assert it."""

    def __init__(self, stubs):
        self.pb = stubs
        self.starts = []
        self.model_results = []
        self.request_ids = []

    def Describe(self, request, context):
        pb = self.pb
        return pb.harness.HarnessDescriptor(
            id="scripted", version="7", capabilities=pb.harness.Capabilities(
                resumability=pb.harness.RESUMABILITY_STATELESS_REPLAY))

    def Connect(self, frames, context):
        pb = self.pb.common
        self.request_ids.append(dict(context.invocation_metadata()).get("x-request-id"))
        first = next(frames)
        self.starts.append(first)
        execution = first.execution_id

        def event(kind, **body):
            return pb.Event(execution_id=execution, kind=kind, **body)

        question = pb.Message(role="user", parts=[pb.Part(text=pb.TextPart(text="ünïcode \U0001f600 \uffff"))])
        yield event(pb.EVENT_MODEL_CALL, model=pb.ModelCall(model="echo", id="call-1", messages=[question]))
        answer = next(frames)
        self.model_results.append(answer.model)
        report = pb.ToolResult(id="t-1")
        report.output.update({"\U00010000": 1, "\uffff": 2, "tiny": 1e-7, "big": 1e21, "zero": -0.0, "nested": {"a": [1.5, None, True]}})
        yield event(pb.EVENT_TOOL_RESULT, result=report)
        yield event(pb.EVENT_USAGE, usage=pb.Usage(model="echo", input_tokens=3, output_tokens=2**53 + 1))
        yield event(pb.EVENT_OUTPUT, message=pb.Message(role="assistant", parts=[
            pb.Part(text=pb.TextPart(text="done ")), pb.Part(text=pb.TextPart(text="here"))]))
        yield event(pb.EVENT_END, end=pb.HarnessEnd(state="COMPLETED"))


@contextlib.contextmanager
def serve(stubs, harness):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    stubs.harness_grpc.add_HarnessServicer_to_server(harness, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(1).wait(5)
