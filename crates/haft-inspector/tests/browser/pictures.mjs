// Pictures of the page at three widths in the theme that the argument names, compared with committed ones, and axe at each of them.
// A picture may differ a little, and a wrong number is little: lines of text with numbers are compared as they are.

import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { axeSource, check, checkViolations, fail, main, openPage, visit } from "./driver.mjs";

const here = path.dirname(new URL(import.meta.url).pathname);
// The book shows some of them.
const expected = [path.join(here, "pictures"), path.join(here, "../../../../docs/book/src/pictures")];
const actual = process.env.HAFT_PICTURES ?? path.join(process.env.HAFT_NODE_MODULES, "../inspector-pictures");
const colorScheme = process.argv[3];
const isUpdate = process.env.HAFT_UPDATE_PICTURES === "1";
/** How many pixels may differ, as a share. */
const TOLERANCE = 0.004;
/** How often a page is looked at before its picture counts as different: content comes from a server that may be busy. */
const ATTEMPTS = 40;
const NOW = "2026-03-02T11:05:00Z";
/** The lines with numbers of each view, at this width. */
const NUMBERS_WIDTH = 1280;
const numbersFile = path.join(here, "pictures/numbers.json");
const numbers = JSON.parse(fs.readFileSync(numbersFile, "utf8"));

async function openGate(page) {
  await page.locator(".gate-card .button").click();
  await page.locator(".gate-form textarea").first().waitFor();
}

const VIEWS = [
  ["turns", "#/turns", ".turn-link"],
  ["timeline", "#/turns/0199-log-detective?at=step%2F3", ".event.step"],
  ["call", "#/turns/0199-log-detective", ".event.call", async (page) => page.locator(".event.call", { hasText: "artifact_grep" }).first().locator(".row-button").click().then(() => page.locator(".detail .diff").first().waitFor())],
  ["request", "#/turns/0199-log-detective/request/3", ".part"],
  ["lines", "#/turns/0199-log-detective/artifacts", ".line.ready", async (page) => {
    await page.fill("#line-search", "ERROR +checkout");
    await page.locator("#line-search").press("Enter");
    await page.locator(".line.current mark").first().waitFor();
    await page.locator(".viewer-foot > span", { hasText: "searched" }).waitFor();
  }],
  ["json", "#/turns/0199-data-desk/artifacts", ".tree .branch"],
  ["gate", "#/turns/0199-approval-flow", ".gate-card", openGate],
  ["fork", "#/turns/0199-log-detective/fork/4", ".fork-form"],
  ["failed", "#/turns/0199-out-of-order", ".card.error"],
  ["thread", "#/conversations/garden-0199-4f2a", ".said.model"],
  ["table", "#/turns/0199-data-desk/artifacts", ".artifact-side a", async (page) => page.locator(".artifact-side a", { hasText: "get_prices" }).click().then(() => page.locator(".data td").first().waitFor())],
  ["outline", "#/turns/0199-data-desk/artifacts", ".artifact-side a", async (page) => page.locator(".artifact-side a", { hasText: "read_manual" }).click().then(() => page.locator(".outline .link").first().waitFor())],
  ["media", "#/turns/0199-data-desk", ".event.call", async (page) => page.locator(".event.call", { hasText: "draw_chart" }).locator(".row-button").click().then(() => page.locator(".media img").first().waitFor())],
  ["waiting", "#/waiting", ".gate-form textarea"],
  ["agents", "#/agents", ".cards .card"],
  ["agent", "#/agents/approval%20flow", ".tool-card", async (page) => page.locator(".tool-card summary").nth(1).click()],
];

/** Views of a turn that runs, which is not there while the others are taken. */
const RUNNING = [
  ["running", "#/turns/0199-parallel", ".gate-card", async (page) => page.locator(".event.call", { hasText: "room 11" }).waitFor()],
  ["found", "#/turns/0199-parallel?find=room", ".event.selected.found"],
];

