// Lines of content of any size: at most a few hundred nodes, whatever the number of lines.

import { View, define, effect, h, onEnd, signal, svg } from "./view.js";
import { read, stream } from "./server.js";
import { bytes, icon, iconButton } from "./parts.js";
import { keys } from "./keys.js";
import { count, duration, foreign, plural } from "./text.js";

const ROW = 20;
const CHUNK = 256;
const MAX_CHUNKS = 48;
/** Browsers limit the height of an element. Beyond this, the scroll bar moves by share and wheel and keys by lines. */
const MAX_HEIGHT = 4_000_000;
const BINS = 120;

/** How a scroll position and the first line in view belong together. */
export class ScrollMap {
  constructor(total, view) {
    this.total = total;
    this.height = Math.min(total * ROW, MAX_HEIGHT);
    this.isScaled = total * ROW > MAX_HEIGHT;
    this.lastTop = Math.max(0, total - Math.floor(view / ROW));
    this.range = Math.max(1, this.height - view);
  }

  /** The first line at a scroll position. */
  lineAt(scrollTop) {
    if (!this.isScaled) return Math.floor(scrollTop / ROW);
    return Math.round((Math.min(scrollTop, this.range) / this.range) * this.lastTop);
  }

  /** The scroll position of a first line. */
  positionOf(line) {
    if (!this.isScaled) return line * ROW;
    return (line / Math.max(1, this.lastTop)) * this.range;
  }
}

