// The lines of the waterfall stand where the axis has its words.

import assert from "node:assert/strict";
import { copyExample, haft, newestTurn, scenario, startWeb, visit } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  copyExample("document-reader");
  await haft(["run", "document-reader", "--trust"]);
  const { id } = await newestTurn();
  const web = await startWeb();
  const page = await open(web.address);
  await visit(page, `#/turns/${id}`);
  await page.locator(".event.step").first().waitFor();
  const [ticks, lines] = await page.evaluate(() => {
    const axis = document.querySelector(".axis");
    const words = [...axis.querySelectorAll("span")].map((it) => parseFloat(it.style.left) / 100);
    const grid = [...document.querySelector("svg.waterfall").querySelectorAll(".grid")].map((it) => Number(/M([\d.]+) /.exec(it.getAttribute("d"))[1]) / 1000);
    return [words, grid];
  });
  assert.ok(ticks.length > 1 && lines.length > 0, JSON.stringify([ticks, lines]));
  for (const line of lines) {
    assert.ok(ticks.some((tick) => Math.abs(tick - line) < 0.005), `no words at the line ${line}, but at ${ticks.join(", ")}`);
  }
});
