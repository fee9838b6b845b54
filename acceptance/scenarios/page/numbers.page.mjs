// The numbers of the page are those of `haft show --json`: of turns that the examples made, and of one that asked a model
// with a price. Times, too: of turns, of steps, and of calls, their waits for a person included.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { assertDuration, copyExample, haft, haftJson, scenario, startWeb, texts, visit, waitForText } from "./lib/page.mjs";

const STATES = { completed: "Completed", waiting: "Waiting", failed: "Failed", "limit-reached": "Limit reached" };

/** The number of a text such as `1 234 in`. */
const numberOf = (text) => Number(text.replace(/[\s\u202f]/g, "").match(/^\$?([\d.]+)/)[1]);

/** What the record says about a turn. */
async function readTurn(id) {
  const shown = await haftJson(["show", id, "--json"]);
  const records = shown.records.filter((it) => it.kind === "tool-call").map((it) => it.record);
  const calls = records.map((it) => ({
    tool: it.tool, state: it.state, isRefused: Boolean(it.error),
    milliseconds: it.startedAt && it.completedAt ? it.time?.tool ?? 0 : null, waited: it.time?.person ?? 0,
  }));
  return { ...shown, calls, state: shown.turn.status };
}

/** Compares the row of a turn in the list. */
async function compareRow(page, id, turn) {
  const cell = (name) => page.locator(`.turn-row[data-turn="${id}"] .${name}`);
  await cell("c3").filter({ hasText: /\d/ }).waitFor();
  const text = async (name) => (await cell(name).innerText()).trim();
  assert.equal(await text("c0"), STATES[turn.state]);
  assert.equal(numberOf(await text("c3")), turn.steps.length);
  const { promptTokens = 0, completionTokens = 0 } = turn.usage;
  if (promptTokens) {
    assert.equal(numberOf(await text("c4")), promptTokens + completionTokens);
    compareCost(await text("c7"), turn.cost);
  } else {
    assert.deepEqual([await text("c4"), await text("c7")], ["–", "–"]);
  }
  if (turn.milliseconds !== null) assertDuration(await text("c5"), turn.milliseconds, "the list", 1);
}

function compareCost(text, cost) {
  const [, digits] = /^\$\d+\.(\d+) est\.$/.exec(text) ?? assert.fail(`"${text}" is no cost`);
  assert.ok(Math.abs(numberOf(text) - cost) <= 0.51 * 10 ** -digits.length, `the page shows ${text}, and it cost ${cost}`);
}

/** Compares the head of a turn, and each row of its timeline. */
async function compareTimeline(page, id, turn) {
  await visit(page, `#/turns/${id}`);
  await page.waitForFunction((it) => location.hash.includes(it) && document.querySelector(".facts .id code")?.title === it, id);
  const facts = await texts(page, ".facts > *");
  const fact = (pattern) => facts.find((it) => pattern.test(it)) ?? assert.fail(`no ${pattern} in ${facts.join(" | ")}`);
  assert.equal(facts[0], STATES[turn.state]);
  assert.equal(numberOf(fact(/ steps?$/)), turn.steps.length);
  if (turn.milliseconds !== null) assertDuration(await page.locator(".facts .ticking").innerText(), turn.milliseconds, "the head", 1);
  if (turn.usage.promptTokens) {
    const [read, written] = fact(/ in .* out$/).split(" in ");
    assert.deepEqual([numberOf(read), numberOf(written)], [turn.usage.promptTokens, turn.usage.completionTokens]);
    compareCost(fact(/^\$/), turn.cost);
  }
  await page.waitForFunction((count) => document.querySelectorAll(".event.step").length === count, turn.steps.length);
  const steps = await texts(page, ".event.step .body");
  turn.steps.forEach((step, at) => {
    const tokens = /([\d ]+) tokens in, ([\d ]+) out/.exec(steps[at].replace(/\u202f/g, " ").replace(/^Step \d+/, ""));
    assert.deepEqual(tokens?.slice(1).map(numberOf), step.usage.promptTokens ? [step.usage.promptTokens, step.usage.completionTokens] : undefined, steps[at]);
  });
  const calls = page.locator(".event.call");
  assert.equal(await calls.count(), turn.calls.length);
  for (const [at, call] of turn.calls.entries()) {
    const row = calls.nth(at);
    assert.equal(await row.locator("code.tool").innerText(), call.tool);
    assert.equal(await row.locator(".badge.failed").count() > 0, call.isRefused, `${call.tool}: ${await row.innerText()}`);
    const took = await row.locator(".took").innerText();
    if (call.milliseconds !== null) assertDuration(took, call.milliseconds, call.tool, 1);
    else assert.ok(["", "waits"].includes(took.trim()), `${call.tool} has not run: ${took}`);
  }
  await compareDetails(page, id, turn);
}

