"""A chat-completions server on loopback that streams its answer in awkward pieces and counts the calls."""

import contextlib
import http.server
import json
import threading


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.calls.append(request)
        text = "answer to " + request["messages"][-1]["content"]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        body = b"".join(self._chunk({"content": piece}) for piece in (text[:4], text[4:]))
        body += self._chunk({}, finish_reason="stop") + b"data: [DONE]\n\n"
        for start in range(0, len(body), 7):
            self.wfile.write(body[start:start + 7])
            self.wfile.flush()

    @staticmethod
    def _chunk(delta, finish_reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serve_model():
    """Yields the base URL and the list of requests received so far."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.calls = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.calls
    finally:
        server.shutdown()
        thread.join(5)
