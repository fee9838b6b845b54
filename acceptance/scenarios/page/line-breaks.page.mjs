// A conversation shows what was said with its line breaks.

import { haft, scenario, start, startWeb, visit, writeAgent } from "./lib/page.mjs";

await scenario(process.env.BROWSER_URL, async (open) => {
  writeAgent("poet", "", "steps:\n  - say: \"# Roses\\n\\n- are red\\n- are not blue\"\n");
  await haft(["submit", "poet", "First line.\nSecond line.", "--conversation", "poems"]);
  start(["worker"]);
  const web = await startWeb();
  const page = await open(web.address);
  await visit(page, "#/conversations/poems");
  const shows = (role, lines) => page.waitForFunction(([role, lines]) => {
    const words = document.querySelector(`.said.${role}`)?.innerText ?? "";
    return JSON.stringify(words.trim().split(/\n+/)) === JSON.stringify(lines);
  }, [role, lines]);
  await shows("user", ["First line.", "Second line."]);
  await shows("model", ["# Roses", "- are red", "- are not blue"]);
});
