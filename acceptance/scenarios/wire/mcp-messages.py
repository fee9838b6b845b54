"""Every message of `haft mcp serve` and `haft mcp proxy` is one by the official types: lists, results of all kinds, failures,
questions to the user, and errors. So is every line that the proxy records."""
# needs: python mcp_types
# needs: python jsonschema
# needs: python pydantic

import json
import subprocess

import oracle
from wire import KINDS, write_agent


class Client:
    """A client of the protocol that judges every message of the server."""

    def __init__(self, *command):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self.asked = []
        self.request("initialize", {
            "protocolVersion": oracle.MCP_VERSION, "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "scenario", "version": "1"},
        })
        self.send({"method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(10) == 0

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params=None):
        """The result of a request, or the error."""
        self.send({"id": 7, "method": method, **({"params": params} if params is not None else {})})
        while True:
            message = json.loads(self.process.stdout.readline())
            if "method" not in message:
                break
            kind = "request" if "id" in message else "notification"
            oracle.check(message, f"mcp.{message['method']}.{kind}")
            if kind == "request":
                self.asked.append(message["method"])
                answer = {"action": "accept", "content": accepted(message["params"]["requestedSchema"])}
                self.send({"id": message["id"], "result": answer})
        if "error" in message:
            return oracle.check(message, "mcp.error")
        oracle.check({**message, "result": {}}, "mcp.response")
        return oracle.check(message["result"], f"mcp.{method}.result")

    def call(self, name, **arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments})


def accepted(schema):
    """The content of a form that agrees."""
    values = {"boolean": True, "string": "", "number": 1, "integer": 1}
    return {
        name: field["enum"][0] if "enum" in field else values[field["type"]]
        for name, field in schema["properties"].items() if name in schema.get("required", [])
    }


agent = str(write_agent("clerk"))
with Client("haft", "mcp", "serve", agent) as client:
    client.request("ping")
    names = [tool["name"] for tool in client.request("tools/list")["tools"]]
    assert {"kinds", "fails", "rows", "pay", "parse_json"} <= set(names), names
    assert not client.call("kinds", **KINDS).get("isError")
    assert client.call("fails")["isError"]
    assert client.call("kinds", text="ABC")["isError"]
    client.call("rows")
    client.call("read_file", path="rows.json")
    client.call("pay")
    assert client.asked == ["elicitation/create"], client.asked
    assert client.call("nothing").get("error") or client.call("nothing")["isError"]
    assert client.request("tools/list", {"cursor": "no cursor"})
    assert client.request("no/method")["error"]["code"] == -32601

with Client("haft", "mcp", "proxy", "--", "haft", "mcp", "serve", agent) as client:
    client.request("tools/list")
    client.call("kinds", **KINDS)
    client.call("rows")
