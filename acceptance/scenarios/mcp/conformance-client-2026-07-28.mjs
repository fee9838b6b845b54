// The official conformance suite against Haft as a client, in the requirement set of the revision 2026-07-28: an agent with
// `[tools.mcp]`, its user at `haft mcp login`, and `haft call` and `haft run`. `fixtures/conformance/client.py` types
// what the user types.
import assert from "node:assert/strict";
import { join } from "node:path";

import { FIXTURE, findSurprises } from "./lib/conformance.mjs";

const command = `python3 ${join(FIXTURE, "client.py")}`;
assert.equal(await findSurprises("client", "2026-07-28", "--command", command), "");
