// One turn: its facts, its tabs, and the live stream that keeps them true.

import { View, append, computed, define, effect, h, keyed, scope, signal } from "./view.js";
import { act, connection, follow, load, read, retryLater } from "./server.js";
import { go, link, route } from "./route.js";
import { button, count, errorCard, fact, icon, idText, pageTitle, say, skeleton, stateBadge, dollars, ticking, tokens, when } from "./parts.js";
import { keys } from "./keys.js";
import { duration, foreign, plural } from "./text.js";
import { timelineView } from "./timeline.js";
import { requestView } from "./request.js";
import { artifactView } from "./artifact.js";
import { forkView } from "./fork.js";
import { RowStore } from "./rows.js";

class Turn extends View {
  render() {
    const id = this.turnId;
    const detail = signal(null);
    const failure = signal(null);
    const streams = signal([]); // texts that the model writes at this moment
    const lostSince = signal(null);
    const notices = signal([]); // what the process that runs the turn says about it
    const store = new RowStore((start, number, abort) => read(["turns", id, "rows"], { start, count: number }, abort));
    const apply = createApplier({ detail, streams, notices, store });
    const window = { at: route.peek().query.get("at") };
    const reset = (value) => {
      streams.set([]);
      store.forget(0);
      store.putPage(value.rows);
      detail.set(withFacts(value));
    };

    const connect = () => {
      follow(["turns", id, "events"], window, {
        reset,
        change: apply,
        end: () => lostSince.set(null),
        open: () => lostSince.set(null),
        lost: () => {
          const state = detail.peek()?.turn.state;
          if (detail.peek() && !isFinal(state) && !lostSince.peek()) lostSince.set(new Date());
        },
      });
    };
    // A turn that has ended needs no stream.
    const begin = (value) => isFinal(value.turn.state) || scope(() => connect());
    const attempts = signal(0);
    const tryAgain = () => attempts.update((it) => it + 1);
    effect(() => {
      attempts();
      const first = load((abort) => read(["turns", id], window, abort));
      effect(() => {
        const result = first();
        if (result.state === "failed") {
          failure.set(result.error);
          // A server that is started again has the same turn.
          if (result.error.status === 0) retryLater(tryAgain);
        }
        if (result.state !== "ready") return;
        failure.set(null);
        reset(result.value);
        begin(result.value);
      });
    });
    pageTitle(() => detail()?.turn.title ?? "");
    const tab = computed(() => route().words[2] ?? "timeline");
    keys({
      Escape: ["back to the list", () => (document.querySelector("dialog[open], .sheet-open") ? false : go(["turns"]))],
      s: ["what the model saw at this step", () => go(["turns", id, "request", String(currentStep())])],
      f: ["fork from this step", () => detail.peek()?.actions.fork && go(["turns", id, "fork", String(currentStep())])],
    });
    const currentStep = () => {
      const selected = document.querySelector("[data-step][aria-current='true'], [data-step]:focus");
      return Number(selected?.dataset.step ?? route.peek().words[3] ?? 0) || Math.max(1, detail.peek()?.turn.facts.steps ?? 1);
    };
    // The views of a turn are built once, and follow the turn themselves.
    return keyed(() => (failure() ? "failed" : detail() ? "ready" : "loading"), (state) => {
      if (state === "failed") return h("div", { class: "pad" }, errorCard(failure.peek(), h("div", { class: "buttons" }, button("Try again", { onclick: tryAgain }), button("Turns", { onclick: () => go(["turns"]) }))));
      return state === "ready" ? this.body({ detail, streams, notices, store }, tab, lostSince) : skeleton(8);
    });
  }

  body(live, tab, lostSince) {
    const id = this.turnId;
    const { detail } = live;
    const tabs = [
      ["timeline", "Timeline", () => ""],
      ["request", "What the model saw", () => ""],
      ["artifacts", "Artifacts", () => count(detail().artifacts.length)],
      ["fork", "Fork", () => ""],
    ];
    const pane = h("div", { class: "turn-pane", id: "turn-pane", role: "tabpanel", "aria-labelledby": () => `tab-${tab()}` });
    let stop = () => {};
    effect(() => {
      const name = tab();
      stop();
      pane.replaceChildren();
      const view = { timeline: timelineView, request: requestView, artifacts: artifactView, fork: forkView }[name] ?? timelineView;
      [, stop] = scope(() => append(pane, view({ turnId: id, ...live })));
    });
    return [
      this.head(detail, lostSince),
      h("div", { class: "tabs", role: "tablist", "aria-label": "Views of the turn", onkeydown: moveTab },
        tabs.map(([name, words, number]) => h("a", {
          role: "tab", id: `tab-${name}`, href: () => link(["turns", id, name]), "aria-controls": "turn-pane",
          "aria-selected": () => String(tab() === name), tabindex: () => (tab() === name ? "0" : "-1"),
        }, words, () => (number() ? h("span", { class: "muted" }, ` ${number()}`) : null)))),
      pane,
    ];
  }

