// A model API that fails stops a turn. The page says why, and does not claim that the turn runs.

import assert from "node:assert/strict";
import { haft, newestTurn, scenario, startWeb, texts, visit, writeAgent } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("asker", "", "steps:\n  - say: unused\n");
  process.env.OPENAI_BASE_URL = `${process.env.PROVIDER_URL}/500/v1`;
  await haft(["run", "asker", "--model", "openai:m"], { code: 1 });
  const { id } = await newestTurn();
  const web = await startWeb();
  const page = await open(web.address);
  await visit(page, `#/turns/${id}`);
  await page.locator(".facts .state").waitFor();
  const head = (await texts(page, ".turn-head")).join();
  assert.match(head, /500/, `the head says what the API answered: ${head}`);
  assert.ok(!/\bLive\b/.test(head), "nothing runs");
});
