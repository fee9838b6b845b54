// A turn that failed says so, with its error: in the list, in its head, and as `haft show --json` has it. A turn that was
// stopped by its limit says which, and one whose model API refused the key says that.

import assert from "node:assert/strict";
import { haft, haftJson, newestTurn, scenario, startWeb, visit, waitForText, writeAgent } from "./lib/page.mjs";

const TOOL = '[tools.command.look]\ndescription = "Looks."\nargv = ["echo", "nothing here"]\neffect = "read-only"\n';

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("seeker", TOOL, "steps:\n  - call: { look: {} }\n  - expect: { look: { contains: treasure } }\n    say: Found.\n");
  await haft(["run", "seeker"], { code: 1 });
  const failed = await newestTurn();
  writeAgent("walker", `${TOOL}[limits]\niterations = 1\n`, "steps:\n  - call: { look: {} }\n  - say: Done.\n");
  await haft(["run", "walker"], { code: 1 });
  const limited = await newestTurn();
  writeAgent("asker", "", "steps:\n  - say: unused\n");
  process.env.OPENAI_BASE_URL = `${process.env.PROVIDER_URL}/401/v1`;
  await haft(["run", "asker", "--model", "openai:m"], { code: 1 });
  const refused = await newestTurn();
  assert.deepEqual([failed.status, limited.status, refused.status], ["failed", "limit-reached", "failed"]);

  const web = await startWeb();
  const page = await open(web.address);
  for (const [turn, word, pattern] of [[failed, "Failed", /treasure|something else than expected/], [limited, "Limit reached", /limit/i], [refused, "Failed", /401/]]) {
    await visit(page, "#/turns");
    const row = `.turn-row[data-turn="${turn.id}"]`;
    await waitForText(page, `${row} .under`, pattern);
    assert.equal((await page.locator(`${row} .c0`).innerText()).trim(), word);
    await visit(page, `#/turns/${turn.id}`);
    const { journal } = await haftJson(["show", turn.id, "--json"]);
    const { error } = journal.find((it) => it.entry === "ended");
    const card = await waitForText(page, ".turn-head .card", /./);
    for (const words of [error.message, error.code].filter(Boolean)) {
      assert.ok(card.includes(words.replace(/\s+/g, " ")), `"${words}" is in the card: ${card}`);
    }
    assert.equal((await page.locator(".facts .state").innerText()).trim(), word);
  }
});
