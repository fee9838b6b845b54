// The artifacts of a turn: what they are, what the model asked of them, and their content.

import { View, computed, define, each, effect, h, keyed, onEnd, signal } from "./view.js";
import { act, load, read } from "./server.js";
import { link, route, setQuery } from "./route.js";
import { bytes, button, codeBox, icon, loaded, saveButton, stateCard, tierBadge } from "./parts.js";
import { count, duration, foreign, plural } from "./text.js";
import { linesView } from "./lines.js";
import { jsonView } from "./json.js";
import { tellingArguments } from "./detail.js";

class Artifact extends View {
  render() {
    const rows = () => this.detail().artifacts;
    const handle = computed(() => route().words[3] ?? rows().reduce((a, b) => (b.bytes > (a?.bytes ?? -1) ? b : a), null)?.handle ?? null);
    const made = signal({ calls: [], total: 0 });
    // A running turn makes more queries.
    const callCount = computed(() => this.detail().turn.facts.calls);
    effect(() => {
      const current = handle();
      callCount();
      if (!current) return;
      const page = load((abort) => read(["turns", this.turnId, "calls"], { artifact: current, count: 200 }, abort));
      effect(() => page().value && made.set(page().value));
    });
    const artifactLink = (row) => h("li", {}, h("a", { href: link(["turns", this.turnId, "artifacts", row.peek().handle]), "aria-current": () => (handle() === row().handle ? "true" : null) },
      h("b", {}, foreign(row.peek().name)), h("span", { class: "under" }, () => `${bytes(row().bytes)} ${row().kind} · `, h("code", {}, row.peek().handle))));
    return keyed(() => (rows().length ? "some" : "none"), (state) => {
      if (state === "none") return stateCard({ icon: "artifact", title: "No artifacts", text: "No result of this turn was too large for the prompt." });
      const pane = h("div", { class: "artifact" },
        h("div", { class: "artifact-side", tabindex: "0", role: "region", "aria-label": "Artifacts and queries" },
          h("h2", {}, "Artifacts of this turn"),
          h("ul", { ref: (it) => each(rows, (row) => row.handle, artifactLink).mount(it) }),
          queryList(made)),
        keyed(handle, (current) => {
          // On a phone the content stands above the list from which it was chosen.
          requestAnimationFrame(() => pane.scrollTo(0, 0));
          return viewer(this.turnId, current, made);
        }));
      return pane;
    });
  }
}

/** The queries that the model made of an artifact. */
function queryList(made) {
  return () => (!made().total ? null : [
    h("h2", {}, `What the model asked: ${plural(made().total, "query", "queries")}`),
    h("ul", {}, made().calls.map((call) => h("li", { class: `query ${call.error ? "refused" : ""}` },
      h("div", {}, h("b", {}, call.tool.replace("artifact_", "")), " ", h("code", {}, foreign(tellingArguments(call.arguments).replace(/\s*in \S+$/, ""))),
        h("span", { class: "under" }, call.error ? "refused · " : call.result?.bytes !== undefined ? `${bytes(call.result.bytes)} · ` : "", `step ${call.step}`)),
      button("Run", { icon: "play", "aria-label": `Run ${call.tool} of step ${call.step}`, onclick: () => setQuery({ run: call.record, line: null }) })))),
  ]);
}

/** The ranges of lines that the model read, counted from 0. */
function readRanges(calls) {
  return calls.filter((call) => call.tool === "artifact_read" && !call.error).map((call) => {
    try {
      const { start = 1, end } = JSON.parse(call.arguments);
      return [Number(start) - 1, Number(end ?? start) - 1];
    } catch {
      return null;
    }
  }).filter(Boolean);
}

function viewer(turnId, handle, made) {
  const row = load((abort) => read(["turns", turnId, "artifacts", handle], null, abort));
  return h("div", { class: "artifact-main" }, loaded(row, (value) => [
    h("header", { class: "artifact-head" }, h("h2", {}, foreign(value.name)), tierBadge(value.tier),
      h("span", { class: "fact" }, h("b", {}, count(value.bytes)), " B"), value.lines !== undefined ? h("span", { class: "fact" }, h("b", {}, count(value.lines)), " lines") : null,
      value.step ? h("span", { class: "fact" }, "from ", h("a", { href: link(["turns", turnId, "timeline"], { at: `tool-call/${value.record}` }) }, `${value.tool}, step ${value.step}`)) : null,
      value.lost ? null : saveButton(["turns", turnId, "artifacts", value.handle, "content"], fileName(value))),
    value.lost ? h("p", { class: "problem pad" }, "The content is gone.") : verified(turnId, value, made),
  ], 8));
}

/** The name of the file as which an artifact is saved. */
function fileName({ name, handle, kind }) {
  const last = name.split(/[/\\]/).at(-1) || handle;
  return last.includes(".") ? last : `${last}.${{ json: "json", jsonl: "jsonl", csv: "csv", markdown: "md" }[kind] ?? "txt"}`;
}

