// Compare a turn with another one, and fork it from a step.

import { View, computed, define, h, keyed, signal } from "./view.js";
import { act, load, read } from "./server.js";
import { go, route, setQuery } from "./route.js";
import { button, errorCard, icon, idText, loaded, stateCard } from "./parts.js";
import { count, foreign, plural, shortId } from "./text.js";
import { tellingArguments } from "./detail.js";
import { placeOfStep } from "./rows.js";

/** How many calls of each turn are compared. */
const COMPARED = 2000;

class ForkPane extends View {
  render() {
    const steps = () => this.detail().turn.facts.steps;
    const step = computed(() => Math.max(1, Math.min(steps() || 1, Number(route().words[3]) || steps() || 1)));
    return h("div", { class: "fork" },
      h("div", { class: "fork-main", tabindex: "0", role: "region", "aria-label": "Comparison" }, this.comparison()),
      h("aside", { class: "detail", "aria-label": "Fork", tabindex: "0" }, keyed(() => (this.detail().actions.fork ? step() : 0), (number) => (number ? this.form(number) : stateCard({ icon: "fork", title: "No fork here", text: "A fork needs a turn whose agent this server knows, and a page that may act." })))));
  }

  /** The calls of this turn beside those of another one. */
  comparison() {
    const other = computed(() => route().query.get("with"));
    return [
      h("div", { class: "compare-head" }, h("h2", {}, "Compare with"), this.otherPicker(other)),
      () => {
        if (!other()) return h("p", { class: "muted pad" }, "Choose another turn to see where the two differ.");
        const turnOf = async (id, abort) => {
          const [{ turn }, { calls, total }] = await Promise.all([read(["turns", id], { count: 0 }, abort), read(["turns", id, "calls"], { count: COMPARED }, abort)]);
          return { turn, calls, total };
        };
        const loading = load((abort) => Promise.all([turnOf(other(), abort), turnOf(this.turnId, abort)]));
        return h("div", {}, loaded(loading, ([left, right]) => comparisonTable(left, right)));
      },
    ];
  }

  otherPicker(other) {
    const turns = load((abort) => read(["turns"], { limit: 50 }, abort));
    return () => {
      const list = (turns().value?.turns ?? []).filter((row) => row.id !== this.turnId);
      // Turns with the same first words come first: forks and repetitions.
      const title = this.detail.peek().turn.title;
      list.sort((a, b) => Number(b.title === title) - Number(a.title === title));
      return h("select", { "aria-label": "Other turn", onchange: (event) => setQuery({ with: event.target.value }) },
        h("option", { value: "" }, "another turn"), list.map((row) => h("option", { value: row.id, selected: row.id === other() }, `${row.title.slice(0, 60)} · ${row.model ?? ""} · ${shortId(row.id)}`)));
    };
  }

