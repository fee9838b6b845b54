// Figures of large content: how many nodes the page has, which is checked, and times, which are printed.

import zlib from "node:zlib";
import { check, main, openPage, visit } from "./driver.mjs";

const PATIENCE = 900_000;

/** Scrolls an element from its beginning to its end in two seconds, and counts the frames of each second. */
function scrollThrough(selector) {
  const scroller = document.querySelector(selector);
  return new Promise((done) => {
    const begun = performance.now();
    let frames = 0;
    let longest = 0;
    let last = begun;
    const frame = (now) => {
      longest = Math.max(longest, now - last);
      last = now;
      frames += 1;
      const share = (performance.now() - begun) / 2000;
      scroller.scrollTop = (scroller.scrollHeight - scroller.clientHeight) * Math.min(1, share);
      if (share < 1) requestAnimationFrame(frame);
      else done({ rate: frames / 2, longest });
    };
    requestAnimationFrame(frame);
  });
}

/** The size of everything that the page loaded, as a server would compress it. */
async function measurePage(page) {
  const names = await page.evaluate(() => [location.pathname, ...performance.getEntriesByType("resource").map((it) => it.name).filter((it) => it.includes("/web/"))]);
  const texts = await page.evaluate((all) => Promise.all([...new Set(all)].map((it) => fetch(it).then((response) => response.text()))), names);
  return texts.reduce((sum, text) => sum + zlib.gzipSync(text, { level: 9 }).length, 0);
}

