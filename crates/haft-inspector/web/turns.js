// The list of turns.

import { View, computed, define, each, effect, h, keyed, onEnd, signal } from "./view.js";
import { act, read } from "./server.js";
import { go, link, route, setQuery } from "./route.js";
import { STATES, button, dollars, errorCard, icon, pageTitle, skeleton, stateBadge, stateCard, when } from "./parts.js";
import { keys, moveFocus } from "./keys.js";
import { bytes, count, day, duration, foreign, plural, shortId } from "./text.js";

const PAGE = 50;
/** How long to wait before turns that change are counted again. */
const COUNT_PAUSE = 1500;

/** The list as it was left: its filter, its rows and its place. */
let left = null;

class Turns extends View {
  render() {
    pageTitle("Turns");
    const rows = signal([]);
    const next = signal(null);
    const status = signal({ state: "loading" });
    const now = signal(Date.now());
    let generation = 0;
    let scanned = 0; // how many turns were looked at

    const filter = computed(() => {
      const { query } = route();
      return Object.fromEntries(["search", "state", "agent", "model", "since", "minTokens", "coerced", "tool", "conversation"]
        .map((name) => [name, query.get(name)]).filter(([, value]) => value));
    });
    const loadPage = async (isMore) => {
      const own = isMore ? generation : (generation += 1);
      if (!isMore) status.set({ state: rows.peek().length ? "ready" : "loading" });
      try {
        scanned = isMore ? scanned : 0;
        const page = await read(["turns"], { ...filter.peek(), limit: PAGE, before: isMore ? next.peek() : null });
        if (own !== generation) return;
        scanned += page.scanned;
        rows.set(isMore ? [...rows.peek(), ...page.turns] : page.turns);
        next.set(page.next ?? null);
        status.set({ state: "ready" });
      } catch (error) {
        if (own === generation) status.set({ state: "failed", error });
      }
    };
    let wanted = "";
    let top = 0;
    if (left?.key === JSON.stringify(filter.peek())) {
      wanted = left.key;
      ({ scanned, top } = left);
      rows.set(left.rows);
      next.set(left.next);
      status.set({ state: "ready" });
      // What changed meanwhile is among the newest.
      read(["turns"], { ...filter.peek(), limit: PAGE }).then((page) => merge(page.turns), () => {});
    }
    effect(() => {
      const key = JSON.stringify(filter());
      if (key === wanted) return;
      wanted = key;
      loadPage(false);
    });
    const counts = signal(null);
    let timer = 0;
    const countTurns = (pause) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const { state: _, coerced: __, ...rest } = filter.peek();
        read(["counts"], rest).then((value) => counts.set(value), () => {});
      }, pause);
    };
    effect(() => { filter(); countTurns(0); });
    // Changes of turns that are shown change in place; new ones come on top if no filter hides them.
    effect(() => {
      const changes = this.changes();
      if (!changes.length || status.peek().state !== "ready") return;
      now.set(Date.now());
      merge(changes);
      countTurns(COUNT_PAUSE);
    });
    function merge(changes) {
      const known = new Map(rows.peek().map((row) => [row.id, row]));
      const isFiltered = Object.keys(filter.peek()).length > 0;
      const fresh = changes.filter((row) => !known.has(row.id));
      for (const row of changes) if (known.has(row.id)) known.set(row.id, { ...row, facts: row.facts ?? known.get(row.id).facts, isOld: !row.facts });
      const newest = rows.peek()[0]?.createdAt ?? "";
      const added = isFiltered ? [] : fresh.filter((row) => row.createdAt >= newest);
      rows.set([...added.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)), ...known.values()]);
    }
    const list = h("div", { class: "turn-list" });
    keys({
      j: ["next row", () => moveFocus(list, ".turn-link", 1)],
      k: ["previous row", () => moveFocus(list, ".turn-link", -1)],
      "/": ["search in this view", () => this.querySelector("#search").focus()],
      y: ["copy the id of the row", () => navigator.clipboard?.writeText(document.activeElement.dataset?.id ?? "")],
    });
    const groups = computed(() => byDay(rows()));
    const facts = createFactReader(rows);
    list.append(h("div", {}, () => {
      const { state, error } = status();
      if (state === "failed") return errorCard(error, button("Try again", { onclick: () => loadPage(false) }));
      if (state === "loading") return skeleton(8);
      if (!rows().length) return this.emptyCard(filter(), next() ? scanned : 0);
      return null;
    }));
    const table = h("div", { role: "table", "aria-label": "Turns", class: "table", hidden: () => !rows().length }, this.tableHead());
    table.append(...[h("div", { role: "presentation", ref: (it) => mountGroups(it, groups, facts) })]);
    list.append(table);
    // The next page is read when the end of the list comes into view, and the list is left as it is found again.
    let foot = null;
    let isReading = false;
    const keepPlace = (scroller) => {
      const observer = new IntersectionObserver(async ([entry]) => {
        if (!entry.isIntersecting || isReading || next.peek() === null || status.peek().state !== "ready") return;
        isReading = true;
        await loadPage(true);
        isReading = false;
        // A foot that is still in view is told of again.
        observer.unobserve(foot);
        observer.observe(foot);
      }, { root: scroller, rootMargin: "600px" });
      scroller.addEventListener("scroll", () => { top = scroller.scrollTop; }, { passive: true });
      requestAnimationFrame(() => {
        scroller.scrollTop = top;
        observer.observe(foot);
      });
      onEnd(() => {
        observer.disconnect();
        clearTimeout(timer);
        left = { key: wanted, rows: rows.peek(), next: next.peek(), scanned, top };
      });
    };
    return [
      h("div", { class: "view-head" },
        h("h1", {}, "Turns"),
        () => (counts() ? h("span", { class: "muted totals" }, `${count(counts().total)}${counts().hasMore ? " and more" : ""}${counts().tokens ? ` · ${count(counts().tokens)} tokens` : ""}`) : null),
        h("span", { class: "grow" }),
        this.server().readOnly || !this.server().hasAgents ? null : button("Replay a recording", { icon: "play", onclick: () => replayDialog() })),
      this.filters(filter, rows, counts),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "List of turns", ref: keepPlace }, list,
        h("div", { class: "list-foot", ref: (it) => { foot = it; } },
          keyed(() => next() !== null, () => button("Show more", { onclick: () => loadPage(true) })),
          h("span", { class: "key-hints", "aria-hidden": "true" }, [[["j", "k"], "move"], [["Enter"], "open"], [["/"], "search"], [["g", "w"], "what waits"], [["?"], "all keys"]].map(([keyNames, words]) => h("span", {}, keyNames.map((key) => h("kbd", {}, key)), words))),
          h("span", { class: "grow" }), () => (rows().length ? h("span", { class: "muted" }, `${plural(rows().length, "turn")} shown · store `, h("code", {}, this.server().store)) : null))),
    ];
  }

  tableHead() {
    return h("div", { role: "rowgroup" }, h("div", { role: "row", class: "turn-row table-head" },
      ["Outcome", "First words, agent", "Model", "Steps", "Tokens", "Cost", "Took", "Started"].map((words, at) =>
        h("span", { role: "columnheader", class: `c${at}` }, words))));
  }

  filters(filter, rows, counts) {
    const search = h("input", {
      id: "search", type: "search", placeholder: "Words, agent or id", "aria-label": "Search turns", autocomplete: "off", spellcheck: "false",
      value: () => filter().search ?? "",
    });
    let timer = 0;
    search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => setQuery({ search: search.value.trim() }), 250);
    });
    const chip = (words, name, value, iconName) => h("button", {
      type: "button", class: "chip", "aria-pressed": () => String((filter()[name] ?? null) === value),
      onclick: () => setQuery({ [name]: filter.peek()[name] === value ? null : value }),
    }, iconName ? icon(iconName) : null, words, () => (name === "state" && counts()?.states[value] ? h("b", { class: "chip-count", "aria-hidden": "true" }, count(counts().states[value])) : null));
    // What was seen stays, so that a filter can be changed to another value.
    const seen = { agent: new Set(), model: new Set(), tool: new Set() };
    const values = (name) => {
      for (const row of rows()) for (const value of name === "tool" ? row.tools ?? [] : [row[name]]) if (value) seen[name].add(value);
      if (filter()[name]) seen[name].add(filter()[name]);
      return [...seen[name]].sort();
    };
    const select = (words, name) => h("select", {
      class: () => `chip ${filter()[name] ? "on" : ""}`, "aria-label": words, onchange: (event) => setQuery({ [name]: event.target.value }),
    }, h("option", { value: "" }, words), keyed(() => JSON.stringify(values(name)), (list) => JSON.parse(list).map((value) => h("option", { value, selected: () => filter()[name] === value }, value))));
    const since = (hours) => new Date(Date.now() - hours * 3_600_000).toISOString();
    return h("div", { class: "filters", role: "group", "aria-label": "Filters" },
      h("div", { class: "field-search" }, icon("search"), search, h("kbd", { "aria-hidden": "true" }, "/")),
      h("div", { class: "chips" },
        h("button", { type: "button", class: "chip", "aria-pressed": () => String(Object.keys(filter()).filter((it) => it !== "search").length === 0), onclick: () => go(route.peek().words) }, "All"),
        chip("Waiting", "state", "waiting", "waiting"),
        chip("Interrupted", "state", "interrupted", "alert"),
        chip("Failed", "state", "failed", "cross"),
        chip("With coerced calls", "coerced", "true", "wand"),
        h("select", { class: () => `chip ${filter().state ? "on" : ""}`, "aria-label": "Outcome", onchange: (event) => setQuery({ state: event.target.value }) },
          h("option", { value: "" }, "Outcome"), Object.entries(STATES).map(([value, it]) => h("option", { value, selected: () => filter().state === value }, it.words))),
        select("Agent", "agent"),
        select("Model", "model"),
        select("Tool", "tool"),
        h("select", { class: () => `chip ${filter().since ? "on" : ""}`, "aria-label": "Time", onchange: (event) => setQuery({ since: event.target.value ? since(Number(event.target.value)) : null }) },
          h("option", { value: "" }, "Any time"), h("option", { value: "1" }, "Last hour"), h("option", { value: "24" }, "Last day"), h("option", { value: "168" }, "Last week")),
        h("select", { class: () => `chip ${filter().minTokens ? "on" : ""}`, "aria-label": "Tokens", onchange: (event) => setQuery({ minTokens: event.target.value }) },
          h("option", { value: "" }, "Any tokens"), ["1000", "10000", "100000", "1000000"].map((value) => h("option", { value, selected: filter.peek().minTokens === value }, `${count(Number(value))} tokens or more`)))));
  }

  emptyCard(filter, scanned) {
    const names = Object.entries(filter).map(([name, value]) => (name === "search" ? `“${value}”` : name === "state" ? STATES[value]?.words.toLowerCase() ?? value : name === "coerced" ? "coerced calls" : name === "since" ? "recent" : value));
    if (names.length) {
      return stateCard({ icon: "search", title: scanned ? `None of the last ${plural(scanned, "turn")} matches` : "No turn matches", text: names.join(", "), children: button("Clear filters", { onclick: () => go(route.peek().words) }) });
    }
    return stateCard({ icon: "turns", title: "No turns yet", text: "Run an agent, and its turns appear here at once.", children: h("code", { class: "code command" }, "haft new hello && haft run hello") });
  }
}

