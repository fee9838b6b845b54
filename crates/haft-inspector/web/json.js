// JSON artifacts by JSONPath: a tree whose branches are built when they are opened, or a table.

import { View, define, h, signal } from "./view.js";
import { act } from "./server.js";
import { skeleton } from "./parts.js";
import { keys } from "./keys.js";
import { count, duration, foreign, plural } from "./text.js";

const SHOWN = 200;

class Json extends View {
  render() {
    const words = ["turns", this.turnId, "artifacts", this.row.handle, "query"];
    const path = signal(this.path ?? "");
    const asTable = signal(false);
    const result = signal({ state: "loading" });
    const run = async (text) => {
      path.set(text);
      result.set({ state: "loading" });
      const ask = (query) => act(words, { tool: "artifact_query", arguments: { query } });
      try {
        let found = await ask(text.trim() || `$[0:${SHOWN}]`);
        // A value that is no list has no first elements.
        if (!text.trim() && found.text === "(empty list)") found = await ask("$");
        result.set({ state: "ready", ...found });
      } catch (error) {
        result.set({ state: "ready", failed: true, text: error.message });
      }
    };
    run(path.peek());
    const input = h("input", { type: "text", id: "json-path", "aria-label": "JSONPath", placeholder: "$[?@.status == \"open\"]", value: path.peek(), autocomplete: "off", spellcheck: "false" });
    keys({ "/": ["search in this view", () => input.focus()] });
    return [
      h("div", { class: "viewer-bar" },
        h("form", { class: "field-search path", onsubmit: (event) => { event.preventDefault(); run(input.value); } }, h("label", { for: "json-path" }, "Path"), input),
        h("span", { class: "search-state", role: "status" }, () => (result().state === "ready" && !result().failed ? plural(parseValues(result().text).length, "value") : "")),
        h("span", { class: "pair" },
          h("button", { type: "button", class: "button", "aria-pressed": () => String(!asTable()), onclick: () => asTable.set(false) }, "Tree"),
          h("button", { type: "button", class: "button", "aria-pressed": () => String(asTable()), onclick: () => asTable.set(true) }, "Table"))),
      h("div", { class: "viewer scroll", tabindex: "0", role: "region", "aria-label": "Values" }, () => {
        const now = result();
        if (now.state === "loading") return skeleton(6);
        if (now.failed) return h("p", { class: "problem pad", role: "alert" }, foreign(now.text));
        const values = parseValues(now.text);
        return asTable() ? table(values) : h("div", { class: "tree pad" }, values.map((value, at) => node(values.length > 1 ? String(at) : "$", value, values.length === 1)));
      }),
      h("div", { class: "viewer-foot" }, h("span", {}, "Branches are built when they are opened"), h("span", { class: "grow" }), () => (result().durationMs !== undefined ? duration(result().durationMs) : "")),
    ];
  }
}

/** The values of a result: one JSON value or text in each line, and a note in brackets at the end. */
export function parseValues(text) {
  for (const it of [text, text.replace(/\n\[[^\n]*\]$/, "")]) {
    try {
      const whole = JSON.parse(it);
      return Array.isArray(whole) ? whole : [whole];
    } catch {
      // Not one value: several lines, or a note behind it.
    }
  }
  return text.split("\n").filter((line) => line !== "").map((line) => {
    try {
      return JSON.parse(line);
    } catch {
      return line;
    }
  });
}

/** A value of the tree. */
export function node(name, value, isOpen) {
  if (value === null || typeof value !== "object") return h("div", { class: "leaf" }, h("span", { class: "key" }, foreign(name), ": "), scalar(value));
  const entries = Array.isArray(value) ? value.map((it, at) => [String(at), it]) : Object.entries(value);
  const words = Array.isArray(value) ? `[${count(entries.length)}]` : `{${plural(entries.length, "field")}}`;
  const preview = entries.filter(([, it]) => it === null || typeof it !== "object").slice(0, 4).map(([, it]) => scalarText(it)).join(", ");
  const branch = h("details", { class: "branch" }, h("summary", {}, h("span", { class: "key" }, foreign(name)), " ", h("span", { class: "muted" }, words), " ", h("span", { class: "preview" }, foreign(preview.slice(0, 120)))));
  const fill = () => {
    if (branch.children.length > 1) return;
    const shown = entries.slice(0, SHOWN);
    branch.append(h("div", { class: "children" }, shown.map(([key, it]) => node(key, it, false)), entries.length > SHOWN ? h("div", { class: "muted" }, `… ${count(entries.length - SHOWN)} more; use a path`) : null));
  };
  branch.addEventListener("toggle", () => branch.open && fill());
  if (isOpen) {
    fill();
    branch.open = true;
  }
  return branch;
}

function scalarText(value) {
  return typeof value === "string" ? value : String(value);
}

function scalar(value) {
  const kind = value === null ? "null" : typeof value;
  return h("span", { class: `value ${kind}` }, foreign(kind === "string" ? JSON.stringify(value) : String(value)));
}

/** Objects as rows. */
function table(values) {
  const columns = [...new Set(values.slice(0, SHOWN).flatMap((it) => (it && typeof it === "object" ? Object.keys(it) : [])))].slice(0, 40);
  if (!columns.length) return h("p", { class: "muted pad" }, "These values have no fields.");
  return h("table", { class: "data" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "#"), columns.map((name) => h("th", { scope: "col" }, foreign(name))))),
    h("tbody", {}, values.slice(0, SHOWN).map((row, at) => h("tr", {}, h("th", { scope: "row" }, count(at)), columns.map((name) => {
      const value = row?.[name];
      return h("td", { class: typeof value === "number" ? "number" : "" }, value === undefined ? "" : foreign(typeof value === "object" ? JSON.stringify(value) : String(value)));
    })))));
}

export const jsonView = define("haft-json", Json);
