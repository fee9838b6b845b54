// Content of others is text, wherever it stands.

import { check, checkViolations, main, openPage, visit } from "./driver.mjs";

main(async (browser, url) => {
  const page = await openPage(browser, url, { expectedErrors: ["400", "404"] });
  await page.waitForSelector(".turn-link");
  for (const hash of [
    "#/turns", "#/turns/0199-naughty", "#/turns/0199-naughty/artifacts", "#/turns/0199-hostile", "#/turns/0199-hostile/artifacts", "#/turns/0199-hostile/fork", "#/waiting", "#/agents/hostile", "#/conversations",
    "#/turns/%3Cscript%3E", "#/turns?search=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
  ]) {
    await visit(page, hash);
    await page.waitForTimeout(400);
    const found = await page.evaluate(() => ({
      hacked: globalThis.hacked === true,
      scripts: document.querySelectorAll("body script").length,
      pictures: [...document.images].filter((it) => !it.src.includes("icon.svg") && !it.src.includes("/media/")).length,
      handlers: [...document.querySelectorAll("*")].filter((it) => [...it.attributes].some((attribute) => attribute.name.startsWith("on") || attribute.name === "style" && it.closest("haft-app") === null)).length,
      raw: /[\u0001-\u0008\u000b\u000c\u000e-\u001f\u202a-\u202e\u2066-\u2069\u200b\ufeff]/u.test(document.body.innerText),
    }));
    check(!found.hacked && found.scripts === 0 && found.pictures === 0 && found.handlers === 0, `${hash}: ${JSON.stringify(found)}`);
    check(!found.raw, `${hash}: a hidden character is not named`);
  }
  // Every line of the naughty strings comes into view once.
  await visit(page, "#/turns/0199-naughty/artifacts");
  const hasLines = await page.locator(".line.ready").first().waitFor({ timeout: 5000 }).then(() => true, () => false);
  for (let at = 0; hasLines && at < 200; at += 1) {
    await page.locator(".line-scroll").press("PageDown");
    await page.waitForFunction(() => !document.querySelector(".line.loading"));
    const isEnd = await page.evaluate(() => { const it = document.querySelector(".line-scroll"); return it.scrollTop + it.clientHeight >= it.scrollHeight - 1; });
    if (isEnd) break;
  }
  check((await page.evaluate(() => globalThis.hacked)) !== true, "a naughty string ran");
  check(page.url().includes("#/turns/0199-naughty"), `a naughty string led away: ${page.url()}`);
  await visit(page, "#/turns/0199-hostile");
  for (const row of await page.locator(".event .row-button").all()) {
    await row.click();
    await page.waitForTimeout(60);
  }
  check((await page.locator(".hidden-mark").count()) > 0, "hidden characters are named");
  check((await page.getByRole("button", { name: "Cancel turn" }).count()) === 0, "a read-only page offers no action");
  await checkViolations(page, "hostile content");
});
