// What the model saw: the request of a step, part by part with its author, and what a prompt cache could reuse.

import { View, computed, define, effect, h, signal, svg } from "./view.js";
import { load, read } from "./server.js";
import { go, link, route } from "./route.js";
import { TIERS, bytes, codeBox, count, diffView, errorCard, icon, skeleton, stateCard, tierBadge } from "./parts.js";
import { keys } from "./keys.js";
import { duration, foreign, pretty } from "./text.js";

class Request extends View {
  render() {
    const step = computed(() => Number(route().words[3]) || 1);
    const result = signal({ state: "loading" });
    const response = signal(null);
    const filter = signal("all");
    let controller = new AbortController();
    effect(() => {
      const number = step();
      controller.abort();
      controller = new AbortController();
      const { signal: abort } = controller;
      result.set({ state: "loading" });
      response.set(null);
      const words = ["turns", this.turnId, "steps", String(number)];
      read([...words, "request"], null, abort).then((value) => result.set({ state: "ready", value }), (error) => error.name !== "AbortError" && result.set({ state: "failed", error }));
      read([...words, "response"], null, abort).then((value) => response.set(value), () => {});
    });
    const total = () => this.detail().turn.facts.steps;
    const move = (by) => {
      const number = Math.max(1, Math.min(total(), step.peek() + by));
      go(["turns", this.turnId, "request", String(number)]);
    };
    keys({
      "[": ["step before", () => move(-1)],
      "]": ["next step", () => move(1)],
      d: ["only what changed", () => filter.update((it) => (it === "changed" ? "all" : "changed"))],
    });
    return h("div", { class: "request" },
      h("nav", { class: "steps", "aria-label": "Steps" }, h("h2", {}, "What the cache could reuse"),
        stepList(this.turnId, step, computed(total)),
        h("p", { class: "keys-of-colour" }, ["kept", "lost", "new"].map((name) => h("span", {}, h("i", { class: `swatch reuse-${name}` }), name)))),
      h("div", { class: "parts", tabindex: "0", role: "region", "aria-label": "Parts of the request" }, () => {
        const now = result();
        if (now.state === "loading") return skeleton(6);
        if (now.state === "failed") return noRequest(now.error);
        return parts(now.value, filter);
      }),
      h("aside", { class: "side", "aria-label": "Response", tabindex: "0" },
        () => (result().state === "ready" ? reuseCard(result().value, step()) : null),
        () => (response() ? responseCard(response()) : null)));
  }
}

/** How many steps stand in the list at once. */
const STEPS = 100;

/** The steps around the current one, with what a cache could reuse of each. */
function stepList(turnId, step, total) {
  const page = computed(() => Math.floor((step() - 1) / STEPS));
  return () => {
    const start = page() * STEPS;
    total();
    const steps = load((abort) => read(["turns", turnId, "steps"], { start, count: STEPS }, abort));
    const other = (words, number) => h("li", {}, h("a", { href: link(["turns", turnId, "request", String(number)]) }, words));
    return h("ol", {}, start ? other(`Steps ${start - STEPS + 1} to ${start}`, start) : null,
      () => (steps().value?.steps ?? []).map((it) => stepLink(turnId, it, step)),
      start + STEPS < total() ? other(`Steps from ${start + STEPS + 1}`, start + STEPS + 1) : null);
  };
}

function noRequest(error) {
  if (error.status === 404) return stateCard({ icon: "message", title: "No request", text: error.message });
  return errorCard(error);
}

/** A bar of three shares. */
function reuseBar(kept, lost, total) {
  const all = Math.max(total, kept + lost, 1);
  const width = (value) => (value / all) * 1000;
  return svg("svg", { class: "reuse", viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "reuse-new", x: 0, y: 0, width: 1000, height: 10 }),
    svg("rect", { class: "reuse-kept", x: 0, y: 0, width: width(kept), height: 10 }),
    svg("rect", { class: "reuse-lost", x: width(kept), y: 0, width: width(lost), height: 10 }));
}

function stepLink(turnId, step, current) {
  const { request } = step;
  const words = !request ? "no request" : request.kept === undefined ? "first" : request.lost ? `${bytes(request.lost)} lost` : "all kept";
  return h("li", {}, h("a", {
    href: link(["turns", turnId, "request", String(step.number)]), "data-step": step.number,
    class: request?.lost ? "lost" : "", "aria-current": () => (current() === step.number ? "true" : null),
  }, h("span", {}, `Step ${step.number}`), h("span", { class: "muted" }, words), request ? reuseBar(request.kept ?? 0, request.lost, request.bytes) : null));
}

