// A picture that a tool has made is shown in the page, SVG included, and it can be saved. An artifact can be saved, too.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { newestTurn, haft, scenario, startWeb, visit, writeAgent } from "./lib/page.mjs";

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>document.title = "ran"; fetch("/x")</script><rect width="40" height="20" fill="red"/></svg>';
const TOOLS = `[tools.command.list]
description = "Lists many numbers."
argv = ["seq", "1", "5000"]
effect = "read-only"
artifact = "text"
[tools.command.draw]
description = "Draws."
argv = ["cat", "drawing.svg"]
effect = "read-only"
media = "image/svg+xml"
`;

/** What the button of a view saves. */
async function save(page, file) {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: /^Save / }).click();
  await (await download).saveAs(path.resolve(file));
  return fs.readFileSync(file, "utf8");
}

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("painter", TOOLS, "steps:\n  - call: { draw: {} }\n  - call: { list: {} }\n  - say: Done.\n", { "drawing.svg": SVG });
  await haft(["run", "painter"]);
  const { id } = await newestTurn();
  const web = await startWeb();
  const page = await open(web.address);
  await visit(page, `#/turns/${id}`);
  await page.locator(".event.call", { hasText: "draw" }).locator(".row-button").click();
  await page.getByRole("button", { name: "Show this picture" }).click();
  await page.waitForFunction(() => document.querySelector("figure img")?.naturalWidth === 40);
  assert.notEqual(await page.title(), "ran", "nothing in a picture runs");
  assert.equal(await save(page, "saved.svg"), SVG);

  await visit(page, `#/turns/${id}/artifacts`);
  const text = await save(page, "saved.txt");
  assert.equal(text.trim().split("\n").length, 5000);
});