  head(detail, lostSince) {
    const id = this.turnId;
    const took = signal(0);
    ticking(() => {
      const { turn } = detail.peek();
      if (isLive(turn.state)) took.set(Date.now() - Date.parse(turn.createdAt));
    });
    effect(() => took.set(detail().turn.durationMs));
    const isBusy = signal(false);
    const problem = signal(null);
    const perform = async (action, body, words) => {
      isBusy.set(true);
      problem.set(null);
      try {
        await act(["turns", id, action], body);
        say(words);
        if (action === "resume") detail.update((it) => ({ ...it, actions: { ...it.actions, resume: false } }));
      } catch (error) {
        problem.set(error);
      }
      isBusy.set(false);
    };
    return h("header", { class: "turn-head" },
      h("nav", { class: "crumbs", "aria-label": "Path" }, h("a", { href: link(["turns"]) }, "Turns"), keyed(() => detail().turn.agent, (agent) => [" / ", h("a", { href: link(["turns"], { agent }) }, foreign(agent))]),
        keyed(() => detail().turn.conversation, (conversation) => [" / ", h("a", { href: link(["conversations", conversation]) }, "conversation")])),
      h("div", { class: "title-row" },
        h("h1", {}, () => foreign(detail().turn.title)),
        h("div", { class: "actions" },
          keyed(() => detail().actions.resume, () => button("Resume", { icon: "resume", kind: "primary", disabled: () => isBusy(), onclick: () => perform("resume", {}, "The turn is resumed.") })),
          keyed(() => detail().actions.cancel, () => button("Cancel turn", { kind: "danger", disabled: () => isBusy(), onclick: () => cancelDialog((reason) => perform("cancel", { reason }, "The turn is cancelled.")) })),
          keyed(() => detail().actions.fork, () => button("Fork", { icon: "fork", key: "f", onclick: () => go(["turns", id, "fork"]) })))),
      h("p", { class: "facts" },
        () => stateBadge(detail().turn.state),
        () => (!isLive(detail().turn.state) ? null : h("span", { class: "live" }, h("span", { class: "dot", "aria-hidden": "true" }), connection() === "connected" ? "Live" : "Not live")),
        h("span", { class: "fact" }, h("b", { class: "ticking" }, () => duration(took()))),
        () => fact(count(detail().turn.facts.steps), detail().turn.facts.steps === 1 ? "step" : "steps"),
        () => tokens(detail().turn.facts.usage),
        () => (detail().turn.facts.usage.prompt ? h("span", { class: "fact" }, dollars(detail().turn.facts.cost)) : null),
        () => h("span", { class: "fact" }, detail().turn.model ?? "no model"),
        when(detail.peek().turn.createdAt),
        () => (detail().earlierTurns ? h("span", { class: "fact" }, `after ${plural(detail().earlierTurns, "earlier turn")}`) : null),
        idText(id)),
      () => (problem() ? errorCard(problem()) : null),
      () => (lostSince() ? h("div", { class: "card warn", role: "status" }, h("h3", {}, icon("alert"), `Not live since ${lostSince().toTimeString().slice(0, 8)}`), h("p", {}, "The page reconnects by itself and continues after the last event.")) : null),
      keyed(() => (detail().error ? JSON.stringify([detail().turn.state, detail().error]) : null), () => failureCard(detail.peek())));
  }
}

