// The timeline of a turn: steps with what happened in them, and a waterfall. Only rows in view are in the document.

import { View, computed, define, each, effect, h, keyed, onEnd, signal, svg } from "./view.js";
import { route, setQuery } from "./route.js";
import { bytes, button, count, dollars, icon, iconButton, media, ticking } from "./parts.js";
import { keys } from "./keys.js";
import { duration, foreign, plural } from "./text.js";
import { lowerBound, placeOfStep, rowOffsets, shownPlaces, stepAt } from "./rows.js";
import { createFinder, findBar } from "./finder.js";
import { callBadges, detailHint, detailOf, isDenied, isOpenGate, tellingArguments } from "./detail.js";

/** From this many rows on, only those in view are in the document, and all rows have known heights. */
const VIRTUAL_FROM = 200;

class Timeline extends View {
  render() {
    const { store, detail } = this;
    const closed = signal(new Set());
    const zoom = signal(null); // [from, to] in milliseconds
    const selected = computed(() => route().query.get("at"));
    const kinds = computed(() => detail().kinds);
    // Calls that run get longer four times a second.
    const sinceStart = () => Math.max(0, Date.now() - Date.parse(detail.peek().turn.createdAt));
    const now = signal(sinceStart());
    ticking(() => ["running", "waiting"].includes(detail.peek().turn.state) && now.set(sinceStart()));
    const hasRunning = signal(false);
    const total = computed(() => {
      const { turn, endMs } = detail();
      const isLive = turn.state === "running" || hasRunning();
      const isOpen = isLive || turn.state === "waiting";
      const all = Math.max(endMs, isOpen ? Math.max(turn.durationMs, now()) : 0, 1);
      // The axis of a running turn doubles instead of creeping.
      return isLive ? 1000 * 2 ** Math.ceil(Math.log2(all / 1000)) : all;
    });
    // The axis leaves out most of the time in which the turn only waited for people.
    const axis = computed(() => timeAxis(total(), pausesOf(detail(), now)));
    const range = computed(() => zoom() ?? [0, axis().length]);
    const places = computed(() => shownPlaces(kinds(), closed()));
    const isVirtual = computed(() => kinds().length > VIRTUAL_FROM);
    const offsets = computed(() => rowOffsets(kinds(), places()));
    const wide = media("(min-width: 48rem)");

    const select = (key) => setQuery({ at: selected.peek() === key ? null : key });
    const finder = createFinder(this.turnId, (place) => goTo(place));
    const ticks = computed(() => axisTicks(...range(), axis()));
    const ctx = { ticks, detail, store, turnId: this.turnId, selected, select, range, closed, zoom, axis, kinds, finder, now };
    const list = h("div", { class: () => `rows ${isVirtual() ? "fixed" : ""}` });
    const follow = signal(true);
    const news = signal(0);
    const scroller = h("div", { class: "scroll timeline-scroll", tabindex: "0", role: "region", "aria-label": "Timeline" }, legend(ctx), list);
    const shown = signal({ from: 0, to: 40 });
    const measure = () => {
      const top = Math.max(0, scroller.scrollTop - list.offsetTop);
      const from = Math.max(0, lowerBound(offsets.peek(), top) - 12);
      const to = lowerBound(offsets.peek(), top + scroller.clientHeight) + 12;
      const last = shown.peek();
      if (last.from !== from || last.to !== to) shown.set({ from, to });
    };
    scroller.addEventListener("scroll", () => {
      measure();
      const isAtEnd = scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 40;
      follow.set(isAtEnd);
      if (isAtEnd) news.set(0);
    }, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(scroller);
    onEnd(() => observer.disconnect());
    let known = kinds.peek().length;
    effect(() => {
      const length = kinds().length + this.streams().length;
      if (detail.peek().turn.state === "running" && length > known) {
        if (follow.peek()) requestAnimationFrame(() => (scroller.scrollTop = scroller.scrollHeight));
        else news.update((it) => it + length - known);
      }
      known = length;
      requestAnimationFrame(measure);
    });
    const inView = computed(() => (isVirtual() ? places().slice(shown().from, shown().to) : places()));
    const rows = computed(() => {
      store.version();
      return inView().map((at) => store.get(at) ?? { at, key: `at/${at}`, kind: kinds()[at], step: 0 });
    });
    effect(() => hasRunning.set(rows().some((row) => row.kind === "call" && row.item && runs(row.item, ctx))));
    // Rows that are missing are read when the scroll position stays, not for every position on the way.
    let timer = 0;
    effect(() => {
      const all = inView();
      if (!all.length || rows().every((row) => row.item || row.value)) return;
      clearTimeout(timer);
      timer = setTimeout(() => store.fetch(all[0], all.at(-1) + 1), 30);
    });
    onEnd(() => clearTimeout(timer));
    const spacer = (height) => h("div", { class: "spacer", vars: () => ({ height: isVirtual() ? `${height()}px` : "0" }), "aria-hidden": "true" });
    list.append(spacer(() => offsets()[Math.min(shown().from, places().length)]));
    each(rows, (row) => row.key, (row) => timelineRow(row, ctx)).mount(list);
    each(() => this.notices(), (it) => it.id, (it) => h("div", { class: `event notice ${it.peek().level}` }, icon("alert"), h("div", { class: "body" }, foreign(it.peek().text)))).mount(list);
    each(() => this.streams(), (it) => it.key, (text) => h("div", { class: "event text streaming" },
      icon(text.peek().isThought ? "thought" : "message"), h("div", { class: "body" }, () => foreign(text().text), h("span", { class: "caret", "aria-hidden": "true" })))).mount(list);
    list.append(spacer(() => offsets().at(-1) - offsets()[Math.min(shown().to, places().length)]));

    const placeOfKey = (key) => (key?.startsWith("step/") ? placeOfStep(kinds.peek(), Number(key.slice(5))) : store.placeOf(key));
    const scrollTo = (place) => {
      const node = scroller.querySelector(`[data-at="${place}"]`);
      if (node) node.scrollIntoView({ block: "nearest" });
      else scroller.scrollTop = offsets.peek()[places.peek().indexOf(place)] - scroller.clientHeight / 3;
    };
    const reveal = (place) => {
      const row = store.get(place);
      if (kinds.peek()[place] === "s") select(`step/${stepAt(kinds.peek(), place)}`);
      else if (row) select(row.key);
      scrollTo(place);
    };
    // A row that was found is selected as soon as it is read.
    const wanted = signal(null);
    const goTo = (place) => {
      const step = stepAt(kinds.peek(), place);
      if (closed.peek().has(step)) closed.update((all) => new Set([...all].filter((it) => it !== step)));
      store.fetch(place, place + 1);
      wanted.set(place);
      requestAnimationFrame(() => scrollTo(place));
    };
    effect(() => {
      store.version();
      const row = wanted() === null ? null : store.get(wanted());
      if (!row) return;
      wanted.set(null);
      if (selected.peek() !== row.key) select(row.key);
    });
    const move = (by) => {
      const all = places.peek();
      const at = all.indexOf(placeOfKey(selected.peek()));
      const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
      if (next !== undefined && all[at] !== next) reveal(next);
    };
    const step = (by) => {
      const last = stepAt(kinds.peek(), kinds.peek().length);
      const current = selected.peek() ? stepAt(kinds.peek(), placeOfKey(selected.peek())) : 0;
      const next = Math.max(1, Math.min(last, current + by));
      if (last && `step/${next}` !== selected.peek()) reveal(placeOfStep(kinds.peek(), next));
    };
    keys({
      j: ["next row", () => move(1)],
      k: ["previous row", () => move(-1)],
      "[": ["step before", () => step(-1)],
      "]": ["next step", () => step(1)],
      "/": ["find in this turn", () => finder.open()],
      n: ["next match", () => finder.jump(1)],
      N: ["previous match", () => finder.jump(-1)],
      z: ["zoom to the selected row", () => zoomToRow(ctx, store.get(placeOfKey(selected.peek())))],
      0: ["the whole turn", () => zoom.set(null)],
      c: ["close or open all steps", () => toggleAll(ctx)],
      y: ["copy the key of the call", () => navigator.clipboard?.writeText(store.get(placeOfKey(selected.peek()))?.item?.callKey ?? "")],
      Escape: ["close details", () => (finder.isOpen.peek() ? finder.close() : selected.peek() ? select(selected.peek()) : false)],
    });
    // An address with words begins with what they find.
    effect(() => {
      const text = route().query.get("find");
      if (!text || text === finder.words.peek()) return;
      finder.isOpen.set(true);
      finder.start(text);
    });
    // An address with a row begins there.
    requestAnimationFrame(() => isVirtual.peek() && selected.peek() && scrollTo(placeOfKey(selected.peek())));
    const current = computed(() => {
      store.version();
      return store.get(placeOfKey(selected()))?.key ?? null;
    });
    const detailPane = h("aside", { class: () => `detail ${selected() ? "sheet-open" : ""}`, "aria-label": "Details", tabindex: "0" }, () => {
      const row = store.get(placeOfKey(current()));
      if (!row) return wide() ? keyed(() => detail().gates.find((it) => !it.decision)?.id ?? JSON.stringify(detail().turn.facts), () => detailHint(detail.peek())) : null;
      return [h("button", { type: "button", class: "icon-button sheet-close", "aria-label": "Close details", title: "Close details (Esc)", onclick: () => select(row.key) }, icon("cross")), detailOf(row, ctx)];
    });
    return h("div", { class: "timeline" },
      h("div", { class: "timeline-main" }, findBar(finder), scroller,
        () => (news() && !follow() ? h("button", { type: "button", class: "button news", onclick: () => { scroller.scrollTop = scroller.scrollHeight; } }, icon("down"), plural(news(), "new event")) : null)),
      detailPane);
  }
}

function legend(ctx) {
  const brush = signal(null); // [from, to] as shares of the axis
  const axis = h("span", { class: "axis", title: "Drag to zoom", "aria-hidden": "true", onpointerdown: (event) => startBrush(event, axis, brush, ctx) },
    () => ctx.ticks().map((tick) => h("span", { vars: { left: `${tick.at * 100}%` } }, tick.words)),
    () => (brush() ? h("i", { class: "brush", vars: { left: `${Math.min(...brush()) * 100}%`, width: `${Math.abs(brush()[1] - brush()[0]) * 100}%` } }) : null));
  return h("div", { class: "legend" },
    h("span", { class: "keys-of-colour", "aria-hidden": "true" }, KINDS.map(([name, words]) => h("span", {}, h("i", { class: `swatch ${name}` }), words))),
    h("span", { class: "zoom" },
      iconButton("Find in this turn (/)", "search", () => ctx.finder.open()),
      iconButton("Close or open all steps (c)", "fold", () => toggleAll(ctx)),
      iconButton("Zoom in", "plus", () => zoomBy(ctx, 0.5)), iconButton("Zoom out", "minus", () => zoomBy(ctx, 2)),
      iconButton("Whole turn (0)", "fit", () => ctx.zoom.set(null))),
    axis);
}

/** Marks a range of the axis while the pointer is down, and zooms to it. */
function startBrush(event, axis, brush, ctx) {
  const box = axis.getBoundingClientRect();
  const share = (it) => Math.max(0, Math.min(1, (it.clientX - box.left) / box.width));
  const from = share(event);
  const move = (it) => brush.set([from, share(it)]);
  axis.setPointerCapture(event.pointerId);
  axis.addEventListener("pointermove", move);
  axis.addEventListener("pointerup", (it) => {
    axis.removeEventListener("pointermove", move);
    brush.set(null);
    const [low, high] = [Math.min(from, share(it)), Math.max(from, share(it))];
    const [start, end] = ctx.range.peek();
    if (high - low > 0.02) ctx.zoom.set([start + low * (end - start), start + high * (end - start)]);
  }, { once: true });
}

function toggleAll(ctx) {
  const last = stepAt(ctx.kinds.peek(), ctx.kinds.peek().length);
  ctx.closed.update((closed) => new Set(closed.size ? [] : Array.from({ length: last }, (_, at) => at + 1)));
}

/** What a bar of the waterfall can be. */
const KINDS = [["wait", "asking"], ["model", "writing"], ["tool", "tool"], ["storing", "storing"], ["person", "person"], ["failed", "failed"]];

/** Waits of this many milliseconds and more are cut short on the axis. */
const LONG_PAUSE = 5000;

/** When a turn waited for people: pairs of milliseconds since it began, in order and apart from each other. */
export function pausesOf({ turn, gates }, now) {
  const begin = Date.parse(turn.createdAt);
  const spans = gates.map((gate) => [Date.parse(gate.openedAt) - begin, gate.settledAt ? Date.parse(gate.settledAt) - begin : now()]);
  const pauses = [];
  for (const [from, to] of spans.sort((a, b) => a[0] - b[0])) {
    const last = pauses.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else pauses.push([from, to]);
  }
  return pauses.filter(([from, to]) => to - from >= LONG_PAUSE);
}

/** An axis on which every pause has the same short length. It turns times into places, and places into times. */
export function timeAxis(total, pauses) {
  const cut = pauses.map(([from, to]) => [Math.max(0, from), Math.min(total, to)]).filter(([from, to]) => to > from);
  const active = total - cut.reduce((sum, [from, to]) => sum + to - from, 0);
  const short = Math.max(active * 0.08, 1);
  const place = (time) => cut.reduce((at, [from, to]) => {
    const inside = Math.max(0, Math.min(time, to) - from);
    return at - inside + (inside / (to - from)) * short;
  }, time);
  const timeAt = (at) => {
    let gone = 0;
    for (const [from, to] of cut) {
      const begin = from - gone;
      if (at <= begin) break;
      if (at < begin + short) return from + ((at - begin) / short) * (to - from);
      gone += to - from - short;
    }
    return at + gone;
  };
  return { length: Math.max(place(total), 1), place, timeAt };
}

/** Round numbers along an axis. */
export function axisTicks(from, to, axis = timeAxis(to, [])) {
  const span = Math.max(to - from, 0.001);
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? rough;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to + step / 1000 && ticks.length < 8; at += step) {
    ticks.push({ at: (at - from) / span, words: at === 0 ? "0" : duration(axis.timeAt(at)) });
  }
  return ticks.filter((tick) => tick.at < 0.93);
}

