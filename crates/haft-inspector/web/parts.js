// Small parts that views share: icons, badges, tiers, ids, times and states.

import { effect, h, onEnd, signal, svg } from "./view.js";
import { load, readBlob } from "./server.js";
import { ago, bytes, cost, count, foreign, lineDiff, plural, shortId, unifiedDiff } from "./text.js";

const PATHS = {
  turns: "M2.5 4h11M2.5 8h11M2.5 12h7",
  waiting: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM6.4 5.8v4.4M9.6 5.8v4.4",
  artifact: "M8 1.7 13.5 4.6v6.8L8 14.3 2.5 11.4V4.6zM2.7 4.7 8 7.5l5.3-2.8M8 7.5v6.6",
  agents: "M2.5 2.5h4.2v4.2H2.5zM9.3 2.5h4.2v4.2H9.3zM2.5 9.3h4.2v4.2H2.5zM9.3 9.3h4.2v4.2H9.3z",
  talk: "M2.5 3h8v6h-5L3 11V9h-.5zM6 11h5l2.5 2v-2h.5V5.5h-1.5",
  help: "M5.8 6.2a2.2 2.2 0 1 1 3.1 2c-.6.3-.9.7-.9 1.4M8 12.2v.1",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3 14 14",
  ok: "m3 8.5 3.2 3.2L13 4.6",
  cross: "m4 4 8 8m0-8-8 8",
  stopped: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM3.8 3.8l8.4 8.4",
  limit: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.5M8 11v.1",
  alert: "M8 2 14.5 13.5h-13zM8 6.3v3.4M8 11.6v.1",
  tool: "M9.6 2.2a3.8 3.8 0 0 0-3.5 5.1L2 11.4 4.6 14l4.1-4.1a3.8 3.8 0 0 0 5-4.6l-2.4 2.4-2.2-.8-.8-2.2 2.4-2.4z",
  message: "M2 3h12v8H7l-3 2.5V11H2z",
  thought: "M8 2a4 4 0 0 0-2.2 7.3V11h4.4V9.3A4 4 0 0 0 8 2zM6.2 13.5h3.6",
  person: "M8 2.2a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM2.8 14c.4-3 2.4-4.4 5.2-4.4s4.8 1.4 5.2 4.4",
  wand: "m2.5 13.5 7-7M11 1.8v2.4M9.8 3h2.4M13 6.8v2M12 7.8h2M6.5 2.2v1.6M5.7 3h1.6",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  play: "M4.5 2.8v10.4L13 8z",
  fork: "M4.5 4.6v6.8M4.5 2a1.3 1.3 0 1 0 0 2.6 1.3 1.3 0 0 0 0-2.6zM4.5 11.4a1.3 1.3 0 1 0 0 2.6 1.3 1.3 0 0 0 0-2.6zM11.5 2a1.3 1.3 0 1 0 0 2.6 1.3 1.3 0 0 0 0-2.6zM11.5 4.6v1c0 2-1.5 2.9-3.5 2.9H4.5",
  shield: "M8 1.8 13 3.6v4c0 3.3-2 5.4-5 6.6-3-1.2-5-3.3-5-6.6v-4zM5.6 7.8l1.8 1.8 3-3.2",
  lock: "M3.5 7h9v6.5h-9zM5.2 7V5a2.8 2.8 0 0 1 5.6 0v2",
  globe: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM2 8h12M8 2c2 2 2.6 4 2.6 6S10 12 8 14c-2-2-2.6-4-2.6-6S6 4 8 2z",
  tag: "M2.5 2.5h5l6 6-5 5-6-6zM5.2 5.2h.1",
  spark: "M8 2c.6 3.6 2.4 5.4 6 6-3.6.6-5.4 2.4-6 6-.6-3.6-2.4-5.4-6-6 3.6-.6 5.4-2.4 6-6z",
  right: "m6 3.5 4.5 4.5L6 12.5",
  down: "m3.5 6 4.5 4.5L12.5 6",
  up: "m3.5 10 4.5-4.5 4.5 4.5",
  stop: "M4 4h8v8H4z",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  fold: "m4.5 6 3.5-3.5L11.5 6M4.5 10l3.5 3.5 3.5-3.5",
  resume: "M3.5 3v10M6.5 3.2v9.6L13.5 8z",
};

/** An icon. It is decoration: the words beside it say the same. */
export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: PATHS[name] ?? "" }));
}

export const TIERS = {
  "first-party": { words: "first-party", icon: "shield", about: "written by the developer or the operator" },
  "third-party-private": { words: "third-party, private", icon: "lock", about: "an upload, a mailbox, a database" },
  "third-party-public": { words: "third-party, public", icon: "globe", about: "the open web, or an unknown author" },
  handle: { words: "untrusted handle", icon: "tag", about: "content that is stored outside the prompt" },
  model: { words: "model’s own words", icon: "spark", about: "what the model wrote in an earlier step: no tier" },
  user: { words: "user’s words", icon: "person", about: "what the user wrote: no tier" },
};