/** The card of a turn that stopped: why. */
function failureCard(detail) {
  if (!detail.error || detail.turn.state === "completed") return null;
  const { error } = detail;
  if (isLive(detail.turn.state)) return null;
  return h("div", { class: `card ${detail.turn.state === "cancelled" ? "" : "error"}`, role: "status" },
    h("h3", {}, icon("alert"), foreign(error.message)),
    detail.turn.state === "interrupted" ? h("p", {}, "The turn stopped here and can be resumed.") : null,
    error.cause ? h("p", {}, foreign(error.cause)) : null,
    h("dl", { class: "pairs" },
      error.code ? [h("dt", {}, "Code"), h("dd", {}, h("code", {}, error.code))] : null,
      error.stage ? [h("dt", {}, "Where"), h("dd", {}, foreign(error.stage))] : null,
      error.retryable ? [h("dt", {}, "Retry"), h("dd", {}, "another attempt may succeed")] : null));
}

function cancelDialog(confirm) {
  const reason = h("input", { type: "text", id: "cancel-reason", placeholder: "Not needed any more", autocomplete: "off" });
  const dialog = h("dialog", { "aria-labelledby": "cancel-title" },
    h("form", { onsubmit: (event) => { event.preventDefault(); dialog.close(); confirm(reason.value); } },
      h("h2", { id: "cancel-title" }, "Cancel this turn?"),
      h("p", { class: "muted" }, "Its calls are stopped and its gates are closed. What happened stays in the record."),
      h("div", { class: "field" }, h("label", { for: "cancel-reason" }, "Reason"), reason),
      h("div", { class: "buttons" }, h("button", { class: "button danger" }, "Cancel the turn"), button("Keep it", { onclick: () => dialog.close() }))));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

/** A turn of which only the beginning was read has no facts yet. */
function withFacts(detail) {
  const unknown = { steps: 0, calls: 0, usage: { prompt: 0, completion: 0, cached: 0 } };
  return detail.turn.facts ? detail : { ...detail, turn: { ...detail.turn, facts: unknown } };
}

/** Whether a process may still work on a turn. */
function isLive(state) {
  return !isFinal(state) && state !== "interrupted";
}

export function isFinal(state) {
  return ["completed", "failed", "cancelled", "limit-reached", "damaged"].includes(state);
}

/** Moves between tabs by the arrow keys. */
function moveTab(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const all = [...event.currentTarget.querySelectorAll("[role=tab]")];
  const next = all[(all.indexOf(document.activeElement) + by + all.length) % all.length];
  next.focus();
  next.click();
  event.preventDefault();
}

let nextNotice = 0;

/** Applies changes once per frame, in the order in which they came. */
export function createApplier({ detail, streams, notices, store }, schedule = requestAnimationFrame) {
  let waiting = [];
  return (change) => {
    waiting.push(change);
    if (waiting.length > 1) return;
    schedule(() => {
      const changes = waiting;
      waiting = [];
      let value = detail.peek();
      let texts = streams.peek();
      for (const it of changes) {
        if (it.type === "delta") texts = addDelta(texts, it);
        else if (it.type === "notice") notices.update((all) => [...all.slice(-2), { ...it, id: (nextNotice += 1) }]);
        else if (value) {
          value = applyUpdate(value, it);
          store.apply(it);
          // A text whose step is stored is shown by its record, and a notice about it is no news.
          const isNew = (live) => live.step > value.turn.facts.steps && !isFinal(value.turn.state);
          texts = texts.filter(isNew);
          notices.update((all) => (all.every(isNew) ? all : all.filter(isNew)));
        }
      }
      streams.set(texts);
      if (value) detail.set(value);
    });
  };
}

/** The texts with one more piece. */
export function addDelta(texts, delta) {
  const at = texts.findIndex((it) => it.key === delta.key);
  if (at === -1) return [...texts, { key: delta.key, step: delta.step, isThought: delta.isThought, text: delta.restart ? "" : delta.text }];
  const known = texts[at];
  const text = delta.restart ? "" : known.text + delta.text;
  return texts.with ? texts.with(at, { ...known, text }) : texts.map((it, n) => (n === at ? { ...known, text } : it));
}

/** A turn after an update. Its rows are in the store. */
export function applyUpdate(detail, update) {
  const { turn, gates, artifacts, error, actions, endMs } = update;
  const kinds = update.kinds ? detail.kinds.slice(0, update.kinds.from) + update.kinds.kinds : detail.kinds;
  return { ...detail, turn, gates, artifacts, error, actions, endMs, kinds };
}

export const turnView = define("haft-turn", Turn);