function zoomBy(ctx, factor) {
  const [from, to] = ctx.range.peek();
  const middle = (from + to) / 2;
  const half = ((to - from) * factor) / 2;
  const all = ctx.axis.peek().length;
  if (half * 2 >= all) return ctx.zoom.set(null);
  const start = Math.max(0, Math.min(middle - half, all - 2 * half));
  ctx.zoom.set([start, start + 2 * half]);
}

function zoomToRow(ctx, row) {
  if (!row) return;
  const [at, ms] = row.value ? [row.value.startMs, row.value.durationMs ?? row.value.modelMs] : [row.item.atMs, row.item.durationMs ?? 0];
  const { place } = ctx.axis.peek();
  const [begin, end] = [place(at), place(at + Math.max(ms, 1))];
  const edge = (end - begin) * 0.1;
  ctx.zoom.set([Math.max(0, begin - edge), end + edge]);
}

/** The least width of a bar, in thousandths of the waterfall: two pixels where it is narrow. */
const LEAST_BAR = 12;

/** A bar of the waterfall. */
function bar(ctx, spans) {
  const place = (span) => {
    const [from, to] = ctx.range();
    const { place: placeOf } = ctx.axis();
    const scale = 1000 / Math.max(to - from, 0.001);
    const x = Math.max(-10, Math.min(1010, (placeOf(span.at) - from) * scale));
    const end = Math.max(-10, Math.min(1010, (placeOf(span.at + span.ms) - from) * scale));
    return { x, width: Math.max(end - x, end > 0 && x < 1000 ? LEAST_BAR : 0) };
  };
  return svg("svg", { class: "waterfall", viewBox: "0 0 1000 20", preserveAspectRatio: "none", "aria-hidden": "true" },
    () => ctx.ticks().map((tick) => svg("path", { class: "grid", d: `M${tick.at * 1000} 0V20` })),
    () => spans().map((span) => {
      const { x, width } = place(span);
      return svg("rect", { class: span.kind, x, y: span.kind === "step" ? 8 : 5, width, height: span.kind === "step" ? 4 : 10, rx: 1 });
    }));
}

