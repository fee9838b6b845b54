// The time that a person takes to decide is not the time of the tool.

import assert from "node:assert/strict";
import { haft, newestTurn, readDuration, scenario, startWeb, visit, writeAgent } from "./lib/page.mjs";

const TOOL = '[tools.command.refund]\ndescription = "Refunds."\nargv = ["echo", "refunded"]\napproval = "Refund?"\n';

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("clerk", TOOL, "steps:\n  - call: { refund: {} }\n  - say: Over.\n");
  await haft(["run", "clerk", "--gates", "park"], { code: 4 });
  const parked = Date.now();
  const { id } = await newestTurn();
  const web = await startWeb();
  const page = await open(web.address);
  await visit(page, `#/turns/${id}`);
  await page.locator(".gate-card").getByRole("button", { name: "Decide" }).click();
  const approve = page.getByRole("button", { name: "Approve", exact: true });
  await approve.waitFor();
  const waited = Date.now() - parked;
  await approve.click();
  await page.locator(".facts .state-completed").waitFor();
  const ran = Date.now() - parked - waited;
  const took = readDuration(await page.locator(".event.call .took").innerText());
  assert.ok(took.value <= ran + took.step, `the tool ran for at most ${ran} ms, the person waited ${waited} ms, the page shows ${took.value} ms`);
});