/** The content, and whether it is the one that was stored. Content that turns out to be changed is shown no longer. */
function verified(turnId, row, made) {
  const state = signal({ content: row.content, problem: row.contentProblem });
  const controller = new AbortController();
  onEnd(() => controller.abort());
  const follow = async () => {
    while (state.peek().content === "unverified" && !state.peek().problem) {
      const now = await read(["turns", turnId, "artifacts", row.handle], { wait: true }, controller.signal);
      state.set({ content: now.content, problem: now.contentProblem });
    }
  };
  follow().catch((error) => error.name !== "AbortError" && state.set({ content: "unverified", problem: error.message }));
  return [
    keyed(() => state().content === "unverified" && (state().problem ?? true), (problem) => h("p", { class: "verification", role: "status" },
      problem === true ? "Not verified yet: its hash is being compared with the one that was stored." : ["Not verified: ", foreign(problem)])),
    keyed(() => state().content === "changed", () => h("div", { class: "card error verification", role: "alert" },
      h("h3", {}, icon("alert"), "This is not the content that was stored"), h("p", {}, foreign(state.peek().problem ?? "")), h("p", {}, "What was shown of it before is not what the model read."))),
    keyed(() => state().content !== "changed", () => content(turnId, row, made)),
  ];
}

function content(turnId, row, made) {
  const reads = computed(() => readRanges(made().calls));
  const isJson = ["json", "jsonl"].includes(row.kind);
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
      if (kind === "run") return queryResult(turnId, row, argument);
      if (kind === "json") return jsonView({ turnId, row });
      if (kind === "outline") return outline(turnId, row);
      if (kind === "table") return csvTable(turnId, row);
      return linesView({ turnId, row, reads, line: argument ? Number(argument) - 1 : null });
    }),
  ];
}

/** Runs a query of the model again, as it was or with other arguments. */
function queryResult(turnId, row, record) {
  const query = load(async (abort) => {
    const view = await read(["turns", turnId, "calls", record], null, abort);
    const { callId, ...args } = JSON.parse(view.accepted ?? view.raw);
    return { tool: view.call.tool, arguments: args };
  });
  return h("div", { class: "viewer scroll pad", tabindex: "0", role: "region", "aria-label": "Query" },
    h("div", { class: "buttons" }, button("Back to the content", { onclick: () => setQuery({ run: null }) })),
    loaded(query, (value) => queryForm(turnId, row, value), 4));
}

function queryForm(turnId, row, query) {
  const result = signal(null);
  const problem = signal("");
  const text = h("textarea", { id: "query-arguments", class: "mono", rows: "5", spellcheck: "false", ref: (it) => (it.value = JSON.stringify(query.arguments, null, 2)) });
  const run = async () => {
    problem.set("");
    try {
      const args = JSON.parse(text.value);
      result.set({ args, ...(await act(["turns", turnId, "artifacts", row.handle, "query"], { tool: query.tool, arguments: args })) });
    } catch (error) {
      problem.set(error.message);
    }
  };
  run();
  return [
    h("h3", {}, foreign(query.tool)),
    h("form", { onsubmit: (event) => { event.preventDefault(); run(); } },
      h("div", { class: "field" }, h("label", { for: "query-arguments" }, "Arguments"), text, h("p", { class: "problem", role: "alert" }, () => problem())),
      h("button", { class: "button" }, "Run this query")),
    () => {
      const value = result();
      if (!value) return null;
      return [
        h("h4", {}, value.failed ? "Refused" : "Result"), codeBox(value.text, "Result"),
        h("p", { class: "muted" }, `ran in ${duration(value.durationMs)}`),
        query.tool === "artifact_grep" && !value.failed ? button("Search for this in the lines", { icon: "search", onclick: () => openSearch(value.args.pattern) }) : null,
        query.tool === "artifact_read" ? button("Show these lines", { onclick: () => setQuery({ run: null, as: "lines", line: value.args.start ?? 1 }) }) : null,
      ];
    },
  ];
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

/** Whether a column has numbers only, so that it stands at the right. */
function isNumeric(page, column) {
  return page.rows.every((fields) => fields[column] === "" || !Number.isNaN(Number(fields[column])));
}

function csvTable(turnId, row) {
  const start = signal(0);
  const size = 100;
  return h("div", { class: "viewer-body" },
    h("div", { class: "viewer scroll", tabindex: "0", role: "region", "aria-label": "Table" }, () => {
      const from = start();
      const page = load((abort) => read(["turns", turnId, "artifacts", row.handle, "rows"], { start: from, count: size }, abort));
      return h("div", {}, loaded(page, (value) => [
        h("table", { class: "data" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "#"), value.columns.map((name, column) => h("th", { scope: "col", class: isNumeric(value, column) ? "number" : "" }, foreign(name))))),
          h("tbody", {}, value.rows.map((fields, at) => h("tr", {}, h("th", { scope: "row" }, count(from + at + 1)), fields.map((text, column) => h("td", { class: isNumeric(value, column) ? "number" : "" }, foreign(text))))))),
        h("div", { class: "buttons pad" },
          h("span", { class: "muted" }, value.rows.length ? `rows ${count(from + 1)} to ${count(from + value.rows.length)}` : "no rows"),
          from ? button("Rows before", { icon: "up", onclick: () => start.set(Math.max(0, from - size)) }) : null,
          value.more ? button("Next rows", { icon: "down", onclick: () => start.set(from + size) }) : null),
      ], 8));
    }));
}

export const artifactView = define("haft-artifact", Artifact);
