// The time of the model is the time of the model: what the page shows for each step is what the journal has. A script takes
// no time, however long it takes to store what it and its tools have written.

import { assertDuration, copyExample, haft, haftJson, newestTurn, scenario, startWeb, visit, waitForText } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  copyExample("document-reader");
  await haft(["run", "document-reader", "--trust"]);
  const { id } = await newestTurn();
  const { steps } = await haftJson(["show", id, "--json"]);
  const web = await startWeb();
  const page = await open(web.address);
  for (const { step, milliseconds } of steps) {
    await visit(page, `#/turns/${id}?at=step%2F${step}`);
    await waitForText(page, ".detail h2", `Step ${step}`);
    const facts = page.locator(".detail dl.pairs");
    const model = await facts.locator("dt", { hasText: /^Model$/ }).locator("xpath=following-sibling::dd[1]").innerText();
    assertDuration(model.split(",")[0], milliseconds, `the model in step ${step}`, 1);
  }
});
