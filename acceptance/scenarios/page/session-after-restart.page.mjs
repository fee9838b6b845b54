// A tab that is open survives a restart of the server at the same port: reloaded, it shows the same turn.

import { haft, newestTurn, scenario, startWeb, visit, waitForText, writeAgent } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("talker", "", "steps:\n  - say: This is still here.\n");
  await haft(["run", "talker"]);
  const { id } = await newestTurn();
  const first = await startWeb();
  const page = await open(first.address);
  await visit(page, `#/turns/${id}`);
  await waitForText(page, ".event.text", "This is still here.");
  await first.stop("SIGKILL");
  await startWeb(["--port", first.port]);
  await page.reload();
  await page.locator("main#main").waitFor();
  await page.locator(".event.text", { hasText: "This is still here." }).waitFor({ timeout: 5000 });
});
