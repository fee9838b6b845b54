// An agent with an MCP server asks for approval. The page approves, its process continues the turn, and the model is
// offered the same tools as before.
// needs: python mcp

import assert from "node:assert/strict";
import fs from "node:fs";
import { haft, newestTurn, scenario, startWeb, visit, waitForText } from "./lib/page.mjs";

const SERVER = `import mcp.server.mcpserver as server
app = server.MCPServer("notes")

@app.tool()
def find_note(words: str) -> str:
    """Finds a note."""
    return "Order 7 was damaged."

app.run("stdio")
`;

const AGENT = `system = "You help."
prompt = "Refund order 7."
[tools.command.refund]
description = "Refunds an order."
argv = ["echo", "refunded", "{order}"]
args.order.required = true
approval = "Refund {order}?"
[tools.mcp.notes]
argv = ["python3", "notes.py"]
env = ["PYTHONPATH"]
effect = "read-only"
`;

await scenario(process.env.BROWSER_URL, async (open) => {
  fs.mkdirSync("desk");
  fs.writeFileSync("desk/agent.toml", AGENT);
  fs.writeFileSync("desk/notes.py", SERVER);
  process.env.OPENAI_BASE_URL = `${process.env.PROVIDER_URL}/script/page-mcp/v1`;
  process.env.OPENAI_API_KEY = `page-mcp-${process.pid}`;
  await haft(["run", "desk", "--trust", "--gates", "park", "--model", "openai:m"], { code: 4 });
  const { id } = await newestTurn();
  const web = await startWeb();
  const page = await open(web.address);
  await visit(page, `#/turns/${id}`);
  await page.locator(".gate-card").getByRole("button", { name: "Decide" }).click();
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await page.locator(".facts .state-completed").waitFor();
  await waitForText(page, ".event.text", "It is refunded.");

  const requests = await (await fetch(`${process.env.PROVIDER_URL}/requests/${process.env.OPENAI_API_KEY}`)).json();
  const offered = requests.map((it) => it.body.tools.map((tool) => tool.function.name));
  assert.ok(requests.length >= 3 && offered[0].includes("find_note"), JSON.stringify(offered));
  for (const names of offered) assert.deepEqual(names, offered[0]);
});
