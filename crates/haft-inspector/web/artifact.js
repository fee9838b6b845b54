// The artifacts of a turn: what they are, what the model asked of them, and their content.

import { View, computed, define, h, signal } from "./view.js";
import { act, load, read } from "./server.js";
import { link, route, setQuery } from "./route.js";
import { bytes, button, codeBox, loaded, stateCard, tierBadge } from "./parts.js";
import { count, duration, foreign, plural } from "./text.js";
import { linesView } from "./lines.js";
import { jsonView } from "./json.js";
import { tellingArguments } from "./timeline.js";

class Artifact extends View {
  render() {
    const rows = () => this.detail().artifacts;
    const handle = computed(() => route().words[3] ?? rows().reduce((a, b) => (b.bytes > (a?.bytes ?? -1) ? b : a), null)?.handle ?? null);
    return () => {
      if (!rows().length) return stateCard({ icon: "artifact", title: "No artifacts", text: "No result of this turn was too large for the prompt." });
      const current = handle();
      return h("div", { class: "artifact" },
        h("div", { class: "artifact-side", tabindex: "0", role: "region", "aria-label": "Artifacts and queries" },
          h("h2", {}, "Artifacts of this turn"),
          h("ul", {}, rows().map((row) => h("li", {}, h("a", { href: link(["turns", this.turnId, "artifacts", row.handle]), "aria-current": current === row.handle ? "true" : null },
            h("b", {}, foreign(row.name)), h("span", { class: "under" }, `${bytes(row.bytes)} ${row.kind} · `, h("code", {}, row.handle)))))),
          queries(this.turnId, this.detail, current)),
        current ? viewer(this.turnId, current, this.detail) : null);
    };
  }
}

/** The queries that the model made of an artifact. */
function queries(turnId, detail, handle) {
  const calls = detail().items.filter((it) => it.kind === "call" && it.tool.startsWith("artifact_") && it.arguments.includes(handle));
  if (!calls.length) return null;
  return [
    h("h2", {}, `What the model asked: ${plural(calls.length, "query", "queries")}`),
    h("ul", {}, calls.map((call) => h("li", { class: `query ${call.error ? "refused" : ""}` },
      h("div", {}, h("b", {}, call.tool.replace("artifact_", "")), " ", h("code", {}, foreign(tellingArguments(call.arguments).replace(/\s*in \S+$/, ""))),
        h("span", { class: "under" }, call.error ? "refused · " : call.result?.bytes !== undefined ? `${bytes(call.result.bytes)} · ` : "", `step ${call.step}`)),
      button("Run", { icon: "play", "aria-label": `Run ${call.tool} of step ${call.step}`, onclick: () => setQuery({ run: call.record, line: null }) })))),
  ];
}

function viewer(turnId, handle, detail) {
  const row = load((abort) => read(["turns", turnId, "artifacts", handle], null, abort));
  return h("div", { class: "artifact-main" }, loaded(row, (value) => [
    h("header", { class: "artifact-head" }, h("h2", {}, foreign(value.name)), tierBadge(value.tier),
      h("span", { class: "fact" }, h("b", {}, count(value.bytes)), " B"), value.lines !== undefined ? h("span", { class: "fact" }, h("b", {}, count(value.lines)), " lines") : null,
      value.step ? h("span", { class: "fact" }, "from ", h("a", { href: link(["turns", turnId, "timeline"], { at: `tool-call/${value.record}` }) }, `${value.tool}, step ${value.step}`)) : null),
    value.lost ? h("p", { class: "problem pad" }, "The content is gone.") : content(turnId, value, detail),
  ], 8));
}

