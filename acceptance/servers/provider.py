"""A model API of our own, with the Chat Completions protocol and with failures.

The first part of the path chooses what happens; base URLs end in `/v1`, such as `/404/v1`.

    /v1                 repeats what the user said
    /script/NAME/v1     the replies of scripts/NAME.json, see below
    /401 /404 /429 /500 /503 and other numbers: this status, with the body that such APIs send
    /html               200 with a page
    /garbage            200 with bytes that are no JSON
    /empty              200 without a body
    /untyped            the right JSON without a content type
    /other              201 with other JSON
    /hang               takes the request and never answers
    /stall              begins an answer and never ends it
    /cut                closes the connection in the middle of an answer

    GET /requests/KEY   the requests with this API key, oldest first: method, path, headers and body

A script is a list of replies. The number of assistant messages in a request chooses the reply, so that a request that is
sent again has the same reply. `{"by": "requests", "replies": [...]}` counts the requests of an API key instead.

    {"say": "text"}                                         a text
    {"call": {"name": "refund", "arguments": {"id": 7}}}    a tool call; `calls` is a list of them
    {"status": 500, "body": {...}, "headers": {...}}        a failure
    "finish": "length", "usage": {...}                      what else a reply can say
"""

import json
import pathlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCRIPTS = pathlib.Path(__file__).parent / "scripts"
MESSAGES = {
    400: "The request is not valid.",
    401: "Incorrect API key provided.",
    403: "The key may not use this model.",
    404: "The model does not exist or you do not have access to it.",
    429: "Rate limit reached for requests.",
    500: "The server had an error while processing your request.",
    503: "The engine is currently overloaded, please try again later.",
}

lock = threading.Lock()
requests = {}


def content_text(message):
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def script_reply(name, key, body):
    script = json.loads((SCRIPTS / f"{name}.json").read_text())
    by_requests = isinstance(script, dict) and script.get("by") == "requests"
    replies = script["replies"] if isinstance(script, dict) else script
    messages = body.get("messages", [])
    count = sum(message["role"] == "assistant" for message in messages)
    if by_requests:
        with lock:
            count = sum(it["mode"] == f"script/{name}" for it in requests[key]) - 1
    if count >= len(replies):
        return {"status": 400, "body": {"error": {"message": f"{name}.json has no reply {count + 1}."}}}
    return replies[count]


def message_of(reply, body):
    calls = reply.get("calls") or ([reply["call"]] if "call" in reply else [])
    tool_calls = []
    asked = len(body.get("messages", []))
    for number, call in enumerate(calls):
        arguments = call.get("arguments", {})
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        function = {"name": call["name"], "arguments": arguments}
        tool_calls.append({"id": call.get("id", f"call_{asked}_{number}"), "type": "function", "function": function})
    message = {"role": "assistant", "content": reply.get("say")}
    if tool_calls:
        message["tool_calls"] = tool_calls
    return message, reply.get("finish", "tool_calls" if tool_calls else "stop")


def usage_of(reply, body, message):
    prompt, completion = len(json.dumps(body)) // 4, len(json.dumps(message)) // 4
    default = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return reply.get("usage", default)


def envelope(body, kind):
    return {"id": "chatcmpl-scripted", "object": kind, "created": 1700000000, "model": body.get("model", "m")}


def completion(reply, body):
    message, finish = message_of(reply, body)
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    usage = usage_of(reply, body, message)
    return {**envelope(body, "chat.completion"), "choices": [choice], "usage": usage}


def chunks(reply, body):
    """The pieces of a streamed reply."""
    message, finish = message_of(reply, body)
    frame = envelope(body, "chat.completion.chunk")

    def piece(delta, finish=None):
        return {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield piece({"role": "assistant", "content": ""})
    text = message["content"] or ""
    for start in range(0, len(text), 12):
        yield piece({"content": text[start : start + 12]})
    for index, call in enumerate(message.get("tool_calls", [])):
        arguments = call["function"]["arguments"]
        half = len(arguments) // 2
        function = {"name": call["function"]["name"], "arguments": arguments[:half]}
        yield piece({"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": function}]})
        yield piece({"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]})
    yield piece({}, finish)
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**frame, "choices": [], "usage": usage_of(reply, body, message)}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def key(self):
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key") or bearer or "none"

    def mode(self):
        """What the path chooses, without the protocol's part of it."""
        parts = self.path.split("?")[0].strip("/").split("/")
        if parts[0] == "script" and len(parts) > 1:
            return f"script/{parts[1]}"
        return "" if parts[0] in ("v1", "chat") else parts[0]

    def send(self, status, content, kind="application/json", **headers):
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        self.send_response(status)
        if kind:
            self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        if self.path.startswith("/requests/"):
            with lock:
                found = list(requests.get(self.path.removeprefix("/requests/"), []))
            return self.send(200, found)
        self.answer(None)

    def do_POST(self):
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        entry = {"method": "POST", "path": self.path, "mode": self.mode(), "body": body}
        entry["headers"] = {name.lower(): value for name, value in self.headers.items()}
        with lock:
            requests.setdefault(self.key(), []).append(entry)
        if not isinstance(body, dict):
            return self.send(400, {"error": {"message": "The body is no JSON object."}})
        self.answer(body)

    def answer(self, body):
        mode = self.mode()
        if mode.isdigit():
            return self.fail(int(mode))
        if mode == "html":
            page = b"<!doctype html><title>Sign in</title><h1>Sign in to the network</h1>"
            return self.send(200, page, "text/html; charset=utf-8")
        if mode == "garbage":
            return self.send(200, b"\x00\x01\xfe not json {]", "application/json")
        if mode == "empty":
            return self.send(200, b"", "application/json")
        if mode == "other":
            return self.send(201, {"status": "created", "id": 7})
        if mode == "hang":
            return self.wait_for_client()
        if body is None:
            return self.send(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})
        self.reply(mode, body)

    def fail(self, status):
        error = {"message": MESSAGES.get(status, f"Status {status}."), "type": "error", "code": str(status)}
        headers = {"retry_after": 0} if status == 429 else {}
        self.send(status, {"error": error}, **headers)

    def reply(self, mode, body):
        if not self.path.split("?")[0].endswith("/chat/completions"):
            return self.send(404, {"error": {"message": f"There is no {self.path}."}})
        said = [content_text(it) for it in body.get("messages", []) if it.get("role") == "user"]
        reply = {"say": f"You said: {said[-1] if said else ''}"}
        if mode.startswith("script/"):
            reply = script_reply(mode.removeprefix("script/"), self.key(), body)
        if "status" in reply:
            return self.send(reply["status"], reply.get("body", {}), **reply.get("headers", {}))
        if not body.get("stream") and mode not in ("stall", "cut"):
            return self.send(200, completion(reply, body), None if mode == "untyped" else "application/json")
        self.stream(mode, reply, body)

    def stream(self, mode, reply, body):
        self.send_response(200)
        if mode != "untyped":
            self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        pieces = list(chunks(reply, body))
        is_partial = mode in ("stall", "cut")
        for piece in pieces[: 2 if is_partial else None]:
            self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
            self.wfile.flush()
        if mode == "stall":
            return self.wait_for_client()
        if not is_partial:
            self.wfile.write(b"data: [DONE]\n\n")

    def wait_for_client(self):
        """Waits until the client gives up, or for two minutes."""
        self.close_connection = True
        self.connection.settimeout(120)
        try:
            self.connection.recv(1)
        except OSError:
            time.sleep(0)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
