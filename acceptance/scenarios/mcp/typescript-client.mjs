// The TypeScript client uses an agent over stdio and over HTTP: it sees schemas and annotations, makes a call from the
// schema alone, and gets a refusal that names the argument.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

mkdirSync("shop");
writeFileSync("shop/orders.csv", "7,Ada,open\n8,Grace,paid\n");
writeFileSync(
  "shop/agent.toml",
  `
system = "You run a shop."

[tools.command.find_orders]
description = "Finds the orders of a customer."
argv = ["grep", "-i", "-m", "{limit}", "{customer}", "orders.csv"]
effect = "read-only"
args.customer = { required = true, min = 2, description = "Part of the name" }
args.limit = { type = "integer", required = true, min = 1, max = 100 }

[tools.command.archive]
description = "Archives an order."
argv = ["echo", "{order}"]
args.order = { type = "integer", required = true }
`,
);

// A value that a schema allows, as a model that knows nothing else would choose it.
function sample(schema) {
  if (schema.enum) return schema.enum[0];
  if (schema.type === "integer") return schema.minimum ?? 1;
  return "Ada";
}

async function use(transport) {
  const client = new Client({ name: "editor", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const [orders, archive] = ["find_orders", "archive"].map((name) => tools.find((tool) => tool.name === name));
  assert.deepEqual(orders.inputSchema.required, ["customer", "limit"]);
  assert.equal(orders.inputSchema.properties.customer.description, "Part of the name");
  assert.deepEqual(orders.annotations, { readOnlyHint: true, destructiveHint: false });
  assert.deepEqual(archive.annotations, { readOnlyHint: false, idempotentHint: false });
  for (const tool of tools) assert.equal(tool.inputSchema.type, "object", tool.name);

  const properties = Object.entries(orders.inputSchema.properties);
  const args = Object.fromEntries(properties.map(([name, schema]) => [name, sample(schema)]));
  const found = await client.callTool({ name: "find_orders", arguments: args });
  assert.ok(!found.isError && found.content[0].text.includes("7,Ada,open"), JSON.stringify(found));

  const refused = await client.callTool({ name: "find_orders", arguments: { customer: "A", limit: 0 } });
  assert.ok(refused.isError, JSON.stringify(refused));
  assert.match(refused.content[0].text, /\/customer/);
  assert.match(refused.content[0].text, /\/limit/);
  await client.close();
}

await use(new StdioClientTransport({ command: "haft", args: ["mcp", "serve", "shop"], env: process.env }));

const server = spawn("haft", ["mcp", "serve", "shop", "--http", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
try {
  const [line] = await once(createInterface(server.stderr), "line");
  assert.match(line, /^serving http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  await use(new StreamableHTTPClientTransport(new URL(line.replace("serving ", ""))));
} finally {
  server.kill();
}
