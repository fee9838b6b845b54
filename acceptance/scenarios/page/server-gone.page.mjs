// The server is stopped and started again while a tab is open. A turn that could not be read meanwhile is read then, without
// a reload.

import { haft, newestTurn, scenario, startWeb, visit, waitForText, writeAgent } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("talker", "", "steps:\n  - say: This is still here.\n");
  await haft(["run", "talker"]);
  const { id } = await newestTurn();
  const first = await startWeb();
  const page = await open(first.address);
  await page.locator(".turn-link").first().waitFor();
  await first.stop("SIGKILL");
  await visit(page, `#/turns/${id}`);
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await startWeb(["--port", first.port]);
  await waitForText(page, ".event.text", "This is still here.");
});