function timelineRow(row, ctx) {
  const { item, value, kind, at } = row.peek();
  if (!item && !value) return h("div", { class: `event loading ${{ s: "step", c: "call", r: "call refused" }[kind] ?? "text"}`, "data-at": at }, h("span"), h("span", { class: "bar" }));
  return row.peek().kind === "step" ? stepRow(row, ctx) : row.peek().item.kind === "call" ? callRow(row, ctx) : textRow(row, ctx);
}

function rowProperties(row, ctx, classes) {
  const key = row.peek().key;
  return {
    class: () => `${typeof classes === "function" ? classes() : classes} ${ctx.selected() === key ? "selected" : ""} ${ctx.finder.places().has(row().at) ? "found" : ""}`,
    "data-at": () => row().at,
    "data-step": row.peek().step,
    "aria-current": () => (ctx.selected() === key ? "true" : null),
  };
}

function stepRow(row, ctx) {
  const number = row.peek().step;
  const step = () => row().value;
  const isOpen = () => !ctx.closed().has(number);
  const toggle = () => ctx.closed.update((closed) => {
    const next = new Set(closed);
    if (!next.delete(number)) next.add(number);
    return next;
  });
  const select = h("button", { type: "button", class: "row-button", "aria-label": `Details of step ${number}`, onclick: () => ctx.select(row.peek().key) });
  return h("div", rowProperties(row, ctx, "event step"),
    h("button", { type: "button", class: "toggle", "aria-expanded": () => String(isOpen()), "aria-label": `Step ${number}`, onclick: toggle }, () => icon(isOpen() ? "down" : "right")),
    h("div", { class: "body" }, h("b", {}, `Step ${number}`), " ",
      () => (step().usage.prompt ? h("span", { class: "muted" }, `${count(step().usage.prompt)} tokens in, ${count(step().usage.completion)} out`) : null),
      () => (step().cost ? h("span", { class: "muted" }, dollars(step().cost)) : null),
      () => (step().request?.lost ? h("span", { class: "badge warn" }, "cache broke") : null),
      () => (step().durationMs === undefined && ctx.detail().turn.state === "waiting" ? h("span", { class: "muted" }, " waits") : null)),
    bar(ctx, () => stepSpans(step())),
    h("span", { class: "took" }, () => duration(step().durationMs ?? null)), select);
}

