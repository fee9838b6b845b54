// A browser shares its cookies among all ports of a host. Another server of the machine that the same browser opens learns
// nothing that opens the inspector, and no file of the page asks the browser to send something by itself. A link of the
// page that is opened in a new tab has the session of its tab.

import assert from "node:assert/strict";
import http from "node:http";
import { haft, newestTurn, scenario, startWeb, visit, waitForText, writeAgent } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("talker", "", "steps:\n  - say: Nobody else may read this.\n");
  await haft(["run", "talker"]);
  const { id } = await newestTurn();
  const web = await startWeb();
  const page = await open(web.address);
  await visit(page, `#/turns/${id}`);
  await waitForText(page, ".event.text", "Nobody else may read this.");
  const token = web.address.split("#token=")[1];
  assert.ok(!page.url().includes(token), page.url());
  assert.deepEqual(await page.context().cookies(), []);

  const heard = [];
  const other = http.createServer((request, response) => {
    heard.push(request.headers);
    response.end("<title>other</title>");
  });
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  const tab = await page.context().newPage();
  await tab.goto(`http://127.0.0.1:${other.address().port}/`);
  other.close();
  assert.ok(heard.length > 0);
  for (const headers of heard) {
    assert.ok(!JSON.stringify(headers).includes(token), JSON.stringify(headers));
    const { cookie, authorization } = headers;
    const sent = { "x-haft-action": "1", ...(cookie && { cookie }), ...(authorization && { authorization }) };
    const response = await fetch(`${web.origin}/api/turns`, { headers: sent });
    assert.equal(response.status, 401, JSON.stringify(sent));
  }

  await tab.goto(`${web.origin}/#/turns/${id}`);
  await waitForText(tab, ".event.text", "Nobody else may read this.");
  await tab.close();
});
