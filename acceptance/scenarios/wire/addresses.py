"""A request that is not for a server is refused, however it spells that: another host, a page of another site, a host that is
named twice, and one in the address of the request. Every listener reads these by the same rules."""

import os
import socket
import subprocess

os.mkdir("gate")
AGENT = '''system = "x"
[tools.command.touch]
description = "Makes a file."
argv = ["touch", "made"]
'''
with open("gate/agent.toml", "w") as file:
    file.write(AGENT)


def ask(port, target, *headers):
    """The status of a response."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(f"GET {target} HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode())
        answer = b""
        while b"\r\n" not in answer:
            piece = client.recv(4096)
            assert piece, (target, headers)
            answer += piece
    return int(answer.split(b" ")[1])


class Server:
    def __init__(self, *words, lines=1):
        self.process = subprocess.Popen(["haft", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = []
        while len(self.lines) < lines or "http://127.0.0.1:" not in "".join(self.lines):
            self.lines.append(self.process.stdout.readline())
            assert self.lines[-1], self.lines
        text = "".join(self.lines)
        self.port = int(text.split("http://127.0.0.1:")[1].split("/")[0].split()[0])
        self.own = ("Host", f"127.0.0.1:{self.port}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)

    def check_targets(self, path, status, *headers):
        """Whom a request is for is said once, for every listener."""
        assert ask(self.port, path, self.own, *headers) == status
        assert ask(self.port, path, self.own, self.own, *headers) == 400
        assert ask(self.port, path, ("Host", "evil.example"), self.own, *headers) == 400
        assert ask(self.port, path, *headers) == 400
        for host in [f"127.0.0.1:{self.port}", "evil.example"]:
            assert ask(self.port, f"http://{host}{path}", self.own, *headers) == 400

    def check_pages(self, path, status, *headers):
        """Only a page of the server itself uses it."""
        port = self.port
        own = f"127.0.0.1:{port}"
        for host in [
            f"{own}.evil.example", f"evil@{own}", "evil.example", f"evil.example:{port}", "127.0.0.1.evil.example",
            f"127.0.0.1:{port}:80", f"127.0.0.1:+{port}", f"{own}/", f"{own},evil.example", "[::1", "",
        ]:
            found = ask(port, path, ("Host", host), *headers)
            assert found == 403, (host, found)
        for origin in [
            f"https://{own}", f"evil://{own}", f"http://{own}.evil.example", f"http://evil@{own}", "http://127.0.0.1:1",
            "http://evil.example", "null", own, f"http://{own}/", "",
        ]:
            found = ask(port, path, self.own, ("Origin", origin), *headers)
            assert found == 403, (origin, found)
        for host in [own, f"localhost:{port}", f"[::1]:{port}", f"LocalHost:{port}"]:
            assert ask(port, path, ("Host", host), ("Origin", f"http://{host}"), *headers) == status, host


with Server("web", "--no-open") as web:
    bearer = ("Authorization", f"Bearer {web.lines[0].strip().split('#token=')[1]}")
    web.check_targets("/api/turns", 200, bearer)
    web.check_pages("/api/turns", 200, bearer)
    assert ask(web.port, "/api/turns", ("Host", "127.0.0.1:1"), bearer) == 403

with Server("mcp", "serve", "gate", "--http", "127.0.0.1:0") as mcp:
    mcp.check_targets("/mcp", 406)
    mcp.check_pages("/mcp", 406)

allowed = ["--allow-host", "mcp.example", "--allow-origin", "https://app.example"]
with Server("mcp", "serve", "gate", "--http", "127.0.0.1:0", *allowed) as mcp:
    mcp.check_pages("/mcp", 406)
    host, origin = ("Host", "mcp.example"), ("Origin", "https://app.example")
    assert ask(mcp.port, "/mcp", host) == 406
    assert ask(mcp.port, "/mcp", host, origin) == 406
    assert ask(mcp.port, "/mcp", ("Host", "mcp.example.evil")) == 403
    assert ask(mcp.port, "/mcp", host, ("Origin", "http://app.example")) == 403

for option, value in [("--allow-host", "http://mcp.example"), ("--allow-origin", "app.example")]:
    words = ["haft", "mcp", "serve", "gate", "--http", "127.0.0.1:0", option, value]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=20)
    assert ended.returncode == 1 and value in ended.stderr, ended

with Server("serve", "gate", "--port", "0", lines=2) as serve:
    serve.check_targets("/health", 200)
    serve.check_targets("/v1/turns", 200, ("Authorization", f"Bearer {serve.lines[1].strip()}"))

with Server("worker", "--agents", "gate", "--listen", "127.0.0.1:0") as worker:
    worker.check_targets("/healthz", 200)
