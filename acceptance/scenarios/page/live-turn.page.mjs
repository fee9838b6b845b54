// A turn that another process runs appears in the list, and is followed to its end without a reload.

import assert from "node:assert/strict";
import fs from "node:fs";
import { haftJson, scenario, start, startWeb, texts, waitForText, writeAgent } from "./lib/page.mjs";

const WAIT = `[tools.command.wait]
description = "Waits for a file."
argv = ["sh", "-c", "until [ -e go ]; do sleep 0.02; done; echo went"]
effect = "read-only"
`;

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("patient", WAIT, "steps:\n  - call: { wait: {} }\n  - say: 'It {{ last.wait }}'\n");
  const web = await startWeb();
  const page = await open(web.address);
  await page.getByText("No turns yet").waitFor();

  const run = start(["run", "patient"]);
  await page.locator(".turn-link", { hasText: "Go." }).click();
  await page.locator(".event.call", { hasText: "wait" }).waitFor();
  assert.deepEqual((await texts(page, ".facts .state"))[0], "Running");
  assert.equal(await page.locator(".facts .live").count(), 1);

  fs.writeFileSync("patient/go", "");
  await page.locator(".facts .state-completed").waitFor();
  assert.equal(await page.locator(".facts .live").count(), 0);
  await waitForText(page, ".event.text", "It went");
  assert.equal(await run.ended, 0);
  const { turns } = await web.ask("turns");
  const shown = await haftJson(["show", turns[0].id, "--json"]);
  assert.equal(await page.locator(".event.step").count(), shown.steps.length);
});