/** The bars of a step: all of it, the model, and the stores at its end. */
function stepSpans({ startMs, durationMs, modelMs, waitMs, storingMs }) {
  const end = startMs + (durationMs ?? modelMs);
  return [
    { kind: "step", at: startMs, ms: end - startMs },
    waitMs ? { kind: "wait", at: startMs, ms: waitMs } : null,
    modelMs > waitMs ? { kind: "model", at: startMs + waitMs, ms: modelMs - waitMs } : null,
    storingMs ? { kind: "storing", at: end, ms: storingMs } : null,
  ].filter(Boolean);
}

function textRow(row, ctx) {
  const item = () => row().item;
  const kind = row.peek().item.kind;
  const iconName = kind === "thought" ? "thought" : row.peek().item.role === "user" ? "person" : "message";
  return h("div", rowProperties(row, ctx, `event text ${kind}`), icon(iconName),
    h("div", { class: "body" }, () => foreign(item().text), () => (item().omittedBytes ? h("span", { class: "muted" }, ` … ${bytes(item().omittedBytes)} more`) : null),
      () => (item().media ?? []).map((it) => h("span", { class: "badge" }, foreign(it.filename)))),
    bar(ctx, () => (row().step ? [{ kind: "model", at: item().atMs, ms: item().durationMs ?? 0 }] : [])),
    h("span", { class: "took" }, () => (row().step && item().durationMs !== undefined ? duration(item().durationMs) : "")),
    h("button", { type: "button", class: "row-button", "aria-label": kind === "thought" ? "Details of a thought" : "Details of a message", onclick: () => ctx.select(row.peek().key) }));
}