main(async (browser, url) => {
  fs.mkdirSync(actual, { recursive: true });
  await takeAll(browser, url, VIEWS);
  await fetch(`${new URL(url).origin}/test/start-parallel`);
  await takeAll(browser, url, RUNNING);
  if (isUpdate) fs.writeFileSync(numbersFile, `${JSON.stringify(numbers, null, 1)}\n`);
});

/** Takes the pictures of some views at all widths. */
async function takeAll(browser, url, views) {
  for (const [width, height] of [[360, 740], [768, 1024], [1280, 900]]) {
    const page = await openPage(browser, url, { viewport: { width, height }, colorScheme, time: NOW, bypassCSP: false });
    for (const [name, hash, ready, prepare] of views) {
      await visit(page, hash);
      await page.locator(ready).first().waitFor();
      await prepare?.(page);
      // Content that is not verified yet says so.
      await page.locator("p.verification").waitFor({ state: "detached" });
      const title = `${name}-${width}-${colorScheme}`;
      if (width === NUMBERS_WIDTH) await compareNumbers(page, name);
      await compareSettled(page, title);
      await audit(page, title);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(overflow <= 0, `${title}: the page scrolls sideways by ${overflow} px`);
    }
    await checkViolations(page, `${width} ${colorScheme}`);
    await page.context().close();
  }
}

/** Compares the numbers that the page shows with the committed ones, as soon as they are equal or had the time to become so. */
async function compareNumbers(page, name) {
  // Which of two calls that run at the same time begins and ends first is left to chance, and so is the order of what they show.
  const inOrder = (lines) => JSON.stringify(lines?.toSorted() ?? null);
  const isEqual = (one, two) => inOrder(one) === inOrder(two);
  let shown = null;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = shown;
    shown = await readNumbers(page);
    if (isEqual(shown, isUpdate ? before : numbers[name])) break;
    await page.waitForTimeout(150);
  }
  if (isUpdate) numbers[name] = shown;
  const missing = (numbers[name] ?? []).filter((line) => !shown.includes(line));
  const added = shown.filter((line) => !numbers[name]?.includes(line));
  check(isEqual(shown, numbers[name]), `${name}: the numbers differ: instead of ${JSON.stringify(missing)} there is ${JSON.stringify(added)}`);
}

/** The lines with a number; long ones are content. How long a search or a query took is not the same every time, but it has a unit. */
async function readNumbers(page) {
  const [text, foot] = await page.evaluate(() => [document.body.innerText, document.querySelector(".viewer-foot")?.innerText ?? ""]);
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => /\d/.test(line) && line.length <= 80);
  const measured = lines.lastIndexOf(foot.split("\n").at(-1).trim());
  // Each reading of the clock takes 12 ms, and calls that run at the same time read it in any order.
  const parallel = (line) => line.replace(/^(12|24|36|48) ms$/, "12 to 48 ms");
  return lines.map(parallel).map((line, at) => (at === measured ? line.replace(/(^| in )(\d{1,3}(\.\d{1,2})? ms|\d{1,2}\.\d{1,2} s)$/, "$1DURATION") : line));
}

/** Compares what the page shows with the committed picture, as soon as it looks so or has had the time to. */
async function compareSettled(page, title) {
  // Nothing is under the pointer; otherwise the picture tells where the last click was.
  await page.mouse.move(0, 0);
  let difference = null;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    await page.waitForTimeout(150);
    // The time that a search or query took is not the same every time.
    await page.evaluate(() => { for (const it of document.querySelectorAll(".viewer-foot > span:last-child")) it.textContent = ""; document.activeElement?.blur(); });
    difference = compare(await page.screenshot({ animations: "disabled", caret: "hide" }), title);
    if (!difference) return;
  }
  fail(difference);
}

/** Serious findings of axe. The script of axe is injected by the debugger, not by the page. */
async function audit(page, title) {
  const client = await page.context().newCDPSession(page);
  await client.send("Runtime.evaluate", { expression: fs.readFileSync(axeSource, "utf8") });
  const { result } = await client.send("Runtime.evaluate", {
    expression: `axe.run(document, { resultTypes: ["violations"] }).then((it) => JSON.stringify(it.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? ""))])))`,
    awaitPromise: true,
  });
  const findings = JSON.parse(result.value);
  check(findings.length === 0, `${title}: axe: ${JSON.stringify(findings)}`);
}

