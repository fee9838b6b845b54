// What the tools of each example cost in every request, counted by another tokenizer, stays within a budget, and `haft
// check` says the same.
// needs: npm js-tiktoken
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";

// The tools of the first request, and the whole of it.
const budgets = {
  "approval-flow": [6, 900, 1000],
  "data-desk": [10, 1800, 2000],
  "document-reader": [6, 900, 1000],
  "log-detective": [6, 900, 1050],
  "media-maker": [5, 750, 850],
};

const tokenizer = new Tiktoken(o200k);
const count = (value) => tokenizer.encode(JSON.stringify(value), "all").length;
const env = { ...process.env, OPENAI_API_KEY: "sk-budgets" };
const haft = (...args) => execFileSync("haft", args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "ignore"] });

const examples = `${process.env.REPOSITORY}/examples`;
const agents = readdirSync(examples).filter((it) => existsSync(`${examples}/${it}/agent.toml`));
assert.deepEqual(agents.sort(), Object.keys(budgets), "an example has no budget");

for (const [name, [mostTools, mostTokens, mostInRequest]] of Object.entries(budgets)) {
  cpSync(`${examples}/${name}`, name, { recursive: true });
  const printed = haft("run", name, "--dry-run", "--model", "openai:gpt-5-mini");
  const request = JSON.parse(printed.slice(printed.indexOf("\n{")));
  const tools = request.tools.reduce((sum, it) => sum + count(it), 0);
  assert.ok(request.tools.length <= mostTools, `${name}: ${request.tools.length} tools`);
  assert.ok(tools <= mostTokens, `${name}: ${tools} tokens of tools`);
  assert.ok(count(request) <= mostInRequest, `${name}: ${count(request)} tokens in the first request`);

  const check = haft("check", name);
  const [, said] = /each request has \d+ tools, (\d+) tokens/.exec(check);
  assert.ok(Math.abs(said - tools) <= tools * 0.02, `${name}: \`haft check\` says ${said} tokens, there are ${tools}`);
}