class Lines extends View {
  render() {
    const { turnId, row } = this;
    const total = row.lines ?? 0;
    const words = ["turns", turnId, "artifacts", row.handle];
    const top = signal(Math.max(0, Math.min(total - 1, (this.line ?? 0) - 6)));
    const current = signal(this.line ?? null);
    const search = createSearch(words);
    const chunks = new Map();
    const loading = new Map();
    const version = signal(0);
    const failure = signal(null);
    let map = new ScrollMap(total, 600);
    let slots = [];
    let isOwnScroll = false;

    const layer = h("div", { class: "line-layer" });
    const spacer = h("div", { class: "line-spacer", vars: { height: `${map.height}px` } }, layer);
    const scroller = h("div", { class: "line-scroll", tabindex: "0", role: "region", "aria-label": `Lines of ${row.name}` }, spacer);

    const reads = this.reads ?? (() => []);
    const isRead = (line) => reads().some(([from, to]) => line >= from && line <= to);
    const lineOf = (number) => chunks.get(Math.floor(number / CHUNK))?.[number % CHUNK];
    const fetchChunk = (index) => {
      if (chunks.has(index) || loading.has(index)) return;
      const controller = new AbortController();
      loading.set(index, controller);
      read([...words, "lines"], { start: index * CHUNK, count: CHUNK }, controller.signal).then((page) => {
        chunks.delete(index);
        chunks.set(index, page.lines);
        if (chunks.size > MAX_CHUNKS) chunks.delete(chunks.keys().next().value);
        failure.set(null);
        version.update((it) => it + 1);
      }, (error) => error.name !== "AbortError" && failure.set(error)).finally(() => loading.delete(index));
    };
    const fetchAround = () => {
      const first = Math.floor(top.peek() / CHUNK);
      const last = Math.floor((top.peek() + slots.length) / CHUNK);
      for (const [index, controller] of loading) if (index < first - 1 || index > last + 1) controller.abort();
      for (let index = first; index <= last; index += 1) fetchChunk(index);
      if (last * CHUNK + CHUNK < total) fetchChunk(last + 1);
    };
    let frame = 0;
    const draw = () => {
      if (frame) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        fetchAround();
        for (let at = 0; at < slots.length; at += 1) drawSlot(slots[at], top.peek() + at, total, lineOf, search, current.peek(), isRead(top.peek() + at));
      });
    };
    // The line that somebody went to: it keeps its place while the height changes, until somebody scrolls.
    let placed = null;
    const setTop = (line) => {
      placed = null;
      const next = Math.max(0, Math.min(map.lastTop, Math.round(line)));
      top.set(next);
      const before = scroller.scrollTop;
      scroller.scrollTop = map.positionOf(next);
      // A position that stays as it is makes no event.
      if (scroller.scrollTop !== before) isOwnScroll = true;
      draw();
    };
    const place = (line) => {
      setTop(line - Math.floor(slots.length / 3));
      placed = line;
    };
    const goTo = (line) => {
      current.set(line);
      place(line);
    };
    scroller.addEventListener("scroll", () => {
      if (isOwnScroll) {
        isOwnScroll = false;
        return;
      }
      placed = null;
      top.set(Math.max(0, Math.min(map.lastTop, map.lineAt(scroller.scrollTop))));
      draw();
    }, { passive: true });
    let remainder = 0;
    scroller.addEventListener("wheel", (event) => {
      if (!map.isScaled || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      remainder += (event.deltaMode === 1 ? event.deltaY * ROW : event.deltaY) / ROW;
      const by = Math.trunc(remainder);
      remainder -= by;
      if (by) setTop(top.peek() + by);
    }, { passive: false });
    scroller.addEventListener("keydown", (event) => {
      const page = slots.length - 2;
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, " ": page, Home: -total, End: total }[event.key];
      if (!by || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      setTop(top.peek() + by);
    });
    const resize = () => {
      map = new ScrollMap(total, scroller.clientHeight);
      const wanted = Math.min(200, Math.ceil(scroller.clientHeight / ROW) + 1, Math.max(total, 1));
      while (slots.length < wanted) {
        const slot = createSlot(current, draw);
        slots.push(slot);
        layer.append(slot.node);
      }
      while (slots.length > wanted) slots.pop().node.remove();
      if (placed !== null) place(placed);
      draw();
    };
    const observer = new ResizeObserver(resize);
    observer.observe(scroller);
    onEnd(() => observer.disconnect());
    onEnd(() => loading.forEach((controller) => controller.abort()));
    effect(() => { version(); search.hits(); reads(); draw(); });
    requestAnimationFrame(() => { resize(); if (this.line) goTo(this.line); });

    const jump = (by) => {
      const hits = search.hits.peek();
      if (!hits.length) return;
      const at = current.peek();
      const next = by > 0 ? hits.find((line) => at === null || line > at) ?? hits[0] : hits.findLast((line) => at === null || line < at) ?? hits.at(-1);
      goTo(next);
    };
    effect(() => {
      // The first match is shown as soon as it is there.
      if (search.hits().length && search.isFresh) {
        search.isFresh = false;
        goTo(search.hits()[0]);
      }
    });
    const input = h("input", { type: "search", id: "line-search", placeholder: "Search by a regular expression", "aria-label": "Search by a regular expression", autocomplete: "off", spellcheck: "false", value: this.pattern ?? "" });
    const lineInput = h("input", { type: "number", min: "1", max: String(Math.max(1, total)), "aria-label": "Go to line", id: "go-to-line" });
    keys({
      "/": ["search in this view", () => input.focus()],
      n: ["next match", () => jump(1)],
      N: ["previous match", () => jump(-1)],
      ":": ["go to a line", () => lineInput.focus()],
    });
    if (this.pattern) search.start(this.pattern);
    onEnd(() => search.stop());
    return [
      h("div", { class: "viewer-bar" },
        h("form", { class: "field-search", role: "search", onsubmit: (event) => { event.preventDefault(); if (input.value === search.pattern.peek() && search.hits.peek().length) jump(1); else search.start(input.value); } }, icon("search"), input),
        h("span", { class: "search-state", role: "status" }, () => searchWords(search, current())),
        () => (search.isRunning() ? h("button", { type: "button", class: "button", onclick: () => search.stop() }, icon("stop"), "Stop") : null),
        h("span", { class: "pair" }, iconButton("Previous match (N)", "up", () => jump(-1)), iconButton("Next match (n)", "down", () => jump(1))),
        h("form", { class: "go-to", onsubmit: (event) => { event.preventDefault(); if (lineInput.value !== "") goTo(Math.max(0, Math.min(total - 1, Number(lineInput.value) - 1))); scroller.focus(); } }, h("label", { for: "go-to-line" }, "Line"), lineInput)),
      () => (failure() ? h("p", { class: "problem pad", role: "alert" }, foreign(failure().message)) : null),
      h("div", { class: "viewer" }, scroller, minimap(search, total, top, () => slots.length, setTop, reads)),
      h("div", { class: "viewer-foot" }, h("span", {}, "Lines count from 1, as the model counts them"), () => (reads().length ? h("span", {}, "◂ the model read this line") : null), h("span", { class: "grow" }),
        () => (search.end() ? h("span", {}, search.end().error ? foreign(search.end().error) : `searched ${bytes(row.bytes)} in ${duration(search.end().durationMs)}`) : h("span", {}, `from line ${count(top() + 1)} of ${count(total)}`))),
    ];
  }
}

function createSlot(current, draw) {
  const number = h("span", { class: "line-number" });
  const text = h("span", { class: "line-text" });
  const node = h("div", { class: "line" }, number, text);
  const slot = { node, number, text, line: -1, key: "" };
  node.addEventListener("click", () => {
    if (slot.line < 0 || getSelection().toString()) return;
    current.set(slot.line);
    draw();
  });
  return slot;
}

