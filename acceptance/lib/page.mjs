// What the scenarios of the page share: `haft`, `haft web`, and a browser in which everything that goes wrong is a failure.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { chromium } from "playwright-core";

/** How long a condition may take on a busy machine, in milliseconds. */
const PATIENCE = 20_000;

const children = new Set();
const pages = new Set();
const complaints = [];

/** Runs `haft` to its end, and returns what it wrote to standard output. `code` is the expected exit status. */
export function haft(words, { code = 0 } = {}) {
  return new Promise((resolve, reject) => {
    execFile("haft", words, { maxBuffer: 1 << 28 }, (error, out, err) => {
      if ((error?.code ?? 0) === code) resolve(out);
      else reject(new Error(`haft ${words.join(" ")} ended with ${error?.code ?? 0} instead of ${code}:\n${out}${err}`));
    });
  });
}

/** What `haft` writes as JSON. */
export async function haftJson(words, options) {
  return JSON.parse(await haft(words, options));
}

/** The newest turn of the store, as `haft turns` lists it. */
export async function newestTurn() {
  return haftJson(["turns", "--limit", "1", "--json"]);
}

/** Starts `haft` and returns its process. It ends with the scenario. */
export function start(words) {
  const child = spawn("haft", words, { stdio: ["ignore", "pipe", "pipe"] });
  child.text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => { child.text += piece; });
  child.ended = new Promise((resolve) => child.on("close", resolve));
  children.add(child);
  return child;
}

/** Starts `haft web`. `address` opens its page, with a session; `ask` reads its API as other programs do. */
export async function startWeb(words = []) {
  const child = start(["web", "--no-open", ...words]);
  const line = await new Promise((resolve, reject) => {
    readline.createInterface({ input: child.stdout }).once("line", resolve);
    child.ended.then((status) => reject(new Error(`haft web ended with ${status}: ${child.text}`)));
  });
  const [origin, token] = line.split("/#token=");
  const ask = async (resource) => {
    const response = await fetch(`${origin}/api/${resource}`, { headers: { authorization: `Bearer ${token}` } });
    assert.ok(response.ok, `${resource}: ${response.status} ${await response.clone().text()}`);
    return response.json();
  };
  const stop = async (signal = "SIGINT") => {
    child.kill(signal);
    await child.ended;
  };
  return { address: line, origin, port: new URL(origin).port, ask, stop };
}

/** Waits until a condition of this process holds, and returns what it returned. */
export async function until(condition, words) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`it did not happen that ${words}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Copies an example of the repository into the working directory, without what it has generated. */
export function copyExample(name) {
  const filter = (file) => !file.includes(".generated.") && !file.endsWith(".log");
  fs.cpSync(path.join(process.env.REPOSITORY, "examples", name), name, { recursive: true, filter });
}

/** Writes the agent `name` with its file, its script and further files. */
export function writeAgent(name, text, script, files = {}) {
  fs.mkdirSync(name, { recursive: true });
  const all = { "agent.toml": `system = "You help."\nprompt = "Go."\nscript = "script.yaml"\n${text}`, "script.yaml": script, ...files };
  for (const [file, content] of Object.entries(all)) fs.writeFileSync(path.join(name, file), content);
}

/** Opens an address in a new page. Errors of scripts and violations of the policy of the page are failures. */
async function openPage(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  pages.add(page);
  page.on("pageerror", (error) => complaints.push(`error in the page: ${error.stack}`));
  page.on("dialog", (dialog) => { complaints.push(`a dialog opened: ${dialog.message()}`); dialog.dismiss(); });
  await page.addInitScript(() => {
    globalThis.liveStreams = [];
    globalThis.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(event.violatedDirective));
    const plain = globalThis.fetch;
    globalThis.fetch = async (...parts) => {
      const response = await plain(...parts);
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
      if (isStream) globalThis.liveStreams.push({ url: response.url, signal: parts[1]?.signal });
      return response;
    };
  });
  await page.goto(address);
  return page;
}

/** Goes to a view of the page. */
export async function visit(page, hash) {
  await page.evaluate((it) => { location.hash = it; }, hash);
}

/** The text of everything that a selector finds, with plain spaces. */
export async function texts(page, selector) {
  const found = await page.locator(selector).allInnerTexts();
  return found.map((it) => it.replace(/\s+/g, " ").trim());
}

/** Waits until a text of the page meets a condition, and returns it. The condition is a regular expression. */
export async function waitForText(page, selector, pattern) {
  await page.locator(selector).filter({ hasText: pattern }).first().waitFor();
  return (await page.locator(selector).filter({ hasText: pattern }).first().innerText()).replace(/\s+/g, " ").trim();
}

/** A printed duration in milliseconds, and how much it may be off by being rounded. */
export function readDuration(text) {
  const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  const parts = [...text.matchAll(/(\d+(?:\.(\d+))?) (ms|s|m|h)\b/g)];
  assert.ok(parts.length > 0 && parts.map((it) => it[0]).join(" ") === text.trim(), `"${text}" is a duration with a unit`);
  const value = parts.reduce((sum, [, number, , unit]) => sum + Number(number) * units[unit], 0);
  const [, , decimals = "", unit] = parts.at(-1);
  return { value, step: units[unit] / 10 ** decimals.length };
}

/** Checks that a printed duration is this one, in milliseconds. */
export function assertDuration(text, milliseconds, words, allowed = 0) {
  const { value, step } = readDuration(text);
  assert.ok(Math.abs(value - milliseconds) <= step + allowed, `${words}: the page shows ${text}, and it took ${milliseconds} ms`);
}

/** Runs a scenario in the browser at an address, or in one of its own. It is over when every process has ended. */
export async function scenario(shared, body) {
  const options = { executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] };
  const browser = shared ? await chromium.connect(shared.replace("http://", "ws://")) : await chromium.launch(options);
  try {
    await body((address, options) => openPage(browser, address, options));
    for (const page of pages) {
      if (page.isClosed()) continue;
      complaints.push(...await page.evaluate(() => globalThis.violations.map((it) => `violation of ${it}`)));
    }
    assert.deepEqual(complaints, []);
  } catch (error) {
    console.error(error.stack ?? String(error));
    for (const page of pages) console.error(`the page was: ${await describe(page).catch(String)}`);
    for (const child of children) if (child.text) console.error(`${child.spawnargs.join(" ")} wrote: ${child.text}`);
    process.exitCode = 1;
  } finally {
    await browser.close();
    for (const child of children) child.kill("SIGKILL");
  }
}

async function describe(page) {
  if (page.isClosed()) return "closed";
  return page.evaluate(() => `${location.hash}\n${document.body.innerText.slice(0, 3000)}`);
}