function callRow(row, ctx) {
  const call = () => row().item;
  const classes = () => `event call ${call().error ? "refused" : ""} ${isOpenGate(call()) ? "waits" : ""}`;
  return h("div", rowProperties(row, ctx, classes), icon("tool"),
    h("div", { class: "body" },
      h("div", { class: "line" }, h("code", { class: "tool" }, () => foreign(call().tool)), h("code", { class: "arguments" }, () => foreign(tellingArguments(call().arguments))),
        () => call().coercions?.map((label) => h("span", { class: "badge coerced", title: `Coerced: ${label}` }, icon("wand"), label)),
        () => callBadges(call())),
      h("div", { class: "line result" }, () => resultLine(call())),
      () => (call().error ? h("div", { class: "refusal" }, foreign(problemLines(call().error.message)[0] ?? "")) : null),
      keyed(() => openGate(call(), ctx)?.id, (id) => gateNotice(id, ctx, row.peek().key))),
    bar(ctx, () => callSpans(call(), ctx)),
    h("span", { class: "took" }, () => (call().durationMs !== undefined ? duration(call().durationMs) : isOpenGate(call()) ? "waits" : runs(call(), ctx) ? duration(ctx.now() - runningSince(call())) : "")),
    h("button", { type: "button", class: "row-button", "aria-label": `Details of a call of ${row.peek().item.tool}`, onclick: () => ctx.select(row.peek().key) }));
}

