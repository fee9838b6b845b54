"""A proxy that passes one kibibyte a second: an answer that takes long is waited for as long as it goes on, and time to
the first byte is no reason to ask again."""
# soak: it takes half a minute

import os
import socket
import subprocess
import threading
import time
import urllib.parse

RATE = 1024
TEXT = "word " * 40
AGENT = 'system = "x"\nprompt = "Tell me everything."\n'

requests = []


def answer():
    """A streamed answer of 20 KiB."""
    lines = ['data: {"choices": [{"index": 0, "delta": {"content": "' + TEXT + '"}}]}\n\n'] * 80
    lines.append('data: {"choices": [{"index": 0, "delta": {"content": "the end"}, "finish_reason": "stop"}]}\n\n')
    body = "".join(lines) + "data: [DONE]\n\n"
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    return f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n{body}".encode()


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(int(it.split(b":")[1]) for it in head.split(b"\r\n") if it.lower().startswith(b"content-length"))
    while len(body) < length:
        # What the program sends is slow as well.
        body += connection.recv(RATE)
        time.sleep(1)
    return head, body


def serve(connection):
    with connection:
        head, _ = read_request(connection)
        requests.append(head.split(b"\r\n")[0].decode())
        data = answer()
        for at in range(0, len(data), RATE):
            connection.sendall(data[at : at + RATE])
            time.sleep(1)


def accept(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=accept, args=(listener,), daemon=True).start()
proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"

os.mkdir("slow")
with open("slow/agent.toml", "w") as file:
    file.write(AGENT)
env = {
    **os.environ,
    "HTTP_PROXY": proxy,
    "http_proxy": proxy,
    # No such host: only the proxy answers.
    "OPENAI_BASE_URL": "http://model.invalid/v1",
    "OPENAI_API_KEY": "sk-slow",
}
run = subprocess.run(
    ["haft", "run", "slow", "--model", "openai:m", "--plain-http", "-q"], env=env, capture_output=True, text=True, timeout=170
)
assert run.returncode == 0, run
assert run.stdout.strip().endswith("the end"), run.stdout[-200:]
assert run.stdout.count("word ") == 80 * 40, len(run.stdout)
assert len(requests) == 1, requests
assert urllib.parse.urlsplit(requests[0].split(" ")[1]).hostname == "model.invalid", requests
