// Gates: what waits for a decision, and the form that decides it.

import { View, computed, define, each, effect, h, keyed, signal } from "./view.js";
import { act, load, read } from "./server.js";
import { link } from "./route.js";
import { button, codeBox, diffView, errorCard, icon, idText, pageTitle, previewView, say, stateCard, when } from "./parts.js";
import { keys } from "./keys.js";
import { foreign, plural, pretty, shortId } from "./text.js";
import { schemaForm } from "./form.js";

/** The list of open gates. */
class Waiting extends View {
  render() {
    pageTitle("Waiting");
    const gates = signal(null);
    const failure = signal(null);
    const refresh = () => read(["gates"]).then((list) => gates.set(list), (error) => failure.set(error));
    effect(() => { this.openGates(); refresh(); });
    return [
      h("div", { class: "view-head" }, h("h1", {}, "Waiting for a decision")),
      h("div", { class: "scroll pad", tabindex: "0", role: "region", "aria-label": "Open gates" },
        () => (failure() ? errorCard(failure()) : null),
        keyed(() => gates()?.length === 0, () => stateCard({ icon: "ok", title: "Nothing waits", text: "Calls that require approval appear here, from every process that uses this store." })),
        h("div", { class: "gate-list", ref: (it) => each(() => gates() ?? [], (gate) => gate.id, (gate) => gateEntry(gate, refresh)).mount(it) }),
        keyed(() => (gates() ? gates().map((gate) => gate.id).join() || "none" : null), () => grantList(this.server))),
    ];
  }
}

function gateEntry(gate, refresh) {
  const value = gate.peek();
  return h("section", { class: "card gate-entry" },
    h("p", { class: "crumbs" }, h("a", { href: link(["turns", value.turn]) }, foreign(value.title ?? value.turn)), " · ", when(value.openedAt)),
    gateForm({ gate: value, ondecided: refresh }));
}

/** Whether later calls of the tool are approved too, and which. */
function alwaysFields(gate) {
  const scope = signal("");
  const any = signal(false);
  const option = (value, words) => h("option", { value, selected: () => scope() === value }, words);
  const node = h("section", { class: "always" },
    h("div", { class: "field" }, h("label", { for: `always-${gate.id}` }, "Later calls of this tool"),
      h("select", { id: `always-${gate.id}`, onchange: (event) => scope.set(event.target.value) },
        option("", "ask each time"), option("turn", "run without asking in this turn"), option("agent", "run without asking in all turns of this agent"))),
    () => (scope() ? [
      h("label", { class: "check" }, h("input", { type: "checkbox", checked: () => any(), onchange: (event) => any.set(event.target.checked) }), "also with other arguments"),
      h("p", { class: "hint" }, scope() === "agent" ? "It holds for 30 days, while the definition of the tool stays the same. " : "It holds until the turn ends. ", "You can revoke it under Waiting."),
    ] : null));
  return { node, value: () => (scope() ? { scope: scope(), anyArguments: any() } : undefined) };
}

/** The standing approvals, which can be revoked. */
function grantList(server) {
  const grants = signal([]);
  const failure = signal(null);
  const run = (body) => body().then((list) => grants.set(list.filter((it) => !it.refusal)), (error) => failure.set(error));
  run(() => read(["grants"]));
  return () => {
    if (failure()) return errorCard(failure());
    if (!grants().length) return null;
    return h("section", { class: "card grants" }, h("h2", {}, "Standing approvals"),
      h("ul", {}, grants().map((grant) => h("li", {},
        h("div", {}, h("code", {}, foreign(grant.tool)), grant.arguments === undefined ? " with any arguments" : " with the same arguments",
          h("span", { class: "under" }, grant.agent ? ["all turns of ", foreign(grant.agent)] : ["turn ", h("a", { href: link(["turns", grant.turn]) }, shortId(grant.turn))], ` · by ${grant.by}`, grant.expiresAt ? ` · until ${grant.expiresAt.slice(0, 10)}` : "")),
        server().readOnly ? null : button("Revoke", { "aria-label": `Revoke the approval of ${grant.tool}`, onclick: () => run(() => act(["grants", grant.id, "revoke"])) })))));
  };
}

