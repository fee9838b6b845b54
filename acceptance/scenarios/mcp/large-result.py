"""A result that is too large for one answer stays with the server: the client gets its beginning and a handle, and queries
it. The handle also holds after a restart of the server, and an unknown one is refused.
"""

import asyncio
import re
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

Path("logs/data").mkdir(parents=True)
LINES = 50_000
with open("logs/data/access.log", "w") as log:
    for number in range(LINES):
        log.write(f"{number:06} GET /orders/{number % 997} {500 if number == 43_210 else 200}\n")
with open("logs/data/orders.json", "w") as orders:
    rows = ",".join(f'{{"id":{number},"total":{number % 50}}}' for number in range(20_000))
    orders.write(f'{{"orders":[{rows}]}}')
Path("logs/agent.toml").write_text("""
system = "You read logs."

[tools.files]
root = "data"

[tools.command.orders]
description = "Returns all orders."
argv = ["cat", "data/orders.json"]
artifact = "json"
effect = "read-only"
""")
params = StdioServerParameters(command="haft", args=["mcp", "serve", "logs"])


def text(result):
    assert not result.is_error, result
    return "\n".join(item.text for item in result.content)


def handle_of(answer):
    return re.search(r"callId `([0-9a-f]{32})`", answer).group(1)


async def use(run):
    async with stdio_client(params) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        return await run(session)


async def ask(session):
    before = (await session.list_tools()).tools
    answer = text(await session.call_tool("read_file", {"path": "access.log"}))
    assert len(answer.encode()) < 100_000, len(answer)
    assert "000000 GET /orders/0 200" in answer, answer[:300]
    log = handle_of(answer)
    found = text(await session.call_tool("artifact_grep", {"callId": log, "pattern": " 500$"}))
    assert "043210 GET /orders/" in found and found.count(" GET ") == 1, found
    orders = handle_of(text(await session.call_tool("orders", {})))
    last = text(await session.call_tool("artifact_query", {"callId": orders, "query": "$.orders[19999]"}))
    assert '"id":19999' in last.replace(" ", ""), last

    unknown = await session.call_tool("artifact_grep", {"callId": "0" * 32, "pattern": "x"})
    assert unknown.is_error and "there is no result with callId" in unknown.content[0].text, unknown
    assert (await session.list_tools()).tools == before, "the list of tools never changes"
    return log


async def ask_again(session, log):
    tail = text(await session.call_tool("artifact_read", {"callId": log, "start": -10}))
    assert f"{LINES - 1:06} GET" in tail, tail


log = asyncio.run(use(ask))
asyncio.run(use(lambda session: ask_again(session, log)))