/** The bars of a call: waiting for a person, and its tool. */
function callSpans(call, ctx) {
  const { decisionTime: waited } = call;
  const spans = [];
  if (waited) spans.push({ kind: "person", at: waited.atMs, ms: waited.durationMs ?? Math.max(0, ctx.now() - waited.atMs) });
  if (call.durationMs !== undefined) spans.push({ kind: call.error ? "failed" : "tool", at: call.atMs, ms: call.durationMs });
  else if (runs(call, ctx)) spans.push({ kind: "tool", at: runningSince(call), ms: ctx.now() - runningSince(call) });
  return spans;
}

/** Whether a call has begun and not ended: its end is not stored yet, and nothing keeps it from running. */
function runs(call, ctx) {
  const isOver = call.durationMs !== undefined || !["requested", "approved", "running"].includes(call.state);
  return !isOver && !isOpenGate(call) && !isDenied(call) && ["running", "waiting"].includes(ctx.detail().turn.state);
}

/** When a call that runs began: when its gate was decided, or when it was asked for. */
function runningSince({ atMs, decisionTime }) {
  return Math.max(atMs, decisionTime ? decisionTime.atMs + (decisionTime.durationMs ?? 0) : 0);
}

/** The open gate of a call. */
function openGate(call, ctx) {
  return isOpenGate(call) ? ctx.detail().gates.find((it) => it.id === call.gate.id) : null;
}

/** The question of an open gate, in the timeline. */
function gateNotice(id, ctx, key) {
  const gate = ctx.detail.peek().gates.find((it) => it.id === id);
  return h("div", { class: "card warn gate-card" },
    h("h3", {}, icon("waiting"), foreign(gate.question)),
    h("p", {}, "The call has not run. The turn continues when the gate is decided, here or by ", h("code", {}, "haft approve"), "."),
    ctx.detail.peek().actions.cancel ? h("div", { class: "buttons" }, button("Decide", { kind: "primary", onclick: (event) => { event.stopPropagation(); if (ctx.selected.peek() !== key) ctx.select(key); requestAnimationFrame(() => document.querySelector(".gate-form")?.focus()); } })) : null);
}

/** What a call returned, in one line. */
function resultLine(call) {
  const { result } = call;
  if (!result) return "";
  if (result.handles?.length) {
    return [`${bytes(result.bytes)} outside the prompt as `, result.handles.map((handle, at) => [at ? ", " : "", h("b", {}, handle)]), result.artifactKind ? ` · ${result.artifactKind}` : ""];
  }
  if (result.media?.length) return ["media: ", foreign(result.text)];
  return [foreign(result.text || "nothing"), result.bytes > 160 ? h("span", { class: "muted" }, ` · ${bytes(result.bytes)}`) : null];
}

/** What is wrong, without the line that only says that arguments were refused. */
function problemLines(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  return lines.length > 1 && lines[0].endsWith(":") ? lines.slice(1).map((line) => line.replace(/^- /, "")) : lines;
}

export const timelineView = define("haft-timeline", Timeline);
