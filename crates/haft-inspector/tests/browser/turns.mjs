// Conversations as threads, a replay, a fork whose tools run, zoom, keys, and filters.

import { check, checkViolations, main, openPage, visit } from "./driver.mjs";

main(async (browser, url) => {
  const page = await openPage(browser, url);
  const origin = new URL(url).origin;
  await page.waitForSelector(".turn-link");

  // Filters: agent, model, tokens, time, state.
  const turns = () => page.locator(".turn-link").count();
  await page.locator("select[aria-label=Agent]").selectOption("gardener");
  await page.waitForFunction(() => document.querySelectorAll(".turn-link").length === 3);
  await page.locator("select[aria-label=Tokens]").selectOption("10000");
  await page.getByText("No turn matches").waitFor();
  await page.getByText("Clear filters").click();
  // The turns are older, and the server understands how a browser writes a time.
  await page.locator("select[aria-label=Time]").selectOption("168");
  await page.getByText("No turn matches").waitFor();
  await page.getByText("Clear filters").click();
  await page.locator("select[aria-label=Tokens]").selectOption("10000");
  await page.waitForFunction(() => document.querySelectorAll(".turn-link").length === 1);
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByRole("button", { name: "Failed", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".turn-link").length === 1);
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByRole("button", { name: "With coerced calls" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".turn-link").length === 1);
  check((await turns()) === 1, "turns with coerced calls");
  await page.locator(".c7", { hasText: "est." }).first().waitFor();

  // Two filters that change before the browser tells of the first change.
  const address = await page.evaluate(() => {
    [...document.querySelectorAll("button.chip")].find((it) => it.textContent === "All").click();
    const tools = document.querySelector("select[aria-label=Tool]");
    tools.value = "artifact_grep";
    tools.dispatchEvent(new Event("change"));
    return location.hash;
  });
  check(address === "#/turns?tool=artifact_grep", `the address after two changes at once: ${address}`);
  await page.waitForFunction(() => document.querySelectorAll(".turn-link").length === 1);
  await page.locator("select[aria-label=Tool]").selectOption("read_file");
  await page.waitForFunction(() => document.querySelectorAll(".turn-link").length === 3);

  // A conversation is one row that opens into its turns.
  await visit(page, "#/conversations");
  await page.locator(".thread-link").first().waitFor();
  check((await page.locator(".thread").count()) === 1, "conversations");
  await page.locator(".thread-link").first().click();
  await page.locator(".said.model").nth(2).waitFor();
  const said = await page.locator(".said.user").allInnerTexts();
  check(said[0].includes("garlic") && said[2].includes("strawberries"), `the thread begins with its first turn: ${said}`);

  // The keys of the page, and what they do.
  await visit(page, "#/turns/0199-log-detective");
  await page.locator(".event.step").first().waitFor();
  await page.keyboard.press("?");
  await page.locator("dialog.keys").getByText("zoom to the selected row").waitFor();
  await page.keyboard.press("Escape");
  // Its field has the focus until it is gone, and keys in fields are text.
  await page.locator("dialog.keys").waitFor({ state: "detached" });
  await page.keyboard.press("]");
  await page.keyboard.press("]");
  await page.locator(".event.step.selected", { hasText: "Step 2" }).waitFor();
  await page.keyboard.press("j");
  await page.locator(".event.text.selected").waitFor();
  const axis = () => page.locator(".axis").innerText();
  const whole = await axis();
  await page.keyboard.press("z");
  await page.waitForFunction((before) => document.querySelector(".axis").innerText !== before, whole);
  await page.keyboard.press("0");
  await page.waitForFunction((before) => document.querySelector(".axis").innerText === before, whole);
  const box = await page.locator(".axis").boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 8);
  await page.mouse.up();
  await page.waitForFunction((before) => document.querySelector(".axis").innerText !== before, whole);
  await page.keyboard.press("c");
  await page.waitForFunction(() => document.querySelectorAll(".event.call").length === 0);
  await page.keyboard.press("c");
  await page.locator(".event.call").first().waitFor();
  await page.keyboard.press("s");
  await page.waitForFunction(() => location.hash.includes("/request/"));
  await page.keyboard.press("d");
  await page.locator(".chip[aria-pressed=true]", { hasText: "Changed since" }).waitFor();
  // The beginning of a request is the request before it: nothing of it is lost.
  await visit(page, "#/turns/0199-log-detective/request/3");
  await page.locator(".part").first().waitFor();
  check((await page.locator(".part .diff").count()) === 0, "a request repeats the one before");

  // Words are found in the whole turn, also in what is not shown.
  await visit(page, "#/turns/0199-log-detective");
  await page.locator(".event.step").first().waitFor();
  await page.keyboard.press("/");
  await page.locator("#find-row:focus").waitFor();
  await page.keyboard.type("bracket");
  await page.keyboard.press("Enter");
  await page.locator(".event.text.selected", { hasText: "open bracket" }).waitFor();
  await page.locator(".find-bar .search-state", { hasText: /^1 of 1$/ }).waitFor();
  await page.fill("#find-row", "artifact_grep");
  await page.keyboard.press("Enter");
  await page.locator(".event.call.selected.found").waitFor();
  await page.locator(".timeline-scroll").focus();
  await page.keyboard.press("n");
  await page.locator(".search-state", { hasText: "2 of 3" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".find-bar").waitFor({ state: "detached" });

  // A query of the model runs again with other arguments.
  await visit(page, "#/turns/0199-log-detective/artifacts?line=9999");
  await page.locator(".line.read.ready").first().waitFor();
  check((await page.locator(".line.read").count()) === 5, "the lines that the model read");
  await page.getByRole("button", { name: "Run artifact_grep of step 5" }).click();
  await page.getByText("ran in").waitFor();
  await page.fill("#query-arguments", JSON.stringify({ pattern: "WARN +payment", limit: 2 }));
  await page.getByRole("button", { name: "Run this query" }).click();
  await page.locator(".code", { hasText: "no free connection" }).waitFor();

  // A replay of a recording: a new turn with the recorded results.
  const recording = await page.evaluate((it) => fetch(`${it}/test/recording`).then((response) => response.text()), origin);
  await visit(page, "#/turns");
  await page.getByRole("button", { name: "Replay a recording" }).click();
  await page.locator("#recording").setInputFiles({ name: "recording.json", mimeType: "application/json", buffer: Buffer.from(recording) });
  await page.locator("#replay-agent").selectOption("data desk");
  await page.getByRole("button", { name: "Start the replay" }).click();
  await page.locator(".facts .state-completed").waitFor({ timeout: 20_000 });
  await page.locator(".event", { hasText: "Nine large orders" }).first().waitFor();
  check((await page.locator(".event.call").count()) === 4, "the recorded calls");

  // A fork whose tools run: read-only calls run or come from the record, calls with effects ask.
  await visit(page, "#/turns/0199-approval-flow/fork/2");
  await page.getByText("Run what only reads, ask for the rest").click();
  await page.fill("#fork-message", "And add tea.");
  await page.getByRole("button", { name: "Start the fork" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#/turns/") && !location.hash.startsWith("#/turns/0199-approval"));
  await page.locator(".gate-card").waitFor({ timeout: 20_000 });
  check((await page.locator(".event.call", { hasText: "read_file" }).count()) === 1, "the call before the fork");
  await page.locator(".gate-card .button").first().click();
  await page.locator(".always select").selectOption("turn");
  await page.getByRole("button", { name: "Approve, also later calls" }).click();
  await page.locator(".facts .state-completed").waitFor({ timeout: 20_000 });
  await checkViolations(page, "turns");
});