/** Groups: what waits for a person or was interrupted first, then by day. */
function byDay(rows) {
  const needsYou = (row) => ["waiting", "interrupted"].includes(row.state);
  const waiting = rows.filter(needsYou);
  const groups = new Map();
  for (const row of rows) {
    if (needsYou(row)) continue;
    const name = day(row.createdAt);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(row);
  }
  const all = [...groups].map(([name, turns]) => ({ name, turns }));
  return waiting.length ? [{ name: "Needs you", turns: waiting }, ...all] : all;
}

function mountGroups(parent, groups, facts) {
  each(groups, (group) => group.name, (group) => h("div", { role: "rowgroup" },
    h("div", { role: "row", class: "group-head" }, h("span", { role: "rowheader" }, () => group().name)),
    h("div", { role: "presentation", ref: (it) => each(() => group().turns, (row) => row.id, (row) => turnRow(row, facts)).mount(it) }))).mount(parent);
}

/** The one phrase that stands out about a turn. */
export function standsOut(row) {
  const { facts } = row;
  if (row.question) return ["asks: ", foreign(row.question)];
  if (row.stop) return [foreign(row.stop.message)];
  const phrases = [];
  if (facts?.failedCalls) phrases.push(`${plural(facts.failedCalls, "call")} failed`);
  if (facts?.coercedCalls) phrases.push(`${facts.coercedCalls} coerced`);
  if (facts?.artifactBytes) phrases.push(`${bytes(facts.artifactBytes)} outside the prompt`);
  return [phrases.join(" · ")];
}

