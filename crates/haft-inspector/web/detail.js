// The details of a row of the timeline: a step, a text, or a call with its arguments and its result.

import { computed, effect, h, keyed, onEnd, signal } from "./view.js";
import { read } from "./server.js";
import { go } from "./route.js";
import { bytes, button, codeBox, copyTextButton, count, diffView, dollars, icon, idText, mediaView, previewView, skeleton, tierBadge } from "./parts.js";
import { duration, foreign, plural, pretty } from "./text.js";
import { gateForm } from "./gate.js";

export function isOpenGate(call) {
  return call.gate && !call.gate.decision;
}

/** Whether a person has denied a call. Its record says so when the turn goes on. */
export function isDenied(call) {
  return call.gate?.decision === "rejected";
}

export function callBadges(call) {
  const badges = [];
  if (isDenied(call)) badges.push(h("span", { class: "badge failed" }, icon("cross"), "denied, did not run"));
  else if (call.refused) badges.push(h("span", { class: "badge failed" }, icon("cross"), call.state === "cancelled" ? "cancelled, did not run" : "refused, did not run"));
  else if (call.error) badges.push(h("span", { class: "badge failed" }, icon("cross"), "failed"));
  if (call.state === "unknown") badges.push(h("span", { class: "badge failed" }, icon("alert"), "outcome unknown"));
  if (call.gate?.decision === "resolved") badges.push(h("span", { class: "badge ok" }, icon("ok"), call.edited ? "approved with edits" : "approved"));
  if (isOpenGate(call)) badges.push(h("span", { class: "badge warn" }, icon("waiting"), "waits for you"));
  return badges;
}

/** The arguments with the most telling one first: a pattern or path before a handle. */
export function tellingArguments(text) {
  try {
    const value = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return text;
    const { callId, ...rest } = value;
    const words = Object.entries(rest).map(([name, it], at) => {
      const shown = typeof it === "string" ? it : JSON.stringify(it);
      return at === 0 && Object.keys(rest).length <= 2 && typeof it === "string" ? shown : `${name} ${shown}`;
    });
    if (callId !== undefined) words.push(`in ${callId}`);
    return words.join("  ") || "{}";
  } catch {
    return text;
  }
}

/** What stands in the detail pane while nothing is selected: a gate that waits, or what the turn is. */
export function detailHint(detail) {
  const gate = detail.gates.find((it) => !it.decision);
  if (gate) return gateForm({ gate });
  return h("div", { class: "detail-empty" },
    h("h2", {}, "Details"),
    h("p", {}, "Select a row to see everything that is stored of it."),
    factWords(detail.turn.facts),
    h("details", {}, h("summary", {}, "System prompt"), codeBox(detail.systemPrompt, "System prompt")));
}

export function detailOf(row, ctx) {
  if (row.kind === "step") return stepDetail(row, ctx);
  if (row.item.kind !== "call") return textDetail(row, ctx);
  return callDetail(row, ctx);
}

function factWords(facts) {
  const words = [
    facts.failedCalls ? `${count(facts.failedCalls)} failed` : "",
    facts.coercedCalls ? `${count(facts.coercedCalls)} with coerced arguments` : "",
    facts.repeatedCalls ? `${count(facts.repeatedCalls)} made again with the same arguments` : "",
  ].filter(Boolean);
  return facts.calls ? h("p", {}, `${plural(facts.calls, "call")}${words.length ? `: ${words.join(", ")}` : ""}.`) : null;
}

function stepDetail(row, ctx) {
  const step = row.value;
  return [
    h("section", {}, h("h2", {}, `Step ${step.number}`),
      h("dl", { class: "pairs" },
        h("dt", {}, "Took"), h("dd", {}, duration(step.durationMs ?? null)),
        h("dt", {}, "Model"), h("dd", {}, [duration(step.modelMs), step.waitMs < step.modelMs ? `first word after ${duration(step.waitMs)}` : "", step.model].filter(Boolean).join(", ")),
        h("dt", {}, "Storing"), h("dd", {}, duration(step.storingMs)),
        h("dt", {}, "Tokens"), h("dd", {}, step.usage.prompt ? `${count(step.usage.prompt)} in, ${count(step.usage.completion)} out, ${count(step.usage.cached)} from the cache` : "–"),
        step.usage.prompt ? [h("dt", {}, "Cost"), h("dd", {}, dollars(step.cost))] : null,
        step.request ? [h("dt", {}, "Request"), h("dd", {}, bytes(step.request.bytes)), h("dt", {}, "Same start"), h("dd", {}, step.request.kept === undefined ? "first request" : `${bytes(step.request.kept)} as in the request before`)] : null)),
    h("section", { class: "buttons" },
      button("What the model saw", { key: "s", onclick: () => go(["turns", ctx.turnId, "request", String(step.number)]) }),
      ctx.detail.peek().actions.fork ? button("Fork here", { icon: "fork", onclick: () => go(["turns", ctx.turnId, "fork", String(step.number)]) }) : null),
  ];
}

