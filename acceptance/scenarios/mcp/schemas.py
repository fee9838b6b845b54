"""A client sees each tool as a model sees it: the schemas of `tools/list` are those of `haft tools`, and what is announced
of a tool follows from its effect. Over stdio with the client of the Python SDK, in both revisions of the protocol.
"""

import asyncio
import json
import subprocess
from pathlib import Path

import jsonschema
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

Path("shop").mkdir()
Path("shop/agent.toml").write_text("""
system = "You run a shop."

[tools.files]
write = true

[tools.time]
[tools.math]
[tools.text]
[tools.data]
[tools.memory]

[tools.web]
hosts = ["example.org"]

[tools.command.find_orders]
description = "Finds the orders of a customer."
argv = ["grep", "-i", "{customer}", "orders.csv"]
effect = "read-only"
args.customer = { required = true, min = 2, max = 40, description = "Part of the name" }
args.state = { values = ["open", "paid"], default = "open" }
args.limit = { type = "integer", min = 1, max = 100 }

[tools.command.refund]
description = "Refunds an order."
argv = ["echo", "{order}"]
approval = "Refund {order}?"
args.order = { type = "integer", required = true }

[tools.command.archive]
description = "Archives an order."
argv = ["echo", "{order}"]
effect = "idempotent"
args.order = { type = "integer", required = true }
""")


def haft(*words):
    return subprocess.run(["haft", *words], check=True, capture_output=True, text=True).stdout


def announced(effect):
    """What a client may rely on. Each call of a client has an idempotency key of its own, so that a repeated call is not
    announced as harmless."""
    if effect == "read-only":
        return (True, False, None)
    return (False, None, False)


described = {tool["name"]: tool for tool in map(json.loads, haft("tools", "shop", "--all", "--json").splitlines())}
own = [name for name in described if not name.startswith("artifact_")]
effects = {}
for name in ["read_file", "write_file", "store_memory", "calculate", "find_orders", "refund", "archive"]:
    lines = haft("describe", "shop", name).splitlines()
    effects[name] = next(line.removeprefix("effect: ") for line in lines if line.startswith("effect: "))
assert set(effects.values()) == {"read-only", "once", "idempotent"}, effects


def check(tools):
    names = [tool.name for tool in tools]
    assert names[: len(own)] == own, "the agent's tools come first, in the order of `haft tools`"
    assert set(names) == set(described), set(names) ^ set(described)
    for tool in tools:
        expected = described[tool.name]
        assert tool.input_schema == expected["inputSchema"], (tool.name, tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.description.startswith(expected["description"].rstrip()), tool.description
        hints = tool.annotations
        seen = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint)
        if tool.name in effects or tool.name not in own:
            assert seen == announced(effects.get(tool.name, "read-only")), (tool.name, seen)
    by_name = {tool.name: tool.input_schema for tool in tools}
    orders = by_name["find_orders"]
    assert orders["required"] == ["customer"], orders
    assert orders["properties"]["limit"] == {"type": "integer", "minimum": 1, "maximum": 100}, orders
    assert orders["properties"]["state"]["enum"] == ["open", "paid"], orders
    assert "callId" in by_name["artifact_grep"]["required"], by_name["artifact_grep"]


async def main():
    params = StdioServerParameters(command="haft", args=["mcp", "serve", "shop"])
    async with stdio_client(params) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        check((await session.list_tools()).tools)
    async with Client(stdio_client(params)) as client:
        assert client.protocol_version == "2026-07-28", client.protocol_version
        check((await client.list_tools()).tools)


asyncio.run(main())
