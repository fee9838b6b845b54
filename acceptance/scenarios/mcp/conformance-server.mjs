// The official conformance suite, in the requirement sets of both revisions, against `haft mcp serve`. The agent is
// `fixtures/conformance`: commands, and where an agent file cannot describe what the suite wants, a server of the Python
// SDK behind `[tools.mcp]`. The lists beside it name the scenarios that cannot be met, and why.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync } from "node:fs";
import { createInterface } from "node:readline";

import { FIXTURE, findSurprises } from "./lib/conformance.mjs";

cpSync(FIXTURE, "agent", { recursive: true });
const words = ["mcp", "serve", "agent", "--trust", "--http", "127.0.0.1:0"];
const server = spawn("haft", words, { stdio: ["ignore", "ignore", "pipe"] });
try {
  let url;
  for await (const line of createInterface(server.stderr)) {
    url = line.split("serving ")[1];
    if (url) break;
  }
  assert.ok(url, "the server did not start");
  // One after the other: a question of the fixture names no call, and goes to no client while calls of two are open.
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    assert.equal(await findSurprises("server", revision, "--url", url), "");
  }
} finally {
  server.kill();
}
