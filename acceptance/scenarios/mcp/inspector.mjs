// The official inspector lists and calls the tools of an agent from the command line, over stdio and over HTTP.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

mkdirSync("shop");
writeFileSync("shop/orders.csv", "7,Ada,open\n8,Grace,paid\n");
writeFileSync(
  "shop/agent.toml",
  `
system = "You run a shop."

[tools.command.find_orders]
description = "Finds the orders of a customer."
argv = ["grep", "-i", "{customer}", "orders.csv"]
effect = "read-only"
args.customer = { required = true, description = "Part of the name" }
`,
);

const packageFile = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector/package.json");
const program = join(dirname(packageFile), JSON.parse(readFileSync(packageFile)).bin["mcp-inspector"]);

function inspect(target, ...words) {
  const output = execFileSync(process.execPath, [program, "--cli", ...target, ...words], { encoding: "utf8" });
  return JSON.parse(output);
}

function use(target) {
  const { tools } = inspect(target, "--method", "tools/list");
  const orders = tools.find((tool) => tool.name === "find_orders");
  const listed = execFileSync("haft", ["tools", "shop", "--json"], { encoding: "utf8" });
  const described = listed.trim().split("\n").map((line) => JSON.parse(line)).find((tool) => tool.name === "find_orders");
  assert.deepEqual(orders.inputSchema, described.inputSchema);
  assert.deepEqual(orders.inputSchema.required, ["customer"]);
  assert.equal(orders.annotations.readOnlyHint, true);
  // The inspector reads the type of the argument from the schema.
  const call = ["--method", "tools/call", "--tool-name", "find_orders", "--tool-arg", "customer=grace"];
  const found = inspect(target, ...call);
  assert.equal(found.content[0].text.trim(), "8,Grace,paid");
}

use(["haft", "mcp", "serve", "shop"]);

const server = spawn("haft", ["mcp", "serve", "shop", "--http", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
try {
  const [line] = await once(createInterface(server.stderr), "line");
  use([line.replace("serving ", ""), "--transport", "http"]);
} finally {
  server.kill();
}