main(async (browser, url) => {
  const page = await openPage(browser, url);
  await page.waitForSelector(".turn-link");
  const figures = { pageBytes: await measurePage(page) };
  console.log(`page: ${figures.pageBytes} bytes, compressed`);
  const client = await page.context().newCDPSession(page);
  const heap = async () => {
    await client.send("HeapProfiler.collectGarbage");
    return (await client.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };

  // The first view of a turn of 10 000 events, and a plain list of as many rows.
  const events = await page.evaluate(() => fetch("api/turns/0199-many?count=1", { headers: { authorization: `Bearer ${sessionStorage.getItem("haft-token")}` } }).then((it) => it.json()).then((it) => it.kinds.length));
  check(events >= 10_000, `the turn has ${events} events`);
  const views = [];
  for (let n = 0; n < 5; n += 1) {
    await visit(page, "#/turns");
    await page.waitForSelector(".turn-link");
    views.push(await page.evaluate(async () => {
      const begun = performance.now();
      location.hash = "#/turns/0199-many";
      while (!document.querySelector(".event.call")) await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      return performance.now() - begun;
    }));
  }
  const size = await page.evaluate(() => performance.getEntriesByType("resource").filter((it) => it.name.includes("0199-many")).at(-1).decodedBodySize);
  const plain = await page.evaluate(async (count) => {
    const begun = performance.now();
    const list = document.createElement("div");
    for (let at = 0; at < count; at += 1) list.append(Object.assign(document.createElement("div"), { textContent: `read_sensor {"n":${at}} 21 degrees` }));
    document.body.append(list);
    list.getBoundingClientRect();
    await new Promise(requestAnimationFrame);
    const took = performance.now() - begun;
    list.remove();
    return took;
  }, events);
  const median = views.toSorted((a, b) => a - b)[2];
  console.log(`first view of a turn of ${events} events: ${median.toFixed(0)} ms (${views.map((it) => it.toFixed(0)).join(", ")}), ${(size / 1000).toFixed(0)} kB read; a plain list of as many rows without their data: ${plain.toFixed(0)} ms (ratio ${(median / plain).toFixed(2)})`);
  Object.assign(figures, { firstViewMs: median, plainViewMs: plain });
  const nodes = await page.locator(".rows .event").count();
  check(nodes <= 200, `the timeline has ${nodes} rows in the document`);
  const timeline = await page.evaluate(scrollThrough, ".timeline-scroll");
  await page.locator(".event", { hasText: "All sensors are read." }).first().waitFor();
  console.log(`scrolling its timeline: ${timeline.rate.toFixed(0)} frames/s, longest frame ${timeline.longest.toFixed(0)} ms, ${nodes} row nodes, JS heap ${(await heap()).toFixed(1)} MB`);

  figures.timelineRate = timeline.rate;

  // Scrolling the artifact from its beginning to its end.
  const opened = Date.now();
  await page.evaluate(() => { location.hash = "#/turns/0199-log-detective/artifacts"; });
  await page.locator(".line.ready").first().waitFor({ timeout: PATIENCE });
  const bytes = Number((await page.locator(".artifact-head .fact b").first().innerText()).replace(/\D/g, ""));
  const total = Number((await page.locator(".artifact-head .fact b").nth(1).innerText()).replace(/\D/g, ""));
  figures.firstLinesMs = Date.now() - opened;
  await page.locator("p.verification").waitFor({ state: "detached", timeout: PATIENCE });
  figures.verifiedMs = Date.now() - opened;
  check((await page.locator(".card.verification").count()) === 0, "the content is the one that was stored");
  console.log(`first lines of ${(bytes / 2 ** 20).toFixed(0)} MiB with ${total} lines: ${figures.firstLinesMs} ms, verified after ${figures.verifiedMs} ms`);
  const lines = await page.evaluate(scrollThrough, ".line-scroll");
  await page.waitForFunction(() => [...document.querySelectorAll("haft-lines .line")].every((it) => !it.classList.contains("loading")), null, { timeout: PATIENCE });
  const last = await page.locator(".line.ready .line-number").last().innerText();
  check(Number(last.replace(/\D/g, "")) === total, `the last line in view is ${last} of ${total}`);
  const lineNodes = await page.locator("haft-lines .line").count();
  check(lineNodes <= 200, `the viewer has ${lineNodes} lines in the document`);
  const ownHeap = await heap();
  check(ownHeap <= 50, `the JS heap has ${ownHeap.toFixed(1)} MB`);
  const plainLines = Math.min(total, 50_000);
  await page.evaluate((count) => {
    const list = document.createElement("div");
    list.className = "plain-list line-scroll";
    for (const [name, value] of [["position", "fixed"], ["inset", "0"], ["overflow", "auto"], ["z-index", "9"]]) list.style.setProperty(name, value);
    for (let at = 0; at < count; at += 1) list.append(Object.assign(document.createElement("div"), { textContent: `${at} 2026-03-02T00:00:12.997Z INFO  checkout order taken` }));
    document.body.append(list);
  }, plainLines);
  const plainScroll = await page.evaluate(scrollThrough, ".plain-list");
  const plainHeap = await heap();
  await page.evaluate(() => document.querySelector(".plain-list").remove());
  console.log(`scrolling ${(bytes / 2 ** 20).toFixed(0)} MiB: ${lines.rate.toFixed(0)} frames/s, longest frame ${lines.longest.toFixed(0)} ms, ${lineNodes} line nodes, JS heap ${ownHeap.toFixed(1)} MB; a plain list of ${plainLines} lines: ${plainScroll.rate.toFixed(0)} frames/s, longest frame ${plainScroll.longest.toFixed(0)} ms, JS heap ${plainHeap.toFixed(1)} MB (ratio of frames ${(lines.rate / plainScroll.rate).toFixed(2)}, of the heap ${(ownHeap / plainHeap).toFixed(2)})`);

  Object.assign(figures, { scrollRate: lines.rate, plainRate: plainScroll.rate, heapMb: ownHeap, plainHeapMb: plainHeap });

  // A search is stopped, and another one runs to its end.
  const search = async (pattern) => {
    await page.fill("#line-search", pattern);
    await page.locator("#line-search").press("Enter");
  };
  await search("no such words[0-9]+x");
  const stop = page.getByRole("button", { name: "Stop" });
  // A short search may end before it can be stopped.
  await stop.click({ timeout: 5000 }).catch(() => {});
  await page.waitForFunction(() => /stopped|no match/.test(document.querySelector(".search-state").textContent), null, { timeout: PATIENCE });
  const begun = Date.now();
  await search("ERROR +checkout");
  await page.locator(".line.current mark").first().waitFor({ timeout: PATIENCE });
  const first = Date.now() - begun;

  await stop.waitFor({ state: "detached", timeout: PATIENCE });
  figures.searchMs = Date.now() - begun;
  console.log(`searching ${(bytes / 2 ** 20).toFixed(0)} MiB: first match after ${first} ms, ${await page.locator(".search-state").innerText()} after ${figures.searchMs} ms; JS heap ${(await heap()).toFixed(1)} MB`);
  check((await heap()) <= 50, `the JS heap has ${(await heap()).toFixed(1)} MB after a search`);
  console.log(`FIGURES ${JSON.stringify(figures)}`);
});
