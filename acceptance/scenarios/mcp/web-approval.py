"""A turn of an agent with an MCP server waits for an approval. The approval is given on the page of `haft web`, which then
continues the turn: it offers the model the same tools as before, and the call of the MCP tool works.
"""

import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

PROVIDER_URL = os.environ["PROVIDER_URL"]
KEY = "sk-mcp-web-approval"
Path("shop").mkdir()
Path("shop/agent.toml").write_text("""
system = "You run a shop."
model = "openai:m"

[tools.command.refund]
description = "Refunds an order."
argv = ["echo", "refunded {order}"]
approval = "Refund order {order}?"
args.order = { type = "integer", required = true }

[tools.mcp.stock]
argv = ["python3", "stock.py"]
env = ["PYTHONPATH"]
""")
Path("shop/stock.py").write_text('''
from mcp.server import MCPServer

server = MCPServer("stock")


@server.tool()
def count_stock(product: str) -> str:
    """Says how many pieces of a product are left."""
    return f"4 {product}s"


server.run()
''')
environment = dict(os.environ, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=f"{PROVIDER_URL}/script/refund-then-stock/v1")


def haft(*words, status=0):
    done = subprocess.run(
        ["haft", *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def offered():
    """The tools of each request to the model, in their order."""
    with urllib.request.urlopen(f"{PROVIDER_URL}/requests/{KEY}") as response:
        return [[tool["function"]["name"] for tool in it["body"]["tools"]] for it in json.load(response)]


haft("run", "shop", "Refund order 7.", "--trust", "--gates", "park", status=4)
gate = json.loads(haft("gates", "--json").splitlines()[0])
before = offered()
assert len(before) == 1 and "refund" in before[0] and "count_stock" in before[0], before

page = subprocess.Popen(
    ["haft", "web", "--no-open"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
)
try:
    address, token = page.stdout.readline().strip().split("/#token=")

    def api(path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "X-Haft-Action": "1"}
        request = urllib.request.Request(f"{address}/api{path}", data, headers)
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)

    api(f"/gates/{urllib.request.quote(gate['gate'], safe='')}/decision", {"choice": "approve"})
    deadline = time.monotonic() + 20
    while (turn := api(f"/turns/{gate['turn']}")["turn"])["state"] in ("waiting", "running"):
        assert time.monotonic() < deadline, turn
        time.sleep(0.05)
finally:
    page.kill()

after = offered()
assert all(tools == before[0] for tools in after), after
assert turn["state"] == "completed", turn
assert len(after) == 3, after
