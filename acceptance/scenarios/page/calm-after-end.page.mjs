// After the end of a turn that was watched the page is calm: no connection is lost, and no stream is opened again.

import assert from "node:assert/strict";
import fs from "node:fs";
import { scenario, start, startWeb, texts, until, writeAgent } from "./lib/page.mjs";

const WAIT = `[tools.command.wait]
description = "Waits for a file."
argv = ["sh", "-c", "until [ -e go ]; do sleep 0.02; done"]
effect = "read-only"
`;

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("patient", WAIT, "steps:\n  - call: { wait: {} }\n  - say: Over.\n");
  const run = start(["run", "patient"]);
  const web = await startWeb();
  const page = await open(web.address);
  const ofTurn = new Set();
  page.on("request", (request) => /turns\/[^/]+\/events/.test(request.url()) && ofTurn.add(request));
  await page.locator(".turn-link", { hasText: "Go." }).click();
  await page.locator(".event.call", { hasText: "wait" }).waitFor();
  assert.ok(ofTurn.size > 0, "the turn is followed");

  fs.writeFileSync("patient/go", "");
  await page.locator(".facts .state-completed").waitFor();
  await run.ended;
  // The server has said that this was the end. The stream of the turn is closed by the page, so that the browser does not
  // open it again.
  const streams = () => page.evaluate(() => globalThis.liveStreams.filter((it) => /turns\/[^/]+\/events/.test(it.url)).map((it) => it.signal.aborted));
  await until(async () => (await streams()).every((isClosed) => isClosed), "the stream of the ended turn is closed");
  assert.equal(ofTurn.size, 1, "it was opened once");
  assert.deepEqual(await texts(page, ".connection"), ["Connected"]);
  const head = (await texts(page, ".turn-head")).join();
  assert.ok(!/Not live|reconnect/i.test(head), head);
});
