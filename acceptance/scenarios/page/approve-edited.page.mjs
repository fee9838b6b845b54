// A person approves a call in the page with other arguments than the model's. The tool runs with those of the person, in
// the process of the page, and the record tells both.

import assert from "node:assert/strict";
import fs from "node:fs";
import { copyExample, haft, haftJson, newestTurn, scenario, startWeb, visit, waitForText } from "./lib/page.mjs";

const LIST = "approval-flow/data/list.generated.md";

await scenario(process.env.BROWSER_URL, async (open) => {
  copyExample("approval-flow");
  await haft(["run", "approval-flow", "--trust", "--gates", "park"], { code: 4 });
  const { id } = await newestTurn();
  const web = await startWeb();
  const page = await open(web.address);

  // Reading the list is approved as it was asked for.
  await visit(page, "#/waiting");
  await waitForText(page, "haft-gate-form h2", "read_file");
  await page.getByRole("button", { name: "Approve", exact: true }).click();

  // Writing it is approved with another content.
  const content = "# Shopping list\n\n- bread\n- coffee, ground\n";
  await visit(page, `#/turns/${id}`);
  await page.locator(".event.call", { hasText: "write_file" }).getByRole("button", { name: "Decide" }).click();
  await page.locator("haft-gate-form").getByRole("textbox", { name: /^content/ }).fill(content);
  await page.getByRole("button", { name: "Approve with 1 edit" }).click();
  await page.locator(".facts .state-completed").waitFor();
  await page.locator(".badge", { hasText: "approved with edits" }).first().waitFor();

  assert.equal(fs.readFileSync(LIST, "utf8"), content);
  const shown = await haftJson(["show", id, "--json"]);
  const call = shown.records.map((it) => it.record).find((it) => it.tool === "write_file");
  assert.equal(JSON.parse(call.edited).content, content);
  assert.ok(JSON.parse(call.raw).content.includes("- two onions"), "the record keeps what the model asked for");
  assert.equal(call.state, "succeeded");
  // The answer is the one of the call that ran.
  await waitForText(page, ".event.text", `wrote ${Buffer.byteLength(content)} bytes`);
});