  form(step) {
    const failure = signal(null);
    const isBusy = signal(false);
    const earlier = signal("from-record");
    const later = signal("from-record");
    const message = h("textarea", { id: "fork-message", rows: "4" });
    const usage = load((abort) => read(["turns", this.turnId, "steps"], { start: step - 1, count: 1 }, abort));
    const submit = async (event) => {
      event.preventDefault();
      isBusy.set(true);
      failure.set(null);
      try {
        const { turn } = await act(["turns", this.turnId, "fork"], { step, message: message.value, earlierCalls: earlier.peek(), laterCalls: later.peek() });
        go(["turns", turn], { with: this.turnId });
      } catch (error) {
        failure.set(error);
      }
      isBusy.set(false);
    };
    const radio = (name, state, value, words) => h("label", { class: "check" }, h("input", { type: "radio", name, checked: () => state() === value, onchange: () => state.set(value) }), words);
    const { kinds } = this.detail.peek();
    const before = [...kinds.slice(0, Math.max(0, placeOfStep(kinds, step)))].filter((kind) => kind === "c" || kind === "r").length;
    const least = () => usage().value?.steps[0]?.usage.prompt;
    return h("form", { class: "fork-form", onsubmit: submit },
      h("section", {}, h("h2", {}, icon("fork"), `Fork from step ${step}`),
        h("p", { class: "muted" }, step > 1 ? `A new turn repeats ${step === 2 ? "step 1" : `steps 1 to ${step - 1}`}. This one stays as it is.` : "A new turn begins anew. This one stays as it is."),
        h("div", { class: "pair" }, button("Step before", { disabled: step <= 1, onclick: () => go(["turns", this.turnId, "fork", String(step - 1)]) }), button("Next step", { disabled: () => step >= this.detail().turn.facts.steps, onclick: () => go(["turns", this.turnId, "fork", String(step + 1)]) }))),
      h("section", {}, h("div", { class: "field" }, h("label", { for: "fork-message" }, `Say something more before step ${step}`), message, h("p", { class: "hint" }, "A message of the user. Leave it empty to ask again as it was."))),
      h("section", {}, h("div", { class: "field", role: "radiogroup", "aria-label": "Calls before the fork" }, h("span", { class: "label" }, "Calls before the fork"), radio("earlier", earlier, "from-record", "Return the recorded results"), radio("earlier", earlier, "run-again", "Run again")),
        h("div", { class: "field", role: "radiogroup", "aria-label": "Calls from the fork on" }, h("span", { class: "label" }, "Calls from the fork on"), radio("later", later, "from-record", "From the record only: no tool runs"), radio("later", later, "run", "Run what only reads, ask for the rest"))),
      h("section", {}, h("h3", {}, "What will happen"),
        h("ul", { class: "plan" },
          before ? h("li", {}, h("span", {}, `${plural(before, "call")} before the fork`), h("span", { class: "badge" }, () => (earlier() === "from-record" ? "from the record" : "runs again"))) : null,
          h("li", {}, h("span", {}, `Step ${step} on: ${this.detail.peek().turn.model ?? "its executor"}`), h("span", { class: "badge warn" }, "asks the model"))),
        h("p", { class: "muted" }, () => (least() ? `At least ${count(least())} tokens for step ${step}. ` : ""), "No tool runs before you start.")),
      () => (failure() ? errorCard(failure()) : null),
      h("div", { class: "buttons sticky" }, h("button", { class: "button primary", disabled: () => isBusy() }, icon("fork"), "Start the fork")));
  }
}

/** Calls of two turns, matched by key and then by place. */
export function matchCalls(left, right) {
  const rows = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [a, b] = [left[i], right[j]];
    if (a && b && a.callKey === b.callKey) {
      rows.push([a, b, "same"]);
      i += 1;
      j += 1;
      continue;
    }
    const inRight = a ? right.slice(j + 1, j + 6).findIndex((it) => it.callKey === a.callKey) : -1;
    const inLeft = b ? left.slice(i + 1, i + 6).findIndex((it) => it.callKey === b.callKey) : -1;
    if (a && b && inRight === -1 && inLeft === -1 && a.tool === b.tool) {
      rows.push([a, b, "other"]);
      i += 1;
      j += 1;
    } else if (b && (inRight !== -1 || !a)) {
      rows.push([null, b, "only"]);
      j += 1;
    } else {
      rows.push([a, null, "only"]);
      i += 1;
    }
  }
  return rows;
}

function comparisonTable(other, own) {
  const rows = matchCalls(other.calls, own.calls);
  const first = rows.findIndex(([, , kind]) => kind !== "same");
  const words = { same: "= same key", other: "≠ other key", only: "only one has it" };
  const cell = (call) => (call ? [h("code", {}, foreign(call.tool), " ", foreign(tellingArguments(call.arguments).slice(0, 90))), h("span", { class: "under" }, h("code", {}, call.callKey.slice(0, 8)), call.error ? " · failed" : "")] : h("span", { class: "muted" }, "not made"));
  const last = (side) => side.turn.facts.reply ?? "";
  const isCut = other.total > COMPARED || own.total > COMPARED;
  return [
    h("p", { class: "muted pad" }, idText(other.turn.id), ` ${count(rows.filter(([, , kind]) => kind === "same").length)} of ${plural(rows.length, "call")} have the same key${isCut ? `, of the first ${count(COMPARED)} calls` : ""}`),
    h("table", { class: "data compare" }, h("thead", {}, h("tr", {}, [`${other.turn.model ?? ""}, other turn`, `${own.turn.model ?? ""}, this turn`, "Difference"].map((it) => h("th", { scope: "col" }, it)))),
      h("tbody", {}, rows.map(([a, b, kind], at) => h("tr", { class: at === first ? "first-difference" : "" }, h("td", {}, cell(a)), h("td", {}, cell(b)), h("td", {}, at === first ? "≠ first difference" : words[kind]))),
        h("tr", {}, h("td", {}, foreign(last(other).slice(0, 200))), h("td", {}, foreign(last(own).slice(0, 200))), h("td", {}, last(other) === last(own) ? "= same words" : "≠ other words")))),
  ];
}

export const forkView = define("haft-fork", ForkPane);