function textDetail(row, ctx) {
  const { item } = row;
  const title = item.kind === "thought" ? "Thought" : item.role === "user" ? "Message of the user" : "Message of the model";
  return [
    h("section", {}, h("h2", {}, title), tierBadge(item.role === "user" ? "user" : "model")),
    h("section", {}, codeBox(item.text, title), item.omittedBytes ? h("p", { class: "muted" }, `${bytes(item.omittedBytes)} more are stored.`) : null,
      (item.media ?? []).map((it) => mediaView(ctx.turnId, it))),
  ];
}

function callDetail(row, ctx) {
  const view = signal(null);
  const failure = signal(null);
  const controller = new AbortController();
  onEnd(() => controller.abort());
  // The record changes while the call runs, so it is read again when its row changes.
  const current = computed(() => {
    ctx.store.version();
    return JSON.stringify(ctx.store.get(ctx.store.placeOf(row.key))?.item ?? null);
  });
  effect(() => {
    current();
    read(["turns", ctx.turnId, "calls", row.item.record], null, controller.signal).then((value) => view.set(value), (error) => error.name !== "AbortError" && failure.set(error));
  });
  const item = () => JSON.parse(current()) ?? row.item;
  const gate = computed(() => ctx.detail().gates.find((it) => it.record === row.item.record && !it.decision)?.id ?? null);
  return [
    h("section", {}, h("h2", {}, icon("tool"), h("code", {}, foreign(row.item.tool)), () => callBadges(view()?.call ?? row.item)),
      () => (view() ? h("dl", { class: "pairs" },
        h("dt", {}, "Step"), h("dd", {}, `${view().step}, call ${view().ordinal}`),
        h("dt", {}, "Took"), h("dd", {}, item().durationMs === undefined ? "–" : `${duration(item().durationMs)}, from ${duration(item().atMs)}`),
        item().decisionTime ? [h("dt", {}, "Waited"), h("dd", {}, item().decisionTime.durationMs === undefined ? "for a person, still" : `${duration(item().decisionTime.durationMs)} for a person`)] : null,
        view().call.attempt > 1 ? [h("dt", {}, "Repeated"), h("dd", {}, `call ${view().call.attempt} of this turn with the same arguments`)] : null,
        h("dt", {}, "Key"), h("dd", {}, idText(view().call.callKey, "the key"))) : skeleton(3))),
    keyed(gate, (id) => gateForm({ gate: ctx.detail.peek().gates.find((it) => it.id === id) })),
    () => (failure() ? h("section", { class: "problem" }, failure().message) : null),
    // The record is read again when its row changes; what looks the same stays.
    keyed(() => argumentsKey(view()), () => argumentsSection(view.peek())),
    keyed(() => view() && JSON.stringify([view().call, view().result]), () => resultSection(view.peek(), ctx)),
  ];
}

function argumentsKey(view) {
  return view && JSON.stringify([view.raw, view.accepted, view.edited, view.call.gate]);
}

function argumentsSection(view) {
  const raw = pretty(view.raw);
  const accepted = view.accepted && pretty(view.accepted);
  const edited = view.edited && pretty(view.edited);
  return h("section", {},
    h("h3", {}, accepted && accepted !== raw ? "Arguments: as the model wrote them → as the tool received them" : "Arguments"),
    edited ? [h("h4", {}, "Edited before approval"), diffView(raw, edited)] : null,
    accepted && accepted !== (edited ?? raw) ? diffView(isJson(view.raw) || edited ? edited ?? raw : view.raw, accepted) : codeBox(edited ?? raw, "Arguments"),
    view.preview && view.call.gate?.decision ? [h("h4", {}, "What would change, as it was said at the approval"), previewView(view.preview)] : null,
    view.coercions.length ? h("ul", { class: "coercions" }, view.coercions.map((it) => h("li", {}, h("span", { class: "badge coerced" }, icon("wand"), it.label), " ", foreign(it.text)))) : null);
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function resultSection(view, ctx) {
  const { call } = view;
  // A call that has not ended has no result.
  if (!call.result && !call.error) return null;
  const handles = call.result?.handles ?? [];
  return h("section", {},
    h("h3", {}, "Result, as it went back to the model"),
    h("p", { class: "badges" }, handles.length ? tierBadge("handle") : null, tierBadge(view.tier), call.result?.bytes !== undefined ? h("span", { class: "badge" }, bytes(call.result.bytes)) : null),
    view.result !== undefined ? codeBox(pretty(view.result), "Result") : null,
    view.omittedBytes ? h("p", { class: "muted" }, `${bytes(view.omittedBytes)} more are stored.`) : null,
    call.error?.cause ? [h("h4", {}, "Cause, which the model did not see"), codeBox(call.error.cause, "Cause")] : null,
    (call.result?.media ?? []).map((it) => mediaView(ctx.turnId, it)),
    h("div", { class: "buttons" },
      handles.map((handle) => button("Open artifact", { icon: "artifact", onclick: () => go(["turns", ctx.turnId, "artifacts", handle]) })),
      view.isQuery && view.queriedHandle ? button("Run this query", { icon: "play", onclick: () => go(["turns", ctx.turnId, "artifacts", view.queriedHandle], { run: view.call.record }) }) : null,
      copyTextButton("Copy as haft call", `haft call . ${call.tool} '${view.raw.replaceAll("'", "'\\''")}'`, "the command")));
}

