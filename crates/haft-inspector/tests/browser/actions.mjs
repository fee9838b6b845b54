// What a person does: watch a live turn, search an artifact, approve with edits, deny, fork.

import { check, checkViolations, main, openPage, visit } from "./driver.mjs";

main(async (browser, url) => {
  const page = await openPage(browser, url);
  const origin = new URL(url).origin;
  const text = (selector) => page.locator(selector).first().innerText();

  // The token is gone from the address, and the list is there.
  check(!page.url().includes("token"), `the token stays in the address: ${page.url()}`);
  await page.waitForSelector(".turn-link");
  check((await page.locator(".turn-link").count()) === 9, `turns: ${await page.locator(".turn-link").count()}`);
  check((await text(".waiting-pill")).includes("1 waiting"), "the counter of gates");

  // Search and filters.
  await page.fill("#search", "checkout");
  await page.waitForFunction(() => document.querySelectorAll(".turn-link").length === 1);
  await page.fill("#search", "refund");
  await page.getByText("No turn matches").waitFor();
  await page.getByText("Clear filters").click();
  await page.waitForFunction(() => document.querySelectorAll(".turn-link").length === 9);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".event.step");

  // A live turn: text as it is written, then the call with its coercion, then the end.
  await page.evaluate((it) => fetch(`${it}/test/start-live`), origin);
  await visit(page, "#/turns/0199-live");
  await page.waitForSelector(".live");
  const next = () => page.evaluate((it) => fetch(`${it}/test/next-piece`), origin);
  await next();
  await page.locator(".streaming").getByText("I look").waitFor();
  await next();
  await page.locator(".streaming").getByText("I look at the").waitFor();
  await next();
  await next();
  await page.locator(".event.call").getByText("read_sensor").waitFor();
  await page.locator(".badge.coerced").first().waitFor();
  check((await page.locator(".streaming").count()) === 0, "a text that is stored is shown once");
  for (let n = 0; n < 4; n += 1) await next();
  await page.locator(".facts .state-completed").waitFor();

  // A call with raw and accepted arguments.
  await visit(page, "#/turns/0199-log-detective");
  await page.locator(".event.call", { hasText: "artifact_grep" }).first().locator(".row-button").click();
  await page.locator(".detail .diff .added").first().waitFor();
  check((await text(".detail .diff .added")).includes("\"limit\": 3"), "the accepted argument");
  check((await page.locator(".event.call.refused").count()) === 1, "refused calls");

  // What the model saw.
  await visit(page, "#/turns/0199-log-detective/request/3");
  await page.locator(".part").first().waitFor();
  check((await text(".parts-head")).includes("equal bytes"), `the request is rendered as it was sent: ${await text(".parts-head")}`);
  check((await page.locator(".segment.open").count()) >= 2, "envelopes are shown as they were sent");
  await page.getByText("As JSON").click();
  await page.locator(".parts .code").waitFor();

  // The artifact: lines, a search, the next match, go to a line.
  await visit(page, "#/turns/0199-log-detective/artifacts");
  await page.locator(".line.ready").first().waitFor();
  await page.fill("#line-search", "ERROR +checkout");
  await page.keyboard.press("Enter");
  await page.locator(".line.current mark").first().waitFor();
  check((await text(".line.current .line-number")).replace(/\D/g, "") === "10000", `the first match: ${await text(".line.current")}`);
  await page.locator(".line-scroll").focus();
  await page.keyboard.press("n");
  await page.waitForFunction(() => document.querySelector(".line.current .line-number")?.textContent.replace(/\D/g, "") === "20000");
  await page.fill("#go-to-line", "42000");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".line.current .line-number")?.textContent.replace(/\D/g, "") === "42000");
  check((await page.locator("haft-lines .line").count()) <= 200, "few nodes");
  await page.getByRole("button", { name: /Run artifact_read/ }).click();
  await page.getByText("ran in").waitFor();

  // JSON by path, a table of CSV, an outline.
  await visit(page, "#/turns/0199-data-desk/artifacts");
  await page.locator(".tree .branch").first().waitFor();
  await page.fill("#json-path", "$[?@.status == \"open\" && @.total > 1600].id");
  await page.keyboard.press("Enter");
  await page.locator(".tree .leaf").first().waitFor();
  await page.locator(".artifact-side a", { hasText: "get_prices" }).click();
  await page.locator(".data td", { hasText: "Lamp, 3 W" }).first().waitFor();
  check((await page.locator(".data thead th").allInnerTexts()).join() === "#,sku,name,price,stock", "the columns are in the order of the table");
  await page.locator(".artifact-side a", { hasText: "read_manual" }).click();
  await page.locator(".outline .link", { hasText: "Chapter 7" }).click();
  await page.locator(".line.current").getByText("## Chapter 7").waitFor();

  // A gate: an edit is validated, counted, and runs.
  await visit(page, "#/waiting");
  await page.locator("haft-gate-form textarea").first().waitFor();
  // What the call would change is a diff of text.
  const preview = page.locator(".preview-of-call .diff");
  check((await preview.locator(".removed").allInnerTexts()).join().includes("- milk") && (await preview.locator(".added").allInnerTexts()).join().includes("- coffee"), "the preview of the call");
  check((await page.locator(".gate-fields label").first().innerText()).startsWith("path"), "required fields come in the order of the schema");
  await page.locator("haft-gate-form textarea").first().fill("# Shopping list\n\n- bread\n- coffee, ground\n");
  await page.getByRole("button", { name: "Approve with 1 edit" }).waitFor();
  await page.locator("haft-gate-form input[type=text]").first().fill("list.md");
  await page.getByRole("button", { name: "Approve with 1 edit" }).click();
  await page.getByText("Nothing waits").waitFor();
  await visit(page, "#/turns/0199-approval-flow");
  await page.locator(".facts .state-completed").waitFor();
  await page.locator(".badge", { hasText: "approved with edits" }).first().waitFor();
  await page.locator(".event.call", { hasText: "write_file" }).locator(".row-button").click();
  await page.getByText("Edited before approval").waitFor();
  await page.getByText("as it was said at the approval").waitFor();

  // A fork from step 2: the calls before it come from the record.
  await visit(page, "#/turns/0199-log-detective/fork/3");
  await page.fill("#fork-message", "Put a backslash before a bracket that stands for itself.");
  await page.getByRole("button", { name: "Start the fork" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#/turns/") && !location.hash.startsWith("#/turns/0199-log"));
  await page.locator(".facts .state-completed").waitFor({ timeout: 20_000 });
  await page.locator(".event", { hasText: "Put a backslash" }).first().waitFor();

  // Try a tool, which asks for approval, and deny it with guidance.
  await visit(page, "#/agents/approval%20flow");
  await page.locator(".tool-card summary", { hasText: "write_file" }).click();
  await page.locator(".tool-card[open] input[type=text]").first().fill("new.md");
  await page.getByRole("button", { name: "Call write_file" }).click();
  await page.locator(".gate-card .button").first().click();
  await page.locator(".deny input").fill("Use another file.");
  await page.getByRole("button", { name: "Deny" }).click();
  await page.locator(".badge", { hasText: "denied, did not run" }).first().waitFor();
  await checkViolations(page, "actions");
});
