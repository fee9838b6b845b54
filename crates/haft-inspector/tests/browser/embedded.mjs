// The page below a path of another application: it finds its files, its API and its live streams.

import { checkViolations, main, openPage, visit } from "./driver.mjs";

main(async (browser, url) => {
  const page = await openPage(browser, url, { next: new URL("/team/inspector", url).href });
  await page.waitForSelector(".turn-link");
  await page.locator(".connection.connected").waitFor();
  await visit(page, "#/turns/0199-log-detective/artifacts");
  await page.locator(".line.ready").first().waitFor();
  await visit(page, "#/turns/0199-data-desk");
  await page.locator(".event.call", { hasText: "draw_chart" }).locator(".row-button").click();
  await page.waitForFunction(() => document.querySelector(".media img")?.naturalWidth > 0);
  await checkViolations(page, "embedded");
});