/** Reads the facts of turns whose rows come into view, a few at a time. */
function createFactReader(rows) {
  const controller = new AbortController();
  const waiting = [];
  let running = 0;
  const run = async () => {
    if (running >= 3 || !waiting.length) return;
    running += 1;
    const id = waiting.shift();
    const facts = await read(["turns", id, "facts"], null, controller.signal).catch(() => null);
    if (facts) rows.update((all) => all.map((row) => (row.id === id ? { ...row, facts, isOld: false } : row)));
    running -= 1;
    run();
  };
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      waiting.push(target.dataset.turn);
      run();
    }
  });
  onEnd(() => {
    controller.abort();
    observer.disconnect();
  });
  return observer;
}

function turnRow(item, facts) {
  const dash = (words) => h("span", { title: words }, "–");
  const node = h("div", { role: "row", class: () => `turn-row ${item().state}`, "data-turn": item.peek().id },
    h("span", { role: "cell", class: "c0" }, () => stateBadge(item().state)),
    h("span", { role: "cell", class: "c1" },
      h("a", { class: "turn-link", href: link(["turns", item.peek().id]), "data-id": item.peek().id }, () => foreign(item().title)),
      h("span", { class: "under" }, () => [item().agent ?? null, standsOut(item())].filter((it) => it && String(it)).flatMap((it, at) => (at ? [h("span", { class: "sep" }, " · "), it] : [it])),
        h("code", { title: item.peek().id }, shortId(item.peek().id)))),
    h("span", { role: "cell", class: "c2" }, () => item().model ?? "–"),
    h("span", { role: "cell", class: "c3 number" }, () => (item().facts ? count(item().facts.steps) : "")),
    h("span", { role: "cell", class: "c4 number" }, () => (item().tokens ? count(item().tokens) : dash("No model was asked"))),
    h("span", { role: "cell", class: "c7 number" }, () => (item().facts?.usage.prompt ? dollars(item().facts.cost) : item().facts ? dash("No model was asked") : "")),
    h("span", { role: "cell", class: "c5 number" }, () => duration(item().facts?.durationMs ?? item().durationMs)),
    h("span", { role: "cell", class: "c6 number" }, when(item.peek().createdAt)));
  effect(() => { if (!item().facts || item().isOld) facts.observe(node); });
  return node;
}

