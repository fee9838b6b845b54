"""Many half requests without a token take no server off the air: probes of it are answered, and so are its clients."""

import os
import resource
import socket
import subprocess
import threading

# More than a service accepts of clients that it knows.
MANY = 1100
SOME = 400
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
wanted = MANY + 200
resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(wanted, hard)), hard))

os.mkdir("gate")
AGENT = '''system = "x"
[tools.command.touch]
description = "Makes a file."
argv = ["touch", "made"]
'''
with open("gate/agent.toml", "w") as file:
    file.write(AGENT)


def ask(port, path, head=""):
    """The status of a response."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{head}Connection: close\r\n\r\n".encode())
        answer = b""
        while b"\r\n" not in answer:
            piece = client.recv(4096)
            assert piece, f"{path}: the connection was closed"
            answer += piece
    return int(answer.split(b" ")[1])


def try_server(words, find_port, checks, count=SOME):
    server = subprocess.Popen(["haft", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []
    try:
        port = None
        while port is None:
            lines.append(server.stdout.readline())
            assert lines[-1], lines
            port = find_port(lines)
        threading.Thread(target=lambda: lines.extend(server.stdout), daemon=True).start()
        half = []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", port), timeout=20)
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            half.append(client)
        for path, head, status in checks(lines):
            found = ask(port, path, head)
            assert found == status, (words, path, found)
        for client in half:
            client.close()
    finally:
        server.terminate()
        server.wait(20)


def port_of_address(lines):
    """The port in the first line that has an address."""
    for line in lines:
        if "http://127.0.0.1:" in line:
            return int(line.split("http://127.0.0.1:")[1].split("/")[0].strip())
    return None


def port_and_token(lines):
    return port_of_address(lines) if len(lines) > 1 else None


try_server(
    ["serve", "gate", "--port", "0"],
    port_and_token,
    lambda lines: [
        ("/health", "", 200),
        ("/v1/turns", f"Authorization: Bearer {lines[1].strip()}\r\n", 200),
        ("/v1/turns", "", 401),
    ],
    MANY,
)
try_server(["mcp", "serve", "gate", "--http", "127.0.0.1:0"], port_of_address, lambda _: [("/mcp", "", 406)])
try_server(
    ["web", "--no-open"],
    port_of_address,
    lambda lines: [("/api/turns", f"Authorization: Bearer {lines[0].strip().split('#token=')[1]}\r\n", 200)],
)
try_server(["worker", "--agents", "gate", "--listen", "127.0.0.1:0"], port_of_address, lambda _: [("/healthz", "", 200)])
