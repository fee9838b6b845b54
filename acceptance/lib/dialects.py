"""A model API that speaks every dialect and keeps what it was asked.

    with Model([{"calls": [("tool", {"argument": 1})]}, {"say": "Done."}]) as model:
        run("haft", "run", ..., env=model.env)
        for dialect, body in model.requests: ...

Each request takes the next reply; the last one is repeated. A reply may have `say`, `calls`, `think` and `status`.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The preset of `haft`, and the name of its requests at the oracle.
DIALECTS = {
    "openai": "openai.chat.request",
    "openai-responses": "openai.responses.request",
    "anthropic": "anthropic.messages.request",
    "ollama": "ollama.chat.request",
}
PATHS = {
    "/v1/chat/completions": "openai",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic",
    "/api/chat": "ollama",
}


class Model:
    def __init__(self, replies):
        self.replies, self.requests, self.lock = replies, [], threading.Lock()

    def __enter__(self):
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer(200, {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "double"}]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.answer(*model.reply(PATHS[self.path], body))

            def answer(self, status, reply):
                content = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{self.server.server_port}"
        self.env = {
            "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "k",
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k",
            "OLLAMA_HOST": url,
        }
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def reply(self, dialect, body):
        with self.lock:
            number = len(self.requests)
            self.requests.append((dialect, body))
        reply = self.replies[min(number, len(self.replies) - 1)]
        status = reply.get("status", 200)
        if status != 200:
            return status, {"error": {"message": "refused by the double", "type": "invalid_request_error"}}
        forms = {"openai": chat, "openai-responses": responses, "anthropic": messages, "ollama": ollama}
        return status, forms[dialect](reply, number)


def calls_of(reply, number):
    return [(f"call_{number}_{at}", name, args) for at, (name, args) in enumerate(reply.get("calls", []))]


def chat(reply, number):
    message = {"role": "assistant", "content": reply.get("say")}
    calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for id, name, args in calls_of(reply, number)
    ]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {
        "id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1700000000, "model": "m", "choices": [choice],
        "usage": usage,
    }


def responses(reply, number):
    output = []
    if "think" in reply:
        summary = [{"type": "summary_text", "text": reply["think"]}]
        output.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": "c2VjcmV0"})
    if "say" in reply:
        content = [{"type": "output_text", "text": reply["say"], "annotations": []}]
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}
        output.append(message)
    for id, name, args in calls_of(reply, number):
        output.append({
            "type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": json.dumps(args),
            "status": "completed",
        })
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 1700000000, "status": "completed", "model": "m",
        "output": output, "usage": usage,
    }


def messages(reply, number):
    content = []
    if "think" in reply:
        content.append({"type": "thinking", "thinking": reply["think"], "signature": "c2VjcmV0"})
    if "say" in reply:
        content.append({"type": "text", "text": reply["say"]})
    calls = calls_of(reply, number)
    content += [{"type": "tool_use", "id": f"toolu_{id}", "name": name, "input": args} for id, name, args in calls]
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def ollama(reply, number):
    message = {"role": "assistant", "content": reply.get("say", "")}
    if "think" in reply:
        message["thinking"] = reply["think"]
    calls = [{"function": {"name": name, "arguments": args}} for _, name, args in calls_of(reply, number)]
    if calls:
        message["tool_calls"] = calls
    return {
        "model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True, "done_reason": "stop",
        "prompt_eval_count": 100, "eval_count": 20,
    }
