// Many calls at once while one of them waits for a person: nothing that is being used is replaced by what happens meanwhile.

import { check, checkViolations, main, openPage, visit } from "./driver.mjs";

main(async (browser, url) => {
  const page = await openPage(browser, url);
  const origin = new URL(url).origin;
  const next = () => page.evaluate((it) => fetch(`${it}/test/next-piece`), origin);
  const results = (number) => page.waitForFunction((it) => [...document.querySelectorAll(".event.call .result")].filter((row) => row.textContent.includes("21 degrees")).length >= it, number);
  await page.waitForSelector(".turn-link");
  await page.evaluate((it) => fetch(`${it}/test/start-parallel`), origin);
  await visit(page, "#/turns/0199-parallel");
  await page.locator(".gate-card").waitFor();
  check((await page.locator(".event.call").count()) === 13, `calls at once: ${await page.locator(".event.call").count()}`);

  // A sensor answers between pressing and releasing the button.
  await page.locator(".gate-card .button").hover();
  await page.mouse.down();
  await next();
  await results(1);
  await page.mouse.up();
  const content = page.locator(".gate-form textarea");
  await content.waitFor();

  // Sensors answer while the form is filled in.
  await content.fill("- cellar\n- roof\n- attic\n");
  await next();
  await results(2);
  check((await content.inputValue()).includes("attic"), "a field keeps its text");
  check(await content.evaluate((it) => document.activeElement === it), "a field keeps the focus");

  // So does the form of a fork, and the button that cancels the turn is the same one.
  await page.evaluate(() => { document.querySelector(".actions .button.danger").dataset.seen = "yes"; });
  await page.locator("#tab-fork").click();
  await page.fill("#fork-message", "And the garden?");
  await next();
  await visit(page, "#/turns/0199-parallel/fork");
  await page.waitForTimeout(300);
  check((await page.inputValue("#fork-message")) === "And the garden?", "the form of a fork keeps its text");
  check((await page.locator(".actions .button.danger").getAttribute("data-seen")) === "yes", "a button stays the same");
  await page.locator("#tab-timeline").click();
  await page.locator(".gate-card .button").click();
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  for (let n = 0; n < 10; n += 1) await next();
  await page.locator(".facts .state-completed").waitFor();
  await page.locator(".event", { hasText: "All rooms are warm." }).first().waitFor();
  await checkViolations(page, "parallel calls");
});