/** The badge of a trust tier: a word, an icon, a pattern and a colour. */
export function tierBadge(tier) {
  const known = TIERS[tier] ?? TIERS["third-party-public"];
  return h("span", { class: `tier tier-${tier}`, title: known.about }, icon(known.icon), known.words);
}

export const STATES = {
  queued: { words: "Queued", icon: "turns" },
  running: { words: "Running", icon: "play" },
  "cancel-requested": { words: "Cancelling", icon: "stopped" },
  interrupted: { words: "Interrupted", icon: "alert" },
  waiting: { words: "Waiting", icon: "waiting" },
  completed: { words: "Completed", icon: "ok" },
  failed: { words: "Failed", icon: "cross" },
  cancelled: { words: "Cancelled", icon: "stopped" },
  "limit-reached": { words: "Limit reached", icon: "limit" },
  damaged: { words: "Damaged", icon: "alert" },
};

/** The state of a turn. */
export function stateBadge(state) {
  const known = STATES[state] ?? STATES.running;
  return h("span", { class: `state state-${state}` },
    state === "running" ? h("span", { class: "dot", "aria-hidden": "true" }) : icon(known.icon), known.words);
}

/** A button with an icon. */
export function button(words, options) {
  const { icon: name, kind, key, onclick, ...rest } = options;
  return h("button", { type: "button", class: `button ${kind ?? ""}`, onclick, ...rest },
    name ? icon(name) : null, h("span", {}, words), key ? h("kbd", { "aria-hidden": "true" }, key) : null);
}

/** A button that shows only an icon. */
export function iconButton(words, name, onclick, rest) {
  return h("button", { type: "button", class: "icon-button", title: words, "aria-label": words, onclick, ...rest }, icon(name));
}

const spoken = signal("");

/** Says something to screen readers, politely. */
export function say(words) {
  spoken.set("");
  setTimeout(() => spoken.set(words), 30);
}

/** The region that says it. */
export function spokenRegion() {
  return h("div", { class: "visually-hidden", "aria-live": "polite", role: "status" }, () => spoken());
}

/** Copies a text, and shows for a moment that it is done. */
function copier(text, what, isDone) {
  return async (event) => {
    event.stopPropagation();
    event.preventDefault();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      say("The browser does not allow copying.");
      return;
    }
    isDone.set(true);
    say(`Copied ${what}.`);
    setTimeout(() => isDone.set(false), 1500);
  };
}

/** A button with words that copies a text. */
export function copyTextButton(words, text, what) {
  const isDone = signal(false);
  return h("button", { type: "button", class: "button", onclick: copier(text, what, isDone) }, () => icon(isDone() ? "ok" : "copy"), h("span", {}, words));
}

/** A button that copies a text. */
export function copyButton(text, what) {
  const isDone = signal(false);
  const copy = copier(text, what, isDone);
  return h("button", { type: "button", class: "icon-button small", title: `Copy ${what}`, "aria-label": `Copy ${what}`, onclick: copy },
    () => icon(isDone() ? "ok" : "copy"));
}

/** An id: its ends, the whole in the title, and a button that copies it. */
export function idText(id, what = "the id") {
  return h("span", { class: "id" }, h("code", { title: id }, shortId(id)), copyButton(id, what));
}

const minute = signal(Date.now());
setInterval(() => minute.set(Date.now()), 15_000);

/** When something happened: relative, with the moment in its title. */
export function when(moment) {
  return h("time", { datetime: moment, title: `${moment.replace("T", " ").replace(/\.\d+Z$/, "")} UTC` }, () => ago(moment, minute()));
}

/** A name and a number. */
export function fact(number, words) {
  return h("span", { class: "fact" }, h("b", {}, number), words ? ` ${words}` : null);
}

/** A cost, which is an estimate: prices are those of the configuration. */
export function dollars(amount) {
  if (amount === undefined || amount === null) return h("span", { title: "The price of the model is not known: see `haft config`" }, "–");
  return h("span", { title: "US dollars, by the prices of the configuration" }, `${cost(amount)} est.`);
}

/** Tokens in and out. */
export function tokens(usage) {
  if (!usage.prompt && !usage.completion) return null;
  const cached = usage.cached ? `, ${count(usage.cached)} from the cache` : "";
  return h("span", { class: "fact", title: `tokens that the model read and wrote${cached}` },
    h("b", {}, count(usage.prompt)), " in ", h("b", {}, count(usage.completion)), " out");
}

/** A card for a state of a whole view: loading, empty, nothing found, failed. */
export function stateCard({ icon: name, title, text, children }) {
  return h("div", { class: "state-card" }, name ? icon(name) : null, h("h2", {}, title), text ? h("p", {}, text) : null, children ?? null);
}

/** Grey bars of the size of the rows to come, shown after a moment. */
export function skeleton(rows = 6) {
  return h("div", { class: "skeleton", role: "status", "aria-label": "Loading" },
    Array.from({ length: rows }, () => h("div", {}, h("span", {}))));
}