/** Draws one line. Text of another line never stays under a new number. */
function drawSlot(slot, line, total, lineOf, search, current, isRead) {
  const value = line < total ? lineOf(line) : null;
  const isHit = search.isHit(line);
  const state = line >= total ? "none" : value === undefined ? "loading" : "ready";
  const key = `${line} ${state} ${isHit} ${isRead} ${line === current} ${search.pattern.peek()}`;
  if (key === slot.key) return;
  slot.key = key;
  slot.line = line < total ? line : -1;
  slot.node.className = `line ${state}${isHit ? " hit" : ""}${isRead ? " read" : ""}${line === current ? " current" : ""}`;
  slot.number.textContent = line < total ? count(line + 1) : "";
  slot.text.replaceChildren(...(state === "ready" ? lineNodes(value, isHit && search.expression()) : []));
}

function lineNodes(line, expression) {
  const more = line.omittedBytes ? [h("span", { class: "muted" }, ` … ${bytes(line.omittedBytes)} more`)] : [];
  if (!expression) return [foreign(line.text), ...more];
  const nodes = [];
  let from = 0;
  for (const match of line.text.matchAll(expression)) {
    if (!match[0] || nodes.length > 40) break;
    if (match.index > from) nodes.push(foreign(line.text.slice(from, match.index)));
    nodes.push(h("mark", {}, foreign(match[0])));
    from = match.index + match[0].length;
  }
  nodes.push(foreign(line.text.slice(from)));
  return [...nodes, ...more];
}

/** A search on the server, whose matches come as they are found. */
function createSearch(words) {
  const search = {
    pattern: signal(""),
    hits: signal([]),
    end: signal(null),
    progress: signal(0),
    isRunning: signal(false),
    isFresh: false,
    known: new Set(),
    close: null,
    stop() {
      search.close?.();
      search.close = null;
      search.isRunning.set(false);
    },
    start(pattern) {
      search.stop();
      search.pattern.set(pattern);
      search.hits.set([]);
      search.known = new Set();
      search.end.set(null);
      search.progress.set(0);
      if (!pattern) return;
      search.isFresh = true;
      search.isRunning.set(true);
      search.close = stream([...words, "search"], { pattern }, {
        matches(page) {
          for (const hit of page.hits) search.known.add(hit.line);
          search.progress.set(page.nextLine / Math.max(1, page.totalLines));
          if (page.hits.length) search.hits.update((hits) => hits.concat(page.hits.map((hit) => hit.line)));
        },
        end(value) {
          search.end.set(value);
          search.stop();
        },
        lost: () => search.stop(),
        refused: () => search.stop(),
      });
    },
    isHit: (line) => search.known.has(line),
    /** The same pattern for the browser, to mark matches; nothing if it is written differently here. */
    expression() {
      try {
        return new RegExp(search.pattern.peek().replace(/^\(\?i\)/, ""), /^\(\?i\)/.test(search.pattern.peek()) ? "giu" : "gu");
      } catch {
        return null;
      }
    },
  };
  return search;
}

function searchWords(search, current) {
  if (!search.pattern()) return "";
  const hits = search.hits();
  if (search.isRunning()) return `${count(hits.length)} so far, ${Math.round(search.progress() * 100)} %`;
  if (search.end()?.error) return "refused";
  if (!search.end()) return hits.length ? `stopped at ${count(hits.length)}` : "stopped";
  if (!hits.length) return "no match";
  const at = hits.indexOf(current);
  return at === -1 ? plural(hits.length, "match", "matches") : `${count(at + 1)} of ${count(hits.length)}${search.end().limited ? " or more" : ""}`;
}

/** The density of matches over all lines, and what is in view. */
function minimap(search, total, top, visible, setTop, reads) {
  const bins = () => {
    const counts = new Uint32Array(BINS);
    for (const line of search.hits()) counts[Math.min(BINS - 1, Math.floor((line / Math.max(1, total)) * BINS))] += 1;
    const most = Math.max(1, ...counts);
    return [...counts].map((number, at) => ({ at, share: number / most })).filter((it) => it.share > 0);
  };
  const element = svg("svg", {
    class: "minimap", viewBox: `0 0 20 ${BINS}`, preserveAspectRatio: "none", role: "img",
    "aria-label": () => `${plural(search.hits().length, "match", "matches")} over ${plural(total, "line")}`,
    onclick: (event) => {
      const box = element.getBoundingClientRect();
      setTop(((event.clientY - box.top) / box.height) * total);
    },
  },
  () => bins().map((bin) => svg("rect", { class: "density", x: 0, y: bin.at, width: 3 + bin.share * 15, height: 0.9 })),
  () => reads().map(([line]) => svg("rect", { class: "read-by-model", x: 17, y: (line / Math.max(1, total)) * BINS, width: 3, height: 0.8 })),
  svg("rect", { class: "viewport", x: 0, y: () => (top() / Math.max(1, total)) * BINS, width: 20, height: () => Math.max(1, (visible() / Math.max(1, total)) * BINS) }));
  return element;
}

export const linesView = define("haft-lines", Lines);
