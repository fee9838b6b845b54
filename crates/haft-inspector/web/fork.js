// Forks a turn from a step: a new turn repeats the steps before it.

import { View, computed, define, h, keyed, signal } from "./view.js";
import { act, load, read } from "./server.js";
import { go, route } from "./route.js";
import { button, errorCard, icon, stateCard } from "./parts.js";
import { count, plural } from "./text.js";
import { placeOfStep } from "./rows.js";

class ForkPane extends View {
  render() {
    const steps = () => this.detail().turn.facts.steps;
    const step = computed(() => Math.max(1, Math.min(steps() || 1, Number(route().words[3]) || steps() || 1)));
    return h("div", { class: "fork", tabindex: "0", role: "region", "aria-label": "Fork" },
      keyed(() => (this.detail().actions.fork ? step() : 0), (number) => (number ? this.form(number) : stateCard({ icon: "fork", title: "No fork here", text: "A fork needs a turn whose agent this server knows, and a page that may act." }))));
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
        go(["turns", turn]);
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

export const forkView = define("haft-fork", ForkPane);
