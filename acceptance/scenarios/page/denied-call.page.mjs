// Two calls wait. The one that is denied does not run, and does not look as if it did, while the other still waits.

import assert from "node:assert/strict";
import { haft, newestTurn, scenario, startWeb, visit, writeAgent } from "./lib/page.mjs";

const TOOLS = ["refund", "notify"].map((name) => `[tools.command.${name}]\ndescription = "Does it."\nargv = ["echo", "done"]\napproval = "${name}?"\n`).join("");

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("clerk", TOOLS, "steps:\n  - call:\n      - refund: {}\n      - notify: {}\n  - say: Over.\n");
  await haft(["run", "clerk", "--gates", "park"], { code: 4 });
  const { id } = await newestTurn();
  const web = await startWeb();
  const page = await open(web.address);
  await visit(page, `#/turns/${id}`);
  const refund = page.locator(".event.call", { hasText: "refund" });
  await refund.getByRole("button", { name: "Decide" }).click();
  await page.locator("haft-gate-form input").last().fill("Ask the owner first.");
  await page.getByRole("button", { name: "Deny" }).click();
  await page.locator(".gate-card", { hasText: "refund" }).waitFor({ state: "detached" });
  assert.equal(await page.locator(".gate-card", { hasText: "notify" }).count(), 1, "the other call waits");
  assert.match(await refund.innerText(), /denied/i);
  assert.equal((await refund.locator(".took").innerText()).trim(), "", "no clock of a call that does not run");
});
