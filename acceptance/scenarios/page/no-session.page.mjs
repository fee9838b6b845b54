// Without its token the page shows nothing of the store, and says in view what it needs.

import assert from "node:assert/strict";
import { haft, scenario, startWeb, writeAgent } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("secret", "", "steps:\n  - say: Nobody may read this.\n");
  await haft(["run", "secret"]);
  const web = await startWeb();
  const page = await open(`${web.origin}/#/turns`);
  const words = page.getByText("This page needs a session");
  await words.waitFor();
  assert.ok(!(await page.content()).includes("Nobody may read"), "nothing of the store is in the page");
  const point = await words.evaluate((it) => {
    const box = it.getBoundingClientRect();
    return it.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
  });
  assert.ok(point, "the words are in view");
});
