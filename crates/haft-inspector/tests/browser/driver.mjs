// What the scripts share: a browser, a page that reports everything that goes wrong, and checks.

import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.HAFT_NODE_MODULES, "package.json"));
export const { chromium } = require("playwright-core");
export const axeSource = require.resolve("axe-core/axe.min.js");

const failures = [];
const pages = [];

/** Notes a failure unless the condition holds. */
export function check(condition, words) {
  if (!condition) failures.push(words);
}

export function fail(words) {
  failures.push(words);
}

/** Runs a script and reports what failed. */
export async function main(body, options = {}) {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--force-device-scale-factor=1", "--disable-lcd-text", "--font-render-hinting=none"] });
  try {
    await body(browser, process.argv[2], options);
  } catch (error) {
    fail(error.stack ?? String(error));
    for (const page of pages) fail(`the page was: ${await describe(page).catch(String)}`);
  } finally {
    await browser.close();
  }
  for (const words of failures) console.error(`FAILED: ${words}`);
  process.exitCode = failures.length ? 1 : 0;
}

/** Where a page is, what has the focus, and what it shows. */
async function describe(page) {
  if (page.isClosed()) return "closed";
  return page.evaluate(() => `${location.hash}, focus on ${document.activeElement?.outerHTML.slice(0, 200)}, ${document.body.innerText.slice(0, 2000)}`);
}

/** A page whose errors, violations and requests to other hosts are failures. */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", colorScheme: "light", ...options });
  const page = await context.newPage();
  pages.push(page);
  const { origin } = new URL(url);
  page.on("console", (message) => {
    const expected = options.expectedErrors?.some((it) => message.text().includes(it));
    if (["error", "warning"].includes(message.type()) && !expected) fail(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => fail(`page error: ${error.stack}`));
  page.on("request", (request) => check(new URL(request.url()).origin === origin, `request to another host: ${request.url()}`));
  page.on("dialog", (dialog) => { fail(`a dialog opened: ${dialog.message()}`); dialog.dismiss(); });
  await page.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
  });
  if (options.time) await page.clock.setFixedTime(new Date(options.time));
  await page.goto(url);
  if (options.next) await page.goto(options.next);
  await page.waitForSelector(".top");
  return page;
}

/** Fails on violations of the content security policy. */
export async function checkViolations(page, where) {
  const violations = await page.evaluate(() => globalThis.violations);
  check(violations.length === 0, `${where}: ${violations.join("; ")}`);
}

/** Goes to a view of the page. */
export async function visit(page, hash) {
  await page.evaluate((it) => { location.hash = it; }, hash);
  await page.waitForTimeout(50);
}