/** The form of one gate. */
class GateForm extends View {
  render() {
    const { gate } = this;
    this.className = "gate-form";
    this.tabIndex = -1;
    const server = load((abort) => read([], null, abort));
    const decided = signal(null);
    const failure = signal(null);
    const isBusy = signal(false);
    const schema = gate.approval ? gate.argumentSchema : gate.schema;
    const asksForValue = !gate.approval && gate.schema && gate.schema.type !== "boolean";
    const isValid = signal(true);
    const why = signal("");
    let timer = 0;
    const check = (value) => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        try {
          const { problems } = await act(["gates", gate.id, "check"], gate.approval ? { arguments: value } : { value });
          form.setProblems(problems);
          isValid.set(problems.length === 0);
          why.set(problems[0]?.message ?? "");
        } catch (error) {
          failure.set(error);
        }
      }, 200);
    };
    const form = (gate.approval && schema) || asksForValue ? schemaForm(schema, gate.approval ? gate.arguments : undefined, check) : null;
    const edits = computed(() => (form && gate.approval ? form.changes() : 0));
    const guidance = h("input", { type: "text", id: `guidance-${gate.id}`, placeholder: "What to do instead", autocomplete: "off" });
    const always = gate.approval ? alwaysFields(gate) : null;
    const decide = async (body, words) => {
      clearTimeout(timer);
      isBusy.set(true);
      failure.set(null);
      try {
        decided.set(await act(["gates", gate.id, "decision"], body));
        say(words);
        this.ondecided?.();
      } catch (error) {
        failure.set(error);
      }
      isBusy.set(false);
    };
    const approve = () => decide(edits.peek() ? { choice: "approve-edited", arguments: form.value.peek() } : { choice: "approve", always: always?.value() }, edits.peek() ? "Approved with edits." : "Approved.");
    const submit = (event) => {
      event.preventDefault();
      if (!isValid.peek()) return;
      if (asksForValue) decide({ choice: "resolve", value: form.value.peek() }, "Sent.");
      else approve();
    };
    keys({
      a: ["in a gate: to approve", () => this.querySelector(".approve")?.focus() ?? false],
      x: ["in a gate: to guidance", () => guidance.focus()],
    });
    const isReadOnly = () => server().value?.readOnly ?? false;
    const mayAct = keyed(() => !isReadOnly(), () => actions());
    const actions = () => [
      form
        ? h("form", { class: "gate-fields", id: `gate-${gate.id}`, onsubmit: submit, novalidate: true },
          h("section", {}, form.node),
          keyed(() => Boolean(always) && !edits(), () => always.node),
          () => (edits() ? h("section", {}, h("h3", {}, "What you changed"), diffView(JSON.stringify(gate.arguments, null, 2), JSON.stringify(form.value(), null, 2))) : null))
        : null,
      h("div", { class: "sticky gate-actions" },
        h("div", { class: "buttons" },
          form
            ? h("button", { class: "button primary approve", form: `gate-${gate.id}`, disabled: () => isBusy() || !isValid(), title: () => why() || null }, icon("ok"), () => (asksForValue ? "Send this value" : edits() ? `Approve with ${plural(edits(), "edit")}` : always?.value() ? "Approve, also later calls" : "Approve"))
            : h("button", { type: "button", class: "button primary approve", disabled: () => isBusy(), onclick: approve }, icon("ok"), "Approve"),
          keyed(() => edits() > 0, () => button("Approve as asked", { disabled: () => isBusy(), onclick: () => decide({ choice: "approve" }, "Approved as asked.") }))),
        denyForm()),
    ];
    const denyForm = () => h("form", { class: "deny", onsubmit: (event) => { event.preventDefault(); decide({ choice: "deny", guidance: guidance.value }, "Denied."); } },
      h("label", { for: `guidance-${gate.id}` }, "Or deny, and say what to do instead"),
      h("div", { class: "deny-row" }, guidance, h("button", { class: "button danger", disabled: () => isBusy() }, icon("cross"), "Deny")));
    return keyed(() => (decided() ? "decided" : "open"), (state) => {
      if (state === "decided") return h("section", {}, h("p", { class: "decided" }, icon("ok"), decided().decision === "rejected" ? "Denied." : "Approved.", " The turn continues."));
      return [
        h("section", {},
          h("h2", {}, icon("waiting"), foreign(gate.question)),
          h("dl", { class: "pairs" }, gate.tool ? [h("dt", {}, "Tool"), h("dd", {}, h("code", {}, foreign(gate.tool)))] : null,
            gate.record ? [h("dt", {}, "Key"), h("dd", {}, idText(gate.record.split("#")[0], "the key"))] : null,
            h("dt", {}, "Asked"), h("dd", {}, when(gate.openedAt)),
            gate.expiresAt ? [h("dt", {}, "Expires"), h("dd", {}, gate.expiresAt.replace("T", " ").slice(0, 19), " UTC")] : null),
          gate.payload && !gate.approval ? codeBox(pretty(JSON.stringify(gate.payload)), "What is asked") : null),
        gate.preview ? h("section", { class: "preview-of-call" }, h("h3", {}, "What would change"), previewView(gate.preview),
          () => (edits() ? h("p", { class: "hint" }, "This is the call as the model asked for it, without your edits.") : null)) : null,
        () => (failure() ? h("section", {}, failure().status === 409 ? h("div", { class: "card warn", role: "alert" }, h("h3", {}, icon("alert"), "Decided elsewhere"), h("p", {}, foreign(failure().message))) : errorCard(failure())) : null),
        mayAct,
        keyed(() => isReadOnly(), () => [form ? h("section", {}, codeBox(pretty(JSON.stringify(gate.arguments ?? null)), "Arguments")) : null, h("p", { class: "muted pad" }, "This page is read-only.")]),
      ];
    });
  }
}

export const gateForm = define("haft-gate-form", GateForm);
export const waitingView = define("haft-waiting", Waiting);
