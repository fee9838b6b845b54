// The server is killed while a call waits for a decision. The address that its successor prints shows the same turn with
// the same question, and the decision completes it.

import assert from "node:assert/strict";
import { copyExample, haft, newestTurn, scenario, startWeb, texts, visit, waitForText } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  copyExample("approval-flow");
  await haft(["run", "approval-flow", "--trust", "--gates", "park"], { code: 4 });
  const { id } = await newestTurn();
  const first = await startWeb();
  const page = await open(first.address);
  await visit(page, `#/turns/${id}`);
  const question = await waitForText(page, ".gate-card h3", "read_file");
  const rows = await texts(page, ".event .body");

  // The address of a turn keeps its place when the tab is loaded again.
  await page.reload();
  assert.equal(await waitForText(page, ".gate-card h3", "read_file"), question);

  await first.stop("SIGKILL");
  const second = await startWeb(["--port", first.port]);
  await page.goto("about:blank");
  await page.goto(second.address);
  await page.locator(".turn-link").first().click();
  assert.equal(await waitForText(page, ".gate-card h3", "read_file"), question);
  assert.deepEqual(await texts(page, ".event .body"), rows);
  assert.ok(page.url().includes(id), page.url());

  for (const tool of ["read_file", "write_file"]) {
    await page.locator(".event.call", { hasText: tool }).getByRole("button", { name: "Decide" }).click();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
  }
  await page.locator(".facts .state-completed").waitFor();
});
