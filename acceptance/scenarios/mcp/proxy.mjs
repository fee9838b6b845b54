// `haft mcp proxy` before the official servers for files, memory and everything: their tools keep schemas, titles and
// annotations, results and questions pass, a large result is queried, and the proxy's own tools can be called by their
// schemas.
import assert from "node:assert/strict";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

mkdirSync("data");
const data = realpathSync("data");
const log = Array.from({ length: 40_000 }, (_, number) => `line ${number} of the log`);
writeFileSync(join(data, "large.log"), log.join("\n"));
writeFileSync(join(data, "small.txt"), "a small file");

const server = (name) => join(process.env.PACKAGES, "node_modules/.bin", name);
const files = `${server("mcp-server-filesystem")} ${data}`;
const memory = server("mcp-server-memory");
const env = { ...process.env, MEMORY_FILE_PATH: join(data, "memory.jsonl") };

async function connect(command, args, capabilities = {}) {
  const client = new Client({ name: "editor", version: "1" }, { capabilities });
  await client.connect(new StdioClientTransport({ command, args, env, stderr: "ignore" }));
  return client;
}

const text = (result) => result.content.map((item) => item.text ?? "").join("\n");

// One server: what it defines passes unchanged, except for output schemas, which a stored result would not meet.
const direct = await connect(...splitCommand(files));
const proxied = await connect("haft", ["mcp", "proxy", "--", ...files.split(" ")]);
const { tools: own } = await direct.listTools();
const { tools } = await proxied.listTools();
const withoutOutput = ({ outputSchema, ...tool }) => tool;
assert.deepEqual(tools.slice(0, own.length), own.map(withoutOutput));

// The tools of the proxy: every argument is in the schema, and the list of results needs none.
const queries = tools.slice(own.length);
assert.ok(queries.length === 4 && queries.every((tool) => tool.name.startsWith("artifact_")));
for (const { name, inputSchema, annotations } of queries) {
  assert.equal(inputSchema.type, "object", name);
  const required = inputSchema.required ?? [];
  for (const argument of required) assert.ok(inputSchema.properties[argument].type, `${name}: ${argument}`);
  assert.equal(required.includes("callId"), name !== "artifact_info", `${name}: ${required}`);
  assert.deepEqual(annotations, { readOnlyHint: true, destructiveHint: false, openWorldHint: false }, name);
}

const small = await proxied.callTool({ name: "read_text_file", arguments: { path: join(data, "small.txt") } });
assert.match(text(small), /a small file/);
const large = await proxied.callTool({ name: "read_text_file", arguments: { path: join(data, "large.log") } });
assert.ok(text(large).length < 100_000);
const [, callId] = text(large).match(/callId `([0-9a-f]+)`/);

// A query that is made from its schema alone.
const grep = queries.find((tool) => tool.name === "artifact_grep").inputSchema;
const known = { callId, pattern: "line 39999 " };
const args = Object.fromEntries(grep.required.map((name) => [name, known[name]]));
assert.match(text(await proxied.callTool({ name: "artifact_grep", arguments: args })), /line 39999 of the log/);
await Promise.all([direct.close(), proxied.close()]);

// Several servers: all their tools, and each call goes to its own.
const several = ["mcp", "proxy", "--server", `files=${files}`, "--server", `memory=${memory}`];
const both = await connect("haft", several);
const names = (await both.listTools()).tools.map((tool) => tool.name);
assert.ok(names.includes("read_text_file") && names.includes("create_entities"), names.join());
const ada = { name: "Ada", entityType: "person", observations: ["writes programs"] };
await both.callTool({ name: "create_entities", arguments: { entities: [ada] } });
const graph = await both.callTool({ name: "read_graph", arguments: {} });
assert.match(text(graph), /writes programs/);
await both.close();

// A question of the server reaches the user of the client, and what it answers comes back; so do images.
const everything = server("mcp-server-everything");
const asking = await connect("haft", ["mcp", "proxy", "--", everything], { elicitation: {}, sampling: {} });
let asked = 0;
asking.setRequestHandler(ElicitRequestSchema, async () => {
  asked += 1;
  return { action: "decline" };
});
const everyName = (await asking.listTools()).tools.map((tool) => tool.name);
const elicits = everyName.find((name) => name.includes("elicitation-request"));
assert.match(text(await asking.callTool({ name: elicits, arguments: {} })), /declined/i);
assert.equal(asked, 1);
const image = everyName.find((name) => name.includes("tiny-image"));
const shown = await asking.callTool({ name: image, arguments: {} });
assert.ok(shown.content.some((item) => item.type === "image" && item.data.length > 100));
await asking.close();

function splitCommand(line) {
  const [command, ...words] = line.split(" ");
  return [command, words];
}
