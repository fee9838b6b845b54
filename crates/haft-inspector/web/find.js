// The field in the top bar: it finds turns, conversations and agents, and words of the turn that is open.

import { each, h, onEnd, signal } from "./view.js";
import { read } from "./server.js";
import { go, link, route } from "./route.js";
import { icon } from "./parts.js";
import { modifier } from "./keys.js";
import { foreign, plural, shortId } from "./text.js";

/** How many results of a kind are shown. */
const SHOWN = 6;

/** What the words lead to, in the order in which it is shown. */
export function findResults(words, { turns, conversations, agents }, openTurn) {
  const has = (text) => (text ?? "").toLowerCase().includes(words.toLowerCase());
  const rows = [];
  if (openTurn) rows.push({ key: "in", icon: "search", text: `Find “${words}” in this turn`, to: link(["turns", openTurn], { find: words }) });
  for (const agent of agents.filter((it) => has(it.name)).slice(0, SHOWN)) rows.push({ key: `agent/${agent.name}`, icon: "agents", text: agent.name, under: agent.model ?? "", to: link(["agents", agent.name]) });
  for (const row of conversations.filter((it) => has(it.title) || has(it.id)).slice(0, SHOWN)) rows.push({ key: `talk/${row.id}`, icon: "talk", text: row.title, under: `conversation, ${plural(row.turns.length, "turn")}`, to: link(["conversations", row.id]) });
  for (const turn of turns.slice(0, SHOWN)) rows.push({ key: `turn/${turn.id}`, icon: "turns", text: turn.title, under: [turn.agent, shortId(turn.id)].filter(Boolean).join(" · "), to: link(["turns", turn.id]) });
  rows.push({ key: "all", icon: "turns", text: `All turns with “${words}”`, to: link(["turns"], { search: words }) });
  return rows;
}

/** The field and what it finds. */
export function findBox() {
  const rows = signal([]);
  const active = signal(-1);
  let controller = new AbortController();
  let timer = 0;
  const close = () => {
    clearTimeout(timer);
    controller.abort();
    rows.set([]);
    active.set(-1);
  };
  const search = async () => {
    const words = input.value.trim();
    controller.abort();
    if (!words) return close();
    controller = new AbortController();
    const { signal: abort } = controller;
    const or = (promise, empty) => promise.catch((error) => { if (abort.aborted) throw error; return empty; });
    const [{ turns }, { conversations }, agents] = await Promise.all([
      or(read(["turns"], { search: words, limit: SHOWN }, abort), { turns: [] }),
      or(read(["conversations"], { search: words, limit: SHOWN }, abort), { conversations: [] }),
      or(read(["agents"], null, abort), []),
    ]);
    const { words: place } = route.peek();
    active.set(-1);
    rows.set(findResults(words, { turns, conversations, agents }, place[0] === "turns" ? place[1] : null));
  };
  const open = (to) => {
    close();
    input.value = "";
    input.blur();
    location.hash = to;
  };
  const input = h("input", {
    id: "find", type: "search", placeholder: "Find a turn, an agent or words", "aria-label": "Find a turn, an agent or words", autocomplete: "off", spellcheck: "false",
    role: "combobox", "aria-controls": "find-results", "aria-autocomplete": "list", "aria-expanded": () => String(rows().length > 0),
    "aria-activedescendant": () => (active() >= 0 ? `find-${active()}` : null),
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => search().catch(() => {}), 200);
    },
    onkeydown: (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape" && rows.peek().length) {
        event.stopPropagation();
        close();
      } else if (by && rows.peek().length) {
        event.preventDefault();
        active.update((at) => (at + by + rows.peek().length) % rows.peek().length);
      }
    },
  });
  const submit = (event) => {
    event.preventDefault();
    const chosen = rows.peek()[active.peek()];
    if (chosen) open(chosen.to);
    else {
      const words = input.value.trim();
      close();
      go(["turns"], { search: words });
    }
  };
  const form = h("form", { class: "find", role: "search", onsubmit: submit }, icon("search"), input, h("kbd", { "aria-hidden": "true" }, `${modifier} K`),
    h("div", { id: "find-results", class: "find-results", role: "listbox", "aria-label": "What was found", hidden: () => !rows().length, ref: (it) => each(() => rows().map((row, at) => ({ ...row, at })), (row) => row.key, (row) => h("div", {
      role: "option", id: () => `find-${row().at}`, "aria-selected": () => String(active() === row().at), onpointerdown: (event) => event.preventDefault(), onclick: () => open(row.peek().to),
    }, icon(row.peek().icon), h("span", {}, () => foreign(row().text)), h("span", { class: "muted" }, () => foreign(row().under ?? "")))).mount(it) }));
  const leave = (event) => form.contains(event.target) || close();
  addEventListener("pointerdown", leave);
  onEnd(() => removeEventListener("pointerdown", leave));
  return form;
}