function parts(view, filter) {
  const isOutside = (part) => part.tier.startsWith("third") || part.tier === "handle";
  const groups = {
    all: ["All parts", () => true],
    changed: ["Changed since the step before", (part) => part.change !== "same"],
    outside: ["Outside content", isOutside],
  };
  const chip = (name, words, number) => h("button", { type: "button", class: "chip", "aria-pressed": () => String(filter() === name), onclick: () => filter.set(name) }, words, number === null ? null : h("span", { class: "muted" }, ` ${number}`));
  const tiers = [...new Set(view.parts.map((part) => part.tier))];
  const firstLost = view.lost ? view.parts.findIndex((part, at) => part.change !== "same" && view.parts.slice(0, at).every((it) => it.change === "same")) : -1;
  return [
    h("div", { class: "parts-head" },
      h("h2", {}, `Request of step ${view.step}`), h("span", {}, bytes(view.bytes)), h("span", {}, view.model),
      h("span", { class: `badge ${view.identical === false ? "warn" : ""}`, title: `SHA-256 ${view.sha256}` },
        view.identical === true ? "rendered again, equal bytes" : view.identical === false ? "rendered again, other bytes than were sent" : "rendered again")),
    composition(view.parts),
    h("p", { class: "badges" }, tiers.map(tierBadge)),
    h("div", { class: "chips", role: "group", "aria-label": "Which parts" }, Object.entries(groups).map(([name, [words, test]]) => chip(name, words, view.parts.filter(test).length)), chip("json", "As JSON", null)),
    () => {
      if (filter() === "json") return codeBox(JSON.stringify(view.body, null, 2), "Request as JSON");
      const shown = view.parts.map((part, at) => [part, at]).filter(([part]) => groups[filter()][1](part));
      if (!shown.length) return h("p", { class: "muted pad" }, "No part of this request is of this kind.");
      return shown.map(([part, at]) => [
        at === firstLost ? h("p", { class: "cut" }, icon("alert"), `The cache keeps ${bytes(view.kept)}, up to here. Everything below is read again.`) : null,
        partCard(part, (part.kind !== "tools" || part.before !== undefined) && (filter.peek() !== "all" || part.kind === "user" || part.change !== "same" || at === view.parts.length - 1)),
      ]);
    },
  ];
}

/** Patterns of tiers, so that colour is not the only sign. */
const PATTERNS = {
  "third-party-private": "M0 5 6 0", "third-party-public": "M1 1h2v2H1zM4 3.5h2v1.5H4z", handle: "M0 1.2h6M0 3.8h6", model: "M1.5 0v5M4.5 0v5", user: "M3 0v5",
};

/** The share of each part, in the pattern of its tier. */
function composition(list) {
  const total = list.reduce((sum, part) => sum + part.bytes, 0);
  let at = 0;
  const rects = list.map((part) => {
    const width = (part.bytes / total) * 1000;
    const rect = svg("rect", { class: `fill-${part.tier}`, fill: PATTERNS[part.tier] ? `url(#fill-${part.tier})` : null, x: at, y: 0, width: Math.max(width - 1.5, 0.5), height: 20 }, svg("title", {}, `${part.title}: ${bytes(part.bytes)}`));
    at += width;
    return rect;
  });
  const words = Object.keys(TIERS).map((tier) => [tier, list.filter((part) => part.tier === tier).reduce((sum, part) => sum + part.bytes, 0)]).filter(([, size]) => size)
    .map(([tier, size]) => `${TIERS[tier].words} ${Math.round((size / total) * 100)} %`);
  return svg("svg", { class: "composition", viewBox: "0 0 1000 20", preserveAspectRatio: "none", role: "img", "aria-label": `Share of the request: ${words.join(", ")}` },
    svg("defs", {}, Object.entries(PATTERNS).map(([tier, d]) => svg("pattern", { id: `fill-${tier}`, width: 6, height: 5, patternUnits: "userSpaceOnUse", class: `pattern-${tier}` }, svg("path", { d })))),
    rects);
}

const CHANGES = { same: ["=", "same"], new: ["+", "new"], changed: ["~", "changed"] };

function partCard(part, isOpen) {
  const [sign, words] = CHANGES[part.change];
  return h("details", { class: `part tier-edge tier-${part.tier}`, open: isOpen },
    h("summary", {}, tierBadge(part.tier), h("b", {}, foreign(part.title)), h("span", { class: "grow" }), h("span", { class: `change ${part.change}` }, `${sign} ${words}`), h("span", { class: "number" }, bytes(part.bytes))),
    part.before === undefined
      ? h("div", { class: "segments" }, part.segments.map((segment) => h("div", { class: `segment ${segment.kind} tint-${segment.tier}` }, foreign(segment.text))))
      : h("div", { class: "segments" }, diffView(part.before, part.segments.map((segment) => segment.text).join(""), "Difference to the step before")));
}

function reuseCard(view, step) {
  if (step === 1) return h("section", {}, h("h2", {}, "First request"), h("p", { class: "muted" }, "There is no request before it, so that a cache has nothing to reuse from this turn."));
  const fresh = Math.max(0, view.bytes - view.kept);
  return h("section", {},
    h("h2", { class: view.lost ? "warn-text" : "" }, view.lost ? [icon("alert"), "Why the cache broke here"] : "The cache keeps everything"),
    view.lostBecause ? h("p", {}, foreign(view.lostBecause)) : h("p", { class: "muted" }, "The request begins with all parts of the request before."),
    reuseBar(view.kept, view.lost, view.bytes),
    h("p", { class: "muted" }, `${bytes(view.kept)} kept · ${bytes(view.lost)} lost · ${bytes(fresh)} new`));
}

function responseCard(response) {
  const texts = response.items.filter((it) => it.kind !== "call");
  const calls = response.items.filter((it) => it.kind === "call");
  return h("section", {},
    h("h2", {}, "Response"),
    texts.map((it) => h("p", { class: it.kind }, foreign(it.text))),
    calls.length ? [h("h3", {}, "Calls"), calls.map((it) => codeBox(`${it.tool} ${pretty(it.arguments)}`, `Call of ${it.tool}`))] : null,
    h("dl", { class: "pairs" },
      h("dt", {}, "Then"), h("dd", {}, { continue: "another step", done: "the turn is done", fail: "the turn failed" }[response.then] ?? response.then),
      h("dt", {}, "Tokens"), h("dd", {}, count(response.usage.completion)),
      h("dt", {}, "Took"), h("dd", {}, duration(response.modelMs))));
}

export const requestView = define("haft-request", Request);