function content(turnId, row, detail) {
  const isJson = ["json", "jsonl", "ndjson", "json5"].includes(row.kind);
  const kinds = ["lines", isJson ? "json" : null, row.kind === "markdown" ? "outline" : null, row.kind === "csv" ? "table" : null].filter(Boolean);
  const shown = computed(() => {
    const { query } = route();
    if (query.get("run")) return `run ${query.get("run")}`;
    return `${query.get("as") ?? kinds.at(-1)} ${query.get("line") ?? ""}`;
  });
  const names = { lines: "Lines", json: "JSON", outline: "Outline", table: "Table" };
  return [
    kinds.length > 1 ? h("div", { class: "chips viewer-kinds", role: "group", "aria-label": "View as" }, kinds.map((kind) => h("button", { type: "button", class: "chip", "aria-pressed": () => String(shown().startsWith(kind)), onclick: () => setQuery({ as: kind, run: null, line: null }) }, names[kind]))) : null,
    h("div", { class: "viewer-body" }, () => {
      const [kind, argument] = shown().split(" ");
      if (kind === "run") return queryResult(turnId, row, argument, detail);
      if (kind === "json") return jsonView({ turnId, row });
      if (kind === "outline") return outline(turnId, row);
      if (kind === "table") return csvTable(turnId, row);
      return linesView({ turnId, row, line: argument ? Number(argument) - 1 : null });
    }),
  ];
}

/** Runs a query of the model again, for a person. A search and a range of lines open the viewer instead. */
function queryResult(turnId, row, record, detail) {
  const call = detail.peek().items.find((it) => it.record === record);
  const result = load(async (abort) => {
    const view = await read(["turns", turnId, "calls", record], null, abort);
    const { callId, ...args } = JSON.parse(view.accepted ?? view.raw);
    const query = { tool: view.call.tool, arguments: args };
    return { query, ...(await act(["turns", turnId, "artifacts", row.handle, "query"], query, abort)) };
  });
  return h("div", { class: "viewer scroll pad" },
    h("div", { class: "buttons" }, button("Back to the content", { onclick: () => setQuery({ run: null }) })),
    h("h3", {}, call ? foreign(call.tool) : "Query"),
    loaded(result, (value) => [
      codeBox(JSON.stringify(value.query.arguments, null, 2), "Arguments"),
      h("h4", {}, value.failed ? "Refused" : "Result"), codeBox(value.text, "Result"),
      h("p", { class: "muted" }, `ran in ${duration(value.durationMs)}`),
      value.query.tool === "artifact_grep" && !value.failed ? button("Search for this in the lines", { icon: "search", onclick: () => openSearch(value.query.arguments.pattern) }) : null,
      value.query.tool === "artifact_cat" ? button("Show these lines", { onclick: () => setQuery({ run: null, as: "lines", line: value.query.arguments.start ?? 1 }) }) : null,
    ], 4));
}

async function openSearch(pattern) {
  setQuery({ run: null, as: "lines" });
  await new Promise((done) => setTimeout(done, 60));
  const input = document.querySelector("#line-search");
  if (!input) return;
  input.value = pattern;
  input.closest("form").requestSubmit();
}

function outline(turnId, row) {
  const headings = load((abort) => read(["turns", turnId, "artifacts", row.handle, "outline"], null, abort));
  const line = signal(0);
  return h("div", { class: "outline" },
    h("nav", { "aria-label": "Headings", tabindex: "0" }, loaded(headings, (list) => h("ul", {}, list.map((it) => h("li", { class: `level-${it.level}` },
      h("button", { type: "button", class: "link", onclick: () => line.set(it.line) }, foreign(it.text)), h("span", { class: "muted" }, ` ${it.line + 1}`)))))),
    h("div", { class: "viewer-body" }, () => linesView({ turnId, row, line: line() || null })));
}

function csvTable(turnId, row) {
  const start = signal(0);
  const size = 100;
  return h("div", { class: "viewer-body" },
    h("div", { class: "viewer scroll", tabindex: "0", role: "region", "aria-label": "Table" }, () => {
      const from = start();
      const page = load((abort) => read(["turns", turnId, "artifacts", row.handle, "rows"], { start: from, count: size }, abort));
      return h("div", {}, loaded(page, (value) => [
        h("table", { class: "data" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "#"), value.columns.map((name) => h("th", { scope: "col" }, foreign(name))))),
          h("tbody", {}, value.rows.map((fields, at) => h("tr", {}, h("th", { scope: "row" }, count(from + at)), fields.map((text) => h("td", { class: text !== "" && !Number.isNaN(Number(text)) ? "number" : "" }, foreign(text))))))),
        h("div", { class: "buttons pad" },
          from ? button("Rows before", { icon: "up", onclick: () => start.set(Math.max(0, from - size)) }) : null,
          value.more ? button("Next rows", { icon: "down", onclick: () => start.set(from + size) }) : null),
      ], 8));
    }));
}

export const artifactView = define("haft-artifact", Artifact);