/** What differs between a picture and the committed one; nothing if they look the same. */
function compare(picture, title) {
  const file = expected.map((dir) => path.join(dir, `${title}.png`)).find((it) => fs.existsSync(it));
  fs.writeFileSync(path.join(actual, `${title}.png`), picture);
  if (!file) return null; // not every view is committed at every width
  if (isUpdate) {
    fs.writeFileSync(file, encode(decode(picture)));
    return null;
  }
  const [one, two] = [decode(fs.readFileSync(file)), decode(picture)];
  if (one.width !== two.width || one.height !== two.height) return `${title}: the size is different`;
  let different = 0;
  for (let at = 0; at < one.pixels.length; at += one.channels) {
    const distance = Math.abs(one.pixels[at] - two.pixels[at]) + Math.abs(one.pixels[at + 1] - two.pixels[at + 1]) + Math.abs(one.pixels[at + 2] - two.pixels[at + 2]);
    if (distance > 48) different += 1;
  }
  const share = different / (one.width * one.height);
  return share <= TOLERANCE ? null : `${title}: ${(share * 100).toFixed(2)} % of the pixels differ from ${file}; HAFT_UPDATE_PICTURES=1 replaces it`;
}

/** The pixels of a PNG of 8 bits without interlacing, which is what the browser and `encode` write. */
function decode(png) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = { 2: 3, 3: 1, 6: 4 }[png[25]];
  const parts = [];
  let palette = null;
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const kind = png.toString("latin1", at + 4, at + 8);
    if (kind === "IDAT") parts.push(png.subarray(at + 8, at + 8 + length));
    if (kind === "PLTE") palette = png.subarray(at + 8, at + 8 + length);
    at += length + 12;
  }
  const raw = zlib.inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const left = x >= channels ? pixels[y * stride + x - channels] : 0;
      const up = y ? pixels[(y - 1) * stride + x] : 0;
      const corner = y && x >= channels ? pixels[(y - 1) * stride + x - channels] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      pixels[y * stride + x] = raw[y * (stride + 1) + 1 + x] + guess;
    }
  }
  if (!palette) return { width, height, channels, pixels };
  const colours = Buffer.alloc(width * height * 3);
  pixels.forEach((index, at) => palette.copy(colours, at * 3, index * 3, index * 3 + 3));
  return { width, height, channels: 3, pixels: colours };
}

/** A small PNG: the colours that occur most, and for the others the nearest of them. */
function encode({ width, height, channels, pixels }) {
  const counts = new Map();
  const colourAt = (at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
  for (let at = 0; at < pixels.length; at += channels) counts.set(colourAt(at), (counts.get(colourAt(at)) ?? 0) + 1);
  const parts = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];
  // Of colours that look the same, the one that occurs most.
  const kept = [];
  const seen = new Set();
  for (const [colour] of [...counts].sort((a, b) => b[1] - a[1])) {
    const alike = parts(colour).map((value) => value >> 4).join();
    if (kept.length < 16 || (!seen.has(alike) && kept.length < 200)) kept.push(colour);
    seen.add(alike);
  }
  const nearest = new Map();
  const indexOf = (colour) => {
    if (!nearest.has(colour)) {
      const distance = (other) => parts(colour).reduce((sum, value, n) => sum + Math.abs(value - parts(other)[n]), 0);
      nearest.set(colour, kept.reduce((best, other, at) => (distance(other) < distance(kept[best]) ? at : best), 0));
    }
    return nearest.get(colour);
  };
  const raw = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) raw[y * (width + 1) + 1 + x] = indexOf(colourAt((y * width + x) * channels));
  }
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(zlib.crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const palette = Buffer.from(kept.flatMap(parts));
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head), chunk("PLTE", palette), chunk("IDAT", zlib.deflateSync(raw, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

function paeth(a, b, c) {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}