/** Compares the details of each step and of each call that waited for a person. */
async function compareDetails(page, id, turn) {
  const detail = (name) => page.locator(".detail dl.pairs dt", { hasText: new RegExp(`^${name}$`) }).locator("xpath=following-sibling::dd[1]");
  for (const step of turn.steps) {
    await visit(page, `#/turns/${id}?at=step%2F${step.step}`);
    await waitForText(page, ".detail h2", new RegExp(`^Step ${step.step}$`));
    const model = (await detail("Model").innerText()).split(",");
    assertDuration(model[0], step.milliseconds, `the model in step ${step.step}`, 1);
    const first = model.find((it) => it.includes("first word after"))?.split("first word after ")[1];
    if (first) assertDuration(first, step.waitMilliseconds, `the first word of step ${step.step}`, 1);
    else assert.equal(step.waitMilliseconds, step.milliseconds, `no first word in step ${step.step}`);
    assertDuration(await detail("Storing").innerText(), step.storingMilliseconds, `storing in step ${step.step}`, 1);
  }
  for (const [at, call] of turn.calls.entries()) {
    if (!call.waited || call.milliseconds === null) continue;
    await page.locator(".event.call").nth(at).locator(".row-button").click();
    await waitForText(page, ".detail h2", call.tool);
    assertDuration((await detail("Waited").innerText()).replace(" for a person", ""), call.waited, `the wait of ${call.tool}`, 1);
  }
  await visit(page, `#/turns/${id}`);
}

/** An agent with a model, a price and a tool. */
async function askModel() {
  fs.mkdirSync("clock");
  fs.writeFileSync("clock/agent.toml", 'system = "You tell the time."\nprompt = "What time is it?"\n[tools.time]\n');
  const config = path.join(process.env.HOME, ".config/haft");
  fs.mkdirSync(config, { recursive: true });
  fs.writeFileSync(path.join(config, "config.toml"), '[prices."openai:m"]\ninput = 2.5\noutput = 10.0\n');
  process.env.OPENAI_BASE_URL = `${process.env.PROVIDER_URL}/script/page-numbers/v1`;
  await haft(["run", "clock", "--model", "openai:m"]);
}

await scenario(process.env.BROWSER_URL, async (open) => {
  const examples = ["data-desk", "document-reader", "media-maker", "approval-flow"];
  for (const name of examples) copyExample(name);
  await askModel();
  await Promise.all(examples.map((name) => haft(["run", name, "--trust", "--yes"])));
  await haft(["run", "approval-flow", "--gates", "park"], { code: 4 });
  const web = await startWeb();
  const page = await open(web.address);
  const ids = (await haft(["turns", "--json"])).trim().split("\n").map((line) => JSON.parse(line).id);
  assert.equal(ids.length, 6);
  assert.deepEqual(await waitForText(page, ".list-foot", /turns shown/).then((it) => numberOf(it.match(/\d+ turns/)[0])), 6);
  const turns = new Map();
  for (const id of ids) turns.set(id, await readTurn(id));
  assert.equal([...turns.values()].filter((it) => it.cost > 0).length, 1);
  for (const [id, turn] of turns) await compareRow(page, id, turn);
  for (const [id, turn] of turns) await compareTimeline(page, id, turn);
  const waiting = [...turns.values()].filter((it) => it.state === "waiting").length;
  assert.equal((await texts(page, ".waiting-pill"))[0], `${waiting} waiting`);
});
