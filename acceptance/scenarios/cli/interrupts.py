"""Ctrl-C, and Ctrl-C once more, in every command that runs until somebody ends it.

A terminal sends SIGINT to the whole foreground group, which the process groups here stand for. Whatever a command does,
it ends, its exit code says how, and no tool that it started is left.
"""

import json
import os
import signal
import subprocess
import time
import urllib.request

SLEEPER = """
system = "You wait."
prompt = "Wait."
script = "script.yaml"

[tools.command.wait]
description = "Waits, and does not want to end."
argv = ["sh", "-c", "trap '' INT TERM; echo $$ > ../pid.new; mv ../pid.new ../pid; while :; do sleep 1; done"]
effect = "once"
"""

SCRIPT = """
steps:
  - call: { wait: {} }
  - say: over
"""


def write_agent():
    os.makedirs("sleeper", exist_ok=True)
    for name, text in [("agent.toml", SLEEPER), ("script.yaml", SCRIPT)]:
        with open(f"sleeper/{name}", "w") as file:
            file.write(text)


def wait_until(what, condition):
    for _ in range(400):
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"it did not happen: {what}")


def start(*words, **options):
    return subprocess.Popen(
        ["haft", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def interrupt(process):
    os.killpg(process.pid, signal.SIGINT)


def wait_for_tool():
    def read():
        try:
            with open("pid") as file:
                return int(file.read())
        except FileNotFoundError:
            return None

    pid = wait_until("the tool runs", read)
    os.remove("pid")
    return pid


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return ") Z " in file.read()
    except FileNotFoundError:
        return True


def end(process, expected, what):
    try:
        out, err = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{what} does not end")
    assert process.returncode == expected, (what, process.returncode, out, err)
    return out + err


def turns():
    done = subprocess.run(["haft", "turns", "--json"], capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_once_and_twice():
    for times in (1, 2):
        process = start("run", "sleeper")
        tool = wait_for_tool()
        for _ in range(times):
            interrupt(process)
        said = end(process, 130, f"run after {times}")
        wait_until("the tool is gone", lambda: is_gone(tool))
        status = turns()[0]["status"]
        # The second one may come before the turn has noted the first.
        assert status == "cancelled" or times == 2 and status == "running", (times, status, said)


def serve_lets_its_turns_end_and_then_does_not():
    process = start("serve", "sleeper", "--port", "0", "--store", "served")
    url, token = process.stdout.readline().strip(), process.stdout.readline().strip()
    request = urllib.request.Request(
        url + "/turns",
        data=json.dumps({"agent": "sleeper", "message": "Wait."}).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=10).read()
    tool = wait_for_tool()
    interrupt(process)
    try:
        process.wait(timeout=0.5)
        raise AssertionError("the service did not let its turn end")
    except subprocess.TimeoutExpired:
        assert not is_gone(tool)
    interrupt(process)
    said = end(process, 130, "serve")
    assert "stopped by SIGINT; the turns can be resumed" in said, said
    wait_until("the tool is gone", lambda: is_gone(tool))


def servers_without_turns_end_at_once():
    for words, codes in [
        (["serve", "sleeper", "--port", "0", "--store", "idle"], (0, 130)),
        (["web", "--no-open", "--store", "idle"], (0, 130)),
        (["mcp", "serve", "sleeper", "--store", "idle"], (0, 130)),
        (["worker", "--agents", "sleeper", "--store", "idle"], (0, 130)),
    ]:
        process = start(*words)
        if words[0] in ("serve", "web"):
            process.stdout.readline()
        elif words[0] == "mcp":
            hello = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "c", "version": "1"},
                },
            }
            process.stdin.write(json.dumps(hello) + "\n")
            process.stdin.flush()
            process.stdout.readline()
        else:
            process.stderr.readline()
        interrupt(process)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            interrupt(process)
        out, err = process.communicate(timeout=20)
        assert process.returncode in codes, (words, process.returncode, out, err)
        assert "panicked" not in err, (words, err)


write_agent()
run_once_and_twice()
serve_lets_its_turns_end_and_then_does_not()
servers_without_turns_end_at_once()
