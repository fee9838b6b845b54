// Standing approvals: given in the form of a gate, listed, revoked. A turn is cancelled.

import { check, checkViolations, main, openPage, visit } from "./driver.mjs";

main(async (browser, url) => {
  const page = await openPage(browser, url);
  await page.waitForSelector(".turn-link");

  // Later calls of the tool are approved too, with any arguments, in all turns of the agent.
  await visit(page, "#/turns/0199-approval-flow");
  await page.locator(".gate-card .button").first().click();
  await page.locator(".always select").selectOption("agent");
  await page.locator(".always").getByText("also with other arguments").click();
  await page.getByRole("button", { name: "Approve, also later calls" }).click();
  await page.locator(".facts .state-completed").waitFor();

  // The list has it, and a call of the tool does not ask.
  await visit(page, "#/waiting");
  const grants = page.locator(".grants li");
  await grants.first().waitFor();
  const words = await grants.first().innerText();
  check(words.includes("write_file") && words.includes("any arguments") && words.includes("Ada"), `the standing approval: ${words}`);
  const callTool = async (file) => {
    await visit(page, "#/agents/approval%20flow");
    await page.locator(".tool-card summary", { hasText: "write_file" }).click();
    await page.locator(".tool-card[open] input[type=text]").first().fill(file);
    await page.getByRole("button", { name: "Call write_file" }).click();
    await page.waitForFunction(() => location.hash.startsWith("#/turns/"));
  };
  await callTool("again.md");
  await page.locator(".facts .state-completed").waitFor();
  check((await page.locator(".gate-card").count()) === 0, "a call that is approved already does not ask");

  // Revoked, it asks again; the turn is cancelled with a reason.
  await visit(page, "#/waiting");
  await page.getByRole("button", { name: "Revoke the approval of write_file" }).click();
  await grants.first().waitFor({ state: "detached" });
  await callTool("third.md");
  await page.locator(".gate-card").waitFor();
  await page.getByRole("button", { name: "Cancel turn" }).click();
  await page.fill("#cancel-reason", "Not needed.");
  await page.getByRole("button", { name: "Cancel the turn" }).click();
  await page.locator(".facts .state-cancelled").waitFor();
  await page.locator(".card", { hasText: "Not needed." }).first().waitFor();
  check((await page.locator(".gate-card").count()) === 0, "a cancelled turn asks nothing");
  await checkViolations(page, "approvals");
});
