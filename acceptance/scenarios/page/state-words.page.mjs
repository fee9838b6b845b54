// A turn that a failing model API stopped has one word for its state: on the page, in the list of `haft turns`, and in its JSON.

import assert from "node:assert/strict";
import { haft, newestTurn, scenario, startWeb, texts, visit, writeAgent } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("asker", "", "steps:\n  - say: unused\n");
  process.env.OPENAI_BASE_URL = `${process.env.PROVIDER_URL}/500/v1`;
  await haft(["run", "asker", "--model", "openai:m"], { code: 1 });
  const { id, status } = await newestTurn();
  const [, word] = (await haft(["turns"])).trim().split(/ {2,}/);
  const web = await startWeb();
  const page = await open(web.address);
  await visit(page, `#/turns/${id}`);
  await page.locator(".facts .state").waitFor();
  const [state] = await texts(page, ".facts .state");
  assert.deepEqual([state.toLowerCase(), status], [word, word]);
});
