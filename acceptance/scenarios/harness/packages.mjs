// The packages that scenarios are promised can be imported, and the shared servers answer.
// needs: npm @modelcontextprotocol/sdk
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "acceptance", version: "1.0.0" });
const server = `${process.env.PACKAGES}/node_modules/@modelcontextprotocol/server-memory/dist/index.js`;
await client.connect(new StdioClientTransport({ command: "node", args: [server] }));
const { tools } = await client.listTools();
assert.ok(tools.some((it) => it.name === "create_entities"));
await client.close();

const order = await fetch(`${process.env.HTTP_URL}/orders/7`);
assert.equal(order.status, 200);
assert.equal((await order.json()).id, 7);
const refused = await fetch(`${process.env.HTTP_URL}/orders`, { method: "POST", body: "{}" });
assert.equal(refused.status, 422);
assert.equal((await refused.json()).detail[0].msg, "field required");

const asked = await fetch(`${process.env.AIMOCK_URL}/v1/chat/completions`, {
  method: "POST",
  headers: { "content-type": "application/json", authorization: "Bearer sk-harness" },
  body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
});
assert.equal((await asked.json()).choices[0].message.content, "Hello from the model.");
