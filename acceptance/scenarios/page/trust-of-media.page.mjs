// A result has one trust tier. A picture that a command has drawn is as little trusted as the text that a command prints.

import assert from "node:assert/strict";
import { copyExample, haft, newestTurn, scenario, startWeb, texts, visit } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  copyExample("media-maker");
  await haft(["run", "media-maker"]);
  const { id } = await newestTurn();
  const web = await startWeb();
  const page = await open(web.address);
  await visit(page, `#/turns/${id}`);
  await page.locator(".event.call", { hasText: "draw_chart" }).locator(".row-button").click();
  await page.locator(".detail figure.media").waitFor();
  const tiers = await texts(page, ".detail .tier");
  assert.ok(tiers.length > 0);
  assert.deepEqual([...new Set(tiers)], ["third-party, public"]);
});
