"""`haft serve` with 256 open files serves 200 streams of events, and other requests beside them."""

import json
import os
import re
import subprocess
import threading
import time
import urllib.parse
import urllib.request

STREAMS = 200
AGENT = """system = "x"
script = "script.yaml"
prompt = "Go."
[tools.command.touch]
description = "Makes a file."
argv = ["touch", "{name}"]
args.name.required = true
approval = "May I?"
"""
SCRIPT = "steps:\n  - call: { touch: { name: made } }\n  - say: over\n"

os.mkdir("gate")
for name, content in [("gate/agent.toml", AGENT), ("gate/script.yaml", SCRIPT)]:
    with open(name, "w") as file:
        file.write(content)

limited = f"ulimit -n 256; exec haft serve gate --port 0 --max-streams {STREAMS} --max-requests 100000"
server = subprocess.Popen(["sh", "-c", limited], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
base = server.stdout.readline().strip()
token = server.stdout.readline().strip()
assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", base), base
rest = []
threading.Thread(target=lambda: rest.extend(server.stdout), daemon=True).start()


def request(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(base + path, data, headers), timeout=20)


def answer(path, body=None):
    with request(path, body) as response:
        return json.load(response)


turn = answer("/turns", {"agent": "gate", "message": "Go."})["turn"]


def state():
    return answer(f"/turns/{turn}")["turn"]["state"]


def wait_for(condition):
    for _ in range(400):
        if condition():
            return True
        time.sleep(0.05)
    return False


assert wait_for(lambda: answer("/gates")), rest
streams = []
for number in range(STREAMS):
    stream = request(f"/turns/{turn}/events")
    assert stream.headers["content-type"].startswith("text/event-stream"), stream.headers
    # The first event shows that the stream is served and not only accepted.
    assert stream.readline().startswith(b"event: "), (number, rest)
    streams.append(stream)

# Other requests are served while all streams are open.
assert state() == "waiting"
[gate] = answer("/gates")
decision = answer(f"/gates/{urllib.parse.quote(gate['id'], safe='')}/decision", {"choice": "approve"})
assert decision["decision"] == "resolved", decision

# Every stream tells the end of the turn.
for number, stream in enumerate(streams):
    assert any(b'"completed"' in line for line in stream), (number, rest)
assert state() == "completed"
assert os.path.exists("gate/made")
server.terminate()
server.wait(20)
assert not any("too many open files" in line.lower() for line in rest), rest
