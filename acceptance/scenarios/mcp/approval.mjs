// A tool that asks for approval asks the user of the client: accepted, declined, and a client that cannot ask. With both
// lifecycles of the protocol.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

mkdirSync("shop");
writeFileSync(
  "shop/agent.toml",
  `
system = "You run a shop."

[tools.command.refund]
description = "Refunds an order."
argv = ["sh", "-c", "echo \\"$0\\" >> refunds.txt; echo refunded \\"$0\\"", "{order}"]
approval = "Refund order {order}?"
args.order = { type = "integer", required = true }
`,
);

// Calls the tool as a user who replies so would, or without asking one.
async function refund(order, reply) {
  const capabilities = reply ? { elicitation: {} } : {};
  const client = new Client({ name: "editor", version: "1" }, { capabilities });
  const questions = [];
  if (reply) {
    client.setRequestHandler(ElicitRequestSchema, async (request) => {
      questions.push(request.params);
      return reply;
    });
  }
  await client.connect(new StdioClientTransport({ command: "haft", args: ["mcp", "serve", "shop"], env: process.env }));
  try {
    const result = await client.callTool({ name: "refund", arguments: { order } });
    return { result, questions };
  } finally {
    await client.close();
  }
}

const accepted = await refund(7, { action: "accept", content: { approve: true } });
assert.ok(!accepted.result.isError, JSON.stringify(accepted.result));
assert.match(accepted.result.content[0].text, /refunded 7/);
assert.equal(accepted.questions.length, 1);
const [{ message, requestedSchema }] = accepted.questions;
assert.match(message, /Refund order 7\?/);
assert.match(message, /refund \{"order":7\}/);
assert.deepEqual(requestedSchema.required, ["approve"]);
assert.equal(requestedSchema.properties.approve.type, "boolean");

for (const reply of [{ action: "decline" }, { action: "cancel" }, { action: "accept", content: { approve: false } }]) {
  const { result, questions } = await refund(8, reply);
  assert.equal(questions.length, 1);
  assert.ok(result.isError, JSON.stringify(result));
  assert.match(result.content[0].text, /declined|did not reply|did not approve/);
}

const impossible = await refund(9).catch((error) => ({ error }));
const why = impossible.error?.message ?? impossible.result.content[0].text;
assert.ok(impossible.error || impossible.result.isError);
assert.match(why, /cannot ask/);

assert.ok(existsSync("shop/refunds.txt"));
assert.equal(readFileSync("shop/refunds.txt", "utf8"), "7\n", "only the approved refund was made");