/** Asks for a recording and the agent whose tools it used. */
async function replayDialog() {
  const agents = await read(["agents"]).catch(() => []);
  const message = signal("");
  const file = h("input", { type: "file", accept: ".json,application/json", required: true, id: "recording" });
  const agent = h("select", { id: "replay-agent", required: true }, agents.map((it) => h("option", { value: it.name }, it.name)));
  const submit = async (event) => {
    event.preventDefault();
    try {
      const recording = await file.files[0].text();
      const { turn } = await act(["replays"], { agent: agent.value, recording });
      dialog.close();
      go(["turns", turn]);
    } catch (error) {
      message.set(error.message);
    }
  };
  const dialog = h("dialog", { "aria-labelledby": "replay-title" },
    h("form", { onsubmit: submit },
      h("h2", { id: "replay-title" }, "Replay a recording"),
      h("p", { class: "muted" }, "A new turn repeats the recorded steps. No tool runs."),
      h("div", { class: "field" }, h("label", { for: "recording" }, "Recording"), file),
      h("div", { class: "field" }, h("label", { for: "replay-agent" }, "Agent"), agent),
      h("p", { class: "problem", role: "alert" }, () => message()),
      h("div", { class: "buttons" }, h("button", { class: "button primary" }, "Start the replay"), button("Close", { onclick: () => dialog.close() }))));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

export const turnsView = define("haft-turns", Turns);