/** What failed, why, and what can be done. */
export function errorCard(error, action) {
  return h("div", { class: "card error", role: "alert" },
    h("h3", {}, icon("alert"), foreign(error.message)),
    error.hint ? h("p", {}, foreign(error.hint)) : null,
    error.code ? h("dl", { class: "pairs" }, h("dt", {}, "Code"), h("dd", {}, h("code", {}, error.code))) : null,
    action ?? null);
}

/** The content of something that loads. */
export function loaded(result, render, rows) {
  return () => {
    const now = result();
    if (now.state === "loading") return skeleton(rows);
    if (now.state === "failed") return errorCard(now.error);
    return render(now.value);
  };
}

const SIGNS = { same: " ", removed: "−", added: "+", place: " " };

/** A difference of two texts, with signs. */
export function diffView(before, after, head) {
  const rows = lineDiff(before, after);
  const changed = rows.filter(([kind]) => kind === "added").length || rows.filter(([kind]) => kind === "removed").length;
  return h("div", { class: "code diff", tabindex: "0", role: "group", "aria-label": "Difference" },
    h("div", { class: "diff-head" }, head ?? (changed ? `${plural(changed, "line")} changed` : "unchanged")),
    rows.map(([kind, text]) => h("div", { class: kind }, h("span", { class: "sign" }, SIGNS[kind]), foreign(text || " "))));
}

/** What a call would change, as its tool says: a unified diff with its signs, or words. */
export function previewView(preview) {
  const label = "What the call would change";
  const cut = preview.cut ? h("p", { class: "muted" }, "Further lines are left out.") : null;
  if (preview.kind !== "diff") return [codeBox(preview.text, label), cut];
  const rows = unifiedDiff(preview.text);
  const number = (kind) => rows.filter((row) => row.kind === kind).length;
  return [h("div", { class: "code diff", tabindex: "0", role: "group", "aria-label": label },
    h("div", { class: "diff-head" }, `${plural(number("added"), "line")} added, ${number("removed")} removed`),
    rows.map((row) => h("div", { class: row.kind }, h("span", { class: "sign" }, SIGNS[row.kind]), foreign(row.text || " ")))), cut];
}

/** Text in a box that scrolls. */
export function codeBox(text, label) {
  return h("pre", { class: "code", tabindex: "0", role: "group", "aria-label": label ?? "Text" }, foreign(text));
}

/** A medium: a picture, or its name. A picture of others is shown when it is asked for. */
export function mediaView(turn, media) {
  const isShown = signal(media.tier === "first-party");
  return h("figure", { class: `media tier-edge tier-${media.tier}` },
    media.previewable
      ? () => (isShown() ? picture(turn, media) : button("Show this picture", { onclick: () => isShown.set(true) }))
      : null,
    h("figcaption", {}, tierBadge(media.tier), " ", foreign(media.filename), " ", h("span", { class: "muted" }, media.mimeType),
      media.previewable ? null : h("span", { class: "muted" }, " · not shown"), " ",
      media.id ? saveButton(["turns", turn, "media", media.id], media.filename) : null));
}

/** A button that saves the bytes of an address as a file. They are read with the token of the page. */
export function saveButton(words, filename) {
  const problem = signal(null);
  const controller = new AbortController();
  onEnd(() => controller.abort());
  const save = async (event) => {
    event.stopPropagation();
    problem.set(null);
    try {
      const url = URL.createObjectURL(await readBlob(words, controller.signal));
      h("a", { href: url, download: filename }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (error) {
      if (error.name !== "AbortError") problem.set(error.message);
    }
  };
  return h("span", { class: "save" }, button("Save", { icon: "down", "aria-label": `Save ${filename}`, onclick: save }), () => (problem() ? h("span", { class: "problem", role: "alert" }, " ", foreign(problem())) : null));
}

/** A picture, which is read with the token of the page: an element that reads its address itself would come without it. */
function picture(turn, media) {
  const source = load(async (abort) => {
    const url = URL.createObjectURL(await readBlob(["turns", turn, "media", media.id], abort));
    abort.addEventListener("abort", () => URL.revokeObjectURL(url));
    return url;
  });
  return h("img", { src: () => source().value ?? null, alt: media.filename });
}

/** Runs a function four times a second while the current scope lives. */
export function ticking(body) {
  const timer = setInterval(body, 250);
  onEnd(() => clearInterval(timer));
}

/** Whether a query of the style sheet holds. */
export function media(query) {
  const list = matchMedia(query);
  const value = signal(list.matches);
  const update = () => value.set(list.matches);
  list.addEventListener("change", update);
  onEnd(() => list.removeEventListener("change", update));
  return value;
}

/** Sets the title of the tab while the current scope lives. */
export function pageTitle(words) {
  effect(() => {
    const text = typeof words === "function" ? words() : words;
    document.title = text ? `${text} · Haft` : "Haft";
  });
}

export { bytes, count };
