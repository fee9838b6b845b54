// Figures of large content: how many nodes the page has, which is checked, and times, which are printed.

import { check, main, openPage, visit } from "./driver.mjs";

main(async (browser, url) => {
  const page = await openPage(browser, url);
  await page.waitForSelector(".turn-link");
  const client = await page.context().newCDPSession(page);
  const heap = async () => {
    await client.send("HeapProfiler.collectGarbage");
    return (await client.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };

  // The first view of a turn of 10 000 events, and a plain list of as many rows.
  const events = await page.evaluate(() => fetch("api/turns/0199-many").then((it) => it.json()).then((it) => it.kinds.length));
  check(events >= 10_000, `the turn has ${events} events`);
  const first = await page.evaluate(async () => {
    const begun = performance.now();
    location.hash = "#/turns/0199-many";
    while (!document.querySelector(".event.call")) await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - begun;
  });
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
  const nodes = await page.locator(".rows .event").count();
  check(nodes <= 200, `the timeline has ${nodes} rows in the document`);
  await page.evaluate(() => { const it = document.querySelector(".timeline-scroll"); it.scrollTop = it.scrollHeight; });
  await page.locator(".event", { hasText: "All sensors are read." }).first().waitFor();
  console.log(`first view of a turn of ${events} events: ${first.toFixed(0)} ms; a plain list of as many rows: ${plain.toFixed(0)} ms (ratio ${(first / plain).toFixed(2)})`);

  // Scrolling the artifact from its beginning to its end.
  await visit(page, "#/turns/0199-log-detective/artifacts");
  await page.locator(".line.ready").first().waitFor({ timeout: 300_000 });
  const scrolled = await page.evaluate(async () => {
    const scroller = document.querySelector(".line-scroll");
    const begun = performance.now();
    let frames = 0;
    while (performance.now() - begun < 2000) {
      scroller.scrollTop = scroller.scrollHeight * ((performance.now() - begun) / 2000);
      await new Promise(requestAnimationFrame);
      frames += 1;
    }
    return frames / 2;
  });
  await page.locator(".line.ready").first().waitFor();
  const lines = await page.locator("haft-lines .line").count();
  check(lines <= 200, `the viewer has ${lines} lines in the document`);
  const size = await page.locator(".artifact-head .fact b").first().innerText();
  console.log(`scrolling ${size} bytes: ${scrolled.toFixed(0)} frames/s, ${lines} line nodes, JS heap ${(await heap()).toFixed(1)} MB`);
});
