"""Stands for two things that the tutorials need and you may not have at hand: a model provider, and the back office of a
shop. It answers on one port, and needs nothing but Python.

    python3 docs/tutorial/shop.py            # http://127.0.0.1:9100

POST /v1/chat/completions is a "model" that asks for a refund when it reads "refund AMOUNT for order ORDER", and reports
what came of it. POST /refund pays, once for each session and idempotency key.
"""

import http.server
import json
import re
import sys

WISH = re.compile(r"refund (\S+) for order (\w+)", re.IGNORECASE)


def complete(messages):
    """What the model says next."""
    last = messages[-1]
    if last["role"] == "tool":
        return {"role": "assistant", "content": f"This is what came of it: {last['content']}"}
    wish = WISH.search(last["content"])
    if wish is None:
        return {"role": "assistant", "content": "I can pay money back: say 'refund AMOUNT for order ORDER'."}
    arguments = {"amount": wish[1], "order": wish[2]}
    call = {"id": f"refund-{wish[2]}", "type": "function",
            "function": {"name": "refund", "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "reasoning_content": "The customer wants money back.", "tool_calls": [call]}


class Shop(http.server.BaseHTTPRequestHandler):
    paid = {}

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/v1/chat/completions":
            self.answer({"choices": [{"index": 0, "message": complete(request["messages"]), "finish_reason": "stop"}]})
        else:
            self.answer(self.refund(request))

    def refund(self, call):
        """Pays, unless this very call was made before: then it answers as it did."""
        key = (call["session"], call["idempotency_key"])
        if key not in self.paid:
            arguments = call["args"]
            self.paid[key] = f"refunded {arguments['amount']} for order {arguments['order']}"
            print(self.paid[key], flush=True)
        return {"content": self.paid[key]}

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9100
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Shop)
    print(f"shop on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
