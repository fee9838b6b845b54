// The shell: top bar, rail, and the view that the address names.

import { View, append, define, effect, h, scope, signal } from "./view.js";
import { beginSession, connection, follow, home, joinSession, read, rememberView } from "./server.js";
import { go, link, refreshRoute, route } from "./route.js";
import { button, errorCard, icon, pageTitle, say, spokenRegion } from "./parts.js";
import { keyDialog, keys } from "./keys.js";
import { findBox } from "./find.js";
import { plural } from "./text.js";
import { turnsView } from "./turns.js";
import { turnView } from "./turn.js";
import { waitingView } from "./gate.js";
import { agentsView } from "./agents.js";
import { conversationsView } from "./conversations.js";

export const server = signal(null);
export const openGates = signal(0);
export const changedTurns = signal([]);

const RAIL = [
  { words: "Turns", icon: "turns", to: ["turns"], key: "g t" },
  { words: "Waiting", icon: "waiting", to: ["waiting"], key: "g w" },
  { words: "Conversations", short: "Threads", icon: "talk", to: ["conversations"], key: "g c" },
  { words: "Agents", icon: "agents", to: ["agents"], key: "g a" },
];

class App extends View {
  render() {
    const failure = signal(null);
    const isReady = signal(false);
    const start = async () => {
      try {
        server.set(await read([]).catch(async (error) => {
          if (error.status !== 401 || !(await joinSession())) throw error;
          return read([]);
        }));
        isReady.set(true);
        failure.set(null);
      } catch (error) {
        failure.set(error);
        if (error.status === 0) setTimeout(start, 3000);
        if (error.status === 401) rememberView();
      }
    };
    beginSession();
    refreshRoute();
    start();
    return () => {
      if (failure()) return noSession(failure(), start);
      return isReady() ? shell() : null;
    };
  }
}

/** The page without a session: how to get one. */
function noSession(error, start) {
  pageTitle("");
  return h("main", { id: "main", class: "no-session" },
    h("h1", {}, "Haft"),
    error.status === 401
      ? h("div", { class: "card" }, h("h2", {}, "This page needs a session"),
          h("p", {}, "Open the address that ", h("code", {}, "haft web"), " printed. It contains a token that only this terminal knows."))
      : errorCard(error, button("Try again", { onclick: start })));
}

function shell() {
  followList();
  keys({
    ...Object.fromEntries(RAIL.map((item) => [item.key, [item.words.toLowerCase(), () => go(item.to)]])),
    "mod k": ["find anything", () => document.querySelector("#find")?.focus()],
    "?": ["all keys", () => keyDialog()],
  });
  effect(() => {
    const gates = openGates();
    const waiting = gates ? `(${gates}) ` : "";
    document.title = waiting + document.title.replace(/^\(\d+\) /, "");
  });
  return [topBar(), h("div", { class: "frame" }, rail(), h("main", { id: "main", tabindex: "-1" }, content())), spokenRegion()];
}

/** Follows the list of turns, for the counter of gates and for views that show turns. */
function followList() {
  let before = null;
  follow(["events"], null, {
    list(change) {
      if (before !== null && change.openGates > before) say(`${plural(change.openGates, "call")} waiting for a decision.`);
      before = change.openGates;
      openGates.set(change.openGates);
      changedTurns.set(change.turns);
    },
  });
}

function topBar() {
  return h("header", { class: "top" },
    h("a", { class: "brand", href: link(["turns"]), "aria-label": "Haft, list of turns" },
      h("img", { src: new URL("web/icon.svg", home).href, alt: "", width: "18", height: "18" }), h("span", {}, "Haft")),
    findBox(),
    h("span", { class: "grow" }),
    () => openGates() ? h("a", { class: "waiting-pill", href: link(["waiting"]) }, icon("waiting"), `${openGates()} waiting`) : null,
    () => server().readOnly ? h("span", { class: "badge" }, "read-only") : null,
    () => connectionBadge(connection()),
    h("button", { type: "button", class: "icon-button help", title: "All keys (?)", "aria-label": "All keys", onclick: keyDialog }, "?"));
}

function connectionBadge(state) {
  const words = { connected: "Connected", lost: "Reconnecting", closed: "Not connected" }[state];
  return h("span", { class: `connection ${state}`, title: `Store: ${server.peek().store}` }, h("span", { class: "dot", "aria-hidden": "true" }), h("span", {}, words));
}

function rail() {
  return h("nav", { class: "rail", "aria-label": "Views" },
    RAIL.map((item) => h("a", {
      href: link(item.to), title: `${item.words} (${item.key})`,
      "aria-current": () => (route().words[0] === item.to[0] ? "page" : null),
    }, icon(item.icon), h("span", {}, item.short ?? item.words),
      item.icon === "waiting" ? () => (openGates() ? h("b", { class: "count", "aria-label": `${openGates()} open` }, String(openGates())) : null) : null)));
}

/** The view that the address names. A view stays while only its query or its tab changes. */
function content() {
  const region = h("div", { class: "content" });
  let current = "";
  let stop = () => {};
  effect(() => {
    const { words } = route();
    const name = words[0] === "turns" && words[1] ? `turn ${words[1]}` : ["agents", "conversations"].includes(words[0]) ? `${words[0]} ${words[1] ?? ""}` : words[0];
    if (name === current) return;
    current = name;
    stop();
    region.replaceChildren();
    [, stop] = scope(() => append(region, viewFor(words)));
  });
  return region;
}

function viewFor(words) {
  switch (words[0]) {
    case "turns":
      return words[1] ? turnView({ turnId: words[1] }) : turnsView({ changes: changedTurns, server });
    case "conversations":
      return conversationsView({ changes: changedTurns, conversation: words[1] ?? null });
    case "waiting":
      return waitingView({ openGates, server });
    case "agents":
      return agentsView({ agentName: words[1] ?? null, server });
    default:
      return h("div", { class: "state-card" }, h("h1", {}, "There is no such view"), button("Turns", { onclick: () => go(["turns"]) }));
  }
}

define("haft-app", App);
