// The timeline of a turn: steps with what happened in them, a waterfall, and the details of what is selected.

import { View, computed, define, each, effect, h, onEnd, signal, svg } from "./view.js";
import { read } from "./server.js";
import { go, route, setQuery } from "./route.js";
import { bytes, button, codeBox, copyButton, count, diffView, icon, iconButton, idText, media, mediaView, skeleton, tierBadge } from "./parts.js";
import { keys } from "./keys.js";
import { duration, foreign, plural, pretty } from "./text.js";
import { gateForm } from "./gate.js";

/** From this many rows on, only those in view are in the document, and all rows have known heights. */
const VIRTUAL_FROM = 200;
const HEIGHTS = { step: 30, text: 30, call: 48, refused: 70, gate: 48 };

class Timeline extends View {
  render() {
    const closed = signal(new Set());
    const zoom = signal(null); // [from, to] in milliseconds
    const selected = computed(() => route().query.get("at"));
    const total = computed(() => {
      const { turn, steps } = this.detail();
      const last = steps.reduce((end, step) => Math.max(end, step.startMs + (step.durationMs ?? step.modelMs)), 0);
      const all = Math.max(last, ["running"].includes(turn.state) ? turn.durationMs : 0, 1);
      // The axis of a running turn doubles instead of creeping.
      return turn.state === "running" ? 1000 * 2 ** Math.ceil(Math.log2(all / 1000)) : all;
    });
    const range = computed(() => zoom() ?? [0, total()]);
    const rows = computed(() => this.rows(closed()));
    const isVirtual = computed(() => rows().length > VIRTUAL_FROM);
    const wide = media("(min-width: 48rem)");

    const select = (key) => setQuery({ at: selected.peek() === key ? null : key });
    const ctx = { detail: this.detail, turnId: this.turnId, selected, select, range, closed, zoom, total };
    const list = h("div", { class: () => `rows ${isVirtual() ? "fixed" : ""}` });
    const follow = signal(true);
    const news = signal(0);
    const scroller = h("div", { class: "scroll timeline-scroll", tabindex: "0", role: "region", "aria-label": "Timeline" }, this.legend(ctx), list);
    // Effects that run in a frame cannot use the scope of this function, so the window is a signal.
    const shown = signal({ from: 0, to: VIRTUAL_FROM });
    const offsets = computed(() => rowOffsets(rows()));
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
    let known = rows.peek()?.length ?? 0;
    effect(() => {
      const length = rows().length + this.streams().length;
      const isRunning = this.detail.peek().turn.state === "running";
      if (isRunning && length > known) {
        if (follow.peek()) requestAnimationFrame(() => (scroller.scrollTop = scroller.scrollHeight));
        else news.update((it) => it + length - known);
      }
      known = length;
      requestAnimationFrame(measure);
    });
    const before = h("div", { class: "spacer", vars: () => ({ height: isVirtual() ? `${offsets()[Math.min(shown().from, rows().length)]}px` : "0" }), "aria-hidden": "true" });
    const after = h("div", { class: "spacer", vars: () => ({ height: isVirtual() ? `${offsets().at(-1) - offsets()[Math.min(shown().to, rows().length)]}px` : "0" }), "aria-hidden": "true" });
    list.append(before);
    each(() => (isVirtual() ? rows().slice(shown().from, shown().to) : rows()), (row) => row.key, (row) => timelineRow(row, ctx)).mount(list);
    each(() => this.streams(), (it) => it.key, (text) => h("div", { class: "event text streaming" },
      icon(text.peek().isThought ? "thought" : "message"), h("div", { class: "body" }, () => foreign(text().text), h("span", { class: "caret", "aria-hidden": "true" })))).mount(list);
    list.append(after);

    const step = (by) => {
      const heads = rows.peek().filter((row) => row.kind === "step");
      const current = rows.peek().find((row) => row.key === selected.peek());
      const at = heads.findIndex((row) => row.step === (current?.step ?? 0));
      const next = heads[Math.max(0, Math.min(heads.length - 1, at + by))];
      if (next) this.reveal(next.key, scroller, offsets, rows, select);
    };
    const move = (by) => {
      const all = rows.peek();
      const at = all.findIndex((row) => row.key === selected.peek());
      const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
      if (next && next.key !== selected.peek()) this.reveal(next.key, scroller, offsets, rows, select);
    };
    keys({
      j: ["next row", () => move(1)],
      k: ["previous row", () => move(-1)],
      "[": ["step before", () => step(-1)],
      "]": ["next step", () => step(1)],
      z: ["zoom to the selected step", () => zoomToSelected(ctx, rows)],
      0: ["the whole turn", () => zoom.set(null)],
      y: ["copy the key of the call", () => navigator.clipboard?.writeText(rows.peek().find((row) => row.key === selected.peek())?.item?.callKey ?? "")],
    });
    const detailPane = h("aside", { class: () => `detail ${selected() ? "sheet-open" : ""}`, "aria-label": "Details", tabindex: "0" }, () => {
      const key = selected();
      const row = key && rows.peek().find((it) => it.key === key);
      if (!row) return wide() ? detailHint(this.detail()) : null;
      return [h("button", { type: "button", class: "icon-button sheet-close", "aria-label": "Close details", title: "Close details (Esc)", onclick: () => select(key) }, icon("cross")), detailOf(row, ctx)];
    });
    keys({ Escape: ["close details", () => (selected.peek() ? select(selected.peek()) : false)] });
    return h("div", { class: "timeline" },
      h("div", { class: "timeline-main" }, scroller,
        () => (news() && !follow() ? h("button", { type: "button", class: "button news", onclick: () => { scroller.scrollTop = scroller.scrollHeight; } }, icon("down"), plural(news(), "new event")) : null)),
      detailPane);
  }

  /** Selects a row and scrolls to it. */
  reveal(key, scroller, offsets, rows, select) {
    select(key);
    const at = rows.peek().findIndex((row) => row.key === key);
    const node = scroller.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (node) node.scrollIntoView({ block: "nearest" });
    else scroller.scrollTop = offsets.peek()[at] - scroller.clientHeight / 3;
  }

  /** The rows: the input, then every step with its items. */
  rows(closed) {
    const { steps, items } = this.detail();
    const known = new Map(steps.map((step) => [step.number, step]));
    const rows = [];
    let current = 0;
    const addStep = (number) => {
      current = number;
      const step = known.get(number) ?? { number, startMs: 0, modelMs: 0, usage: {} };
      rows.push({ key: `step/${number}`, kind: "step", step: number, value: step });
    };
    for (const item of items) {
      if (item.step !== current) {
        for (let number = current + 1; number <= item.step; number += 1) if (number > 0) addStep(number);
      }
      if (item.step > 0 && closed.has(item.step)) continue;
      const kind = item.kind === "call" ? (item.error ? "refused" : "call") : "text";
      rows.push({ key: item.key, kind, step: item.step, item });
    }
    for (const step of steps) if (step.number > current) addStep(step.number);
    return rows;
  }

  legend(ctx) {
    const ticks = computed(() => axisTicks(...ctx.range()));
    return h("div", { class: "legend" },
      h("span", { class: "keys-of-colour", "aria-hidden": "true" }, ["model", "tool", "step", "failed"].map((name) => h("span", {}, h("i", { class: `swatch ${name}` }), name))),
      h("span", { class: "zoom" },
        iconButton("Zoom in", "plus", () => zoomBy(ctx, 0.5)), iconButton("Zoom out", "minus", () => zoomBy(ctx, 2)),
        iconButton("Whole turn (0)", "fit", () => ctx.zoom.set(null))),
      h("span", { class: "axis", "aria-hidden": "true" }, () => ticks().map((tick) => h("span", { vars: { left: `${tick.at * 100}%` } }, tick.words))));
  }
}

/** The tops of rows, and the end of the last one. */
export function rowOffsets(rows) {
  const offsets = new Float64Array(rows.length + 1);
  for (let at = 0; at < rows.length; at += 1) offsets[at + 1] = offsets[at] + HEIGHTS[rows[at].kind];
  return offsets;
}

/** The last row whose top is at or above a position. */
export function lowerBound(offsets, position) {
  let [low, high] = [0, offsets.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (offsets[middle] <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Round numbers along an axis. */
export function axisTicks(from, to) {
  const span = Math.max(to - from, 0.001);
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? rough;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to + step / 1000 && ticks.length < 8; at += step) {
    ticks.push({ at: (at - from) / span, words: at === 0 ? "0" : duration(at) });
  }
  return ticks.filter((tick) => tick.at < 0.93);
}

function zoomBy(ctx, factor) {
  const [from, to] = ctx.range.peek();
  const middle = (from + to) / 2;
  const half = ((to - from) * factor) / 2;
  const all = ctx.total.peek();
  if (half * 2 >= all) return ctx.zoom.set(null);
  const start = Math.max(0, Math.min(middle - half, all - 2 * half));
  ctx.zoom.set([start, start + 2 * half]);
}

function zoomToSelected(ctx, rows) {
  const row = rows.peek().find((it) => it.key === ctx.selected.peek());
  const step = ctx.detail.peek().steps.find((it) => it.number === row?.step);
  if (step) ctx.zoom.set([step.startMs, step.startMs + Math.max(step.durationMs ?? step.modelMs, 1)]);
}

/** A bar of the waterfall. */
function bar(ctx, spans) {
  const place = (span) => {
    const [from, to] = ctx.range();
    const scale = 1000 / Math.max(to - from, 0.001);
    const x = Math.max(-10, Math.min(1010, (span.at - from) * scale));
    const end = Math.max(-10, Math.min(1010, (span.at + span.ms - from) * scale));
    return { x, width: Math.max(end - x, end > 0 && x < 1000 ? 4 : 0) };
  };
  return svg("svg", { class: "waterfall", viewBox: "0 0 1000 20", preserveAspectRatio: "none", "aria-hidden": "true" },
    [0.25, 0.5, 0.75].map((at) => svg("path", { class: "grid", d: `M${at * 1000} 0V20` })),
    () => spans().map((span) => {
      const { x, width } = place(span);
      return svg("rect", { class: span.kind, x, y: span.kind === "step" ? 8 : 5, width, height: span.kind === "step" ? 4 : 10, rx: 1 });
    }));
}

function timelineRow(row, ctx) {
  return row.peek().kind === "step" ? stepRow(row, ctx) : row.peek().item.kind === "call" ? callRow(row, ctx) : textRow(row, ctx);
}

function rowProperties(row, ctx, classes) {
  const key = row.peek().key;
  return {
    class: () => `${typeof classes === "function" ? classes() : classes} ${ctx.selected() === key ? "selected" : ""}`,
    "data-key": key,
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
  const select = h("button", { type: "button", class: "row-button", "aria-label": `Step ${number}, details`, onclick: () => ctx.select(row.peek().key) });
  return h("div", rowProperties(row, ctx, "event step"),
    h("button", { type: "button", class: "toggle", "aria-expanded": () => String(isOpen()), "aria-label": `Step ${number}`, onclick: toggle }, () => icon(isOpen() ? "down" : "right")),
    h("div", { class: "body" }, h("b", {}, `Step ${number}`), " ",
      () => (step().usage.prompt ? h("span", { class: "muted" }, `${count(step().usage.prompt)} tokens in, ${count(step().usage.completion)} out`) : null),
      () => (step().request?.lost ? h("span", { class: "badge warn" }, "cache broke") : null),
      () => (step().durationMs === undefined && ctx.detail().turn.state === "waiting" ? h("span", { class: "muted" }, " waits") : null)),
    bar(ctx, () => [{ kind: "step", at: step().startMs, ms: step().durationMs ?? step().modelMs }]),
    h("span", { class: "took" }, () => duration(step().durationMs ?? null)), select);
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
    h("button", { type: "button", class: "row-button", "aria-label": kind === "thought" ? "Thought, details" : "Message, details", onclick: () => ctx.select(row.peek().key) }));
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
      () => (isOpenGate(call()) ? gateNotice(call(), ctx, row.peek().key) : null)),
    bar(ctx, () => [{ kind: call().error ? "failed" : "tool", at: call().atMs, ms: call().durationMs ?? 0 }]),
    h("span", { class: "took" }, () => (call().durationMs !== undefined ? duration(call().durationMs) : isOpenGate(call()) ? "waits" : call().state === "running" ? "runs" : "")),
    h("button", { type: "button", class: "row-button", "aria-label": `Call of ${row.peek().item.tool}, details`, onclick: () => ctx.select(row.peek().key) }));
}

function isOpenGate(call) {
  return call.gate && !call.gate.decision;
}

function callBadges(call) {
  const badges = [];
  if (call.refused) badges.push(h("span", { class: "badge failed" }, icon("cross"), call.gate?.decision === "rejected" ? "denied, did not run" : "refused, did not run"));
  else if (call.error) badges.push(h("span", { class: "badge failed" }, icon("cross"), "failed"));
  if (call.state === "unknown") badges.push(h("span", { class: "badge failed" }, icon("alert"), "outcome unknown"));
  if (call.gate?.decision === "resolved") badges.push(h("span", { class: "badge ok" }, icon("ok"), call.edited ? "approved with edits" : "approved"));
  if (isOpenGate(call)) badges.push(h("span", { class: "badge warn" }, icon("waiting"), "waits for you"));
  return badges;
}

/** The question of an open gate, in the timeline. */
function gateNotice(call, ctx, key) {
  const gate = ctx.detail().gates.find((it) => it.id === call.gate.id);
  if (!gate) return null;
  return h("div", { class: "card warn gate-card" },
    h("h3", {}, icon("waiting"), foreign(gate.question)),
    h("p", {}, "The call has not run. The turn continues when the gate is decided, here or by ", h("code", {}, "haft approve"), "."),
    h("div", { class: "buttons" }, button("Decide", { kind: "primary", onclick: (event) => { event.stopPropagation(); if (ctx.selected.peek() !== key) ctx.select(key); requestAnimationFrame(() => document.querySelector(".gate-form")?.focus()); } })));
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

/** What is wrong, without the line that only says that arguments were refused. */
function problemLines(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  return lines.length > 1 && lines[0].endsWith(":") ? lines.slice(1).map((line) => line.replace(/^- /, "")) : lines;
}

/** What stands in the detail pane while nothing is selected. */
function detailHint(detail) {
  return h("div", { class: "detail-empty" },
    h("h2", {}, "Details"),
    h("p", {}, "Select a row to see everything that is stored of it."),
    detail.turn.failedCalls || detail.turn.coercedCalls
      ? h("p", {}, `${plural(detail.turn.calls, "call")}: ${detail.turn.failedCalls} failed, ${detail.turn.coercedCalls} with coerced arguments.`)
      : null,
    h("details", {}, h("summary", {}, "System prompt"), codeBox(detail.systemPrompt, "System prompt")));
}

function detailOf(row, ctx) {
  if (row.kind === "step") return stepDetail(row, ctx);
  if (row.item.kind !== "call") return textDetail(row, ctx);
  return callDetail(row, ctx);
}

function stepDetail(row, ctx) {
  const step = row.value;
  return [
    h("section", {}, h("h2", {}, `Step ${step.number}`),
      h("dl", { class: "pairs" },
        h("dt", {}, "Took"), h("dd", {}, duration(step.durationMs ?? null)),
        h("dt", {}, "Model"), h("dd", {}, `${duration(step.modelMs)}${step.model ? `, ${step.model}` : ""}`),
        h("dt", {}, "Tokens"), h("dd", {}, step.usage.prompt ? `${count(step.usage.prompt)} in, ${count(step.usage.completion)} out, ${count(step.usage.cached)} from the cache` : "–"),
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
      (item.media ?? []).map((it) => mediaView(ctx.turnId, it, new URL("api/", document.baseURI)))),
  ];
}

function callDetail(row, ctx) {
  const view = signal(null);
  const failure = signal(null);
  const controller = new AbortController();
  onEnd(() => controller.abort());
  // The record changes while the call runs, so it is read again when its row changes.
  const current = computed(() => JSON.stringify(ctx.detail().items.find((it) => it.key === row.key) ?? null));
  effect(() => {
    current();
    read(["turns", ctx.turnId, "calls", row.item.record], null, controller.signal).then((value) => view.set(value), (error) => error.name !== "AbortError" && failure.set(error));
  });
  const gate = computed(() => ctx.detail().gates.find((it) => it.record === row.item.record && !it.decision)?.id ?? null);
  return [
    h("section", {}, h("h2", {}, icon("tool"), h("code", {}, foreign(row.item.tool)), () => callBadges(view()?.call ?? row.item)),
      () => (view() ? h("dl", { class: "pairs" },
        h("dt", {}, "Step"), h("dd", {}, `${view().step}, call ${view().ordinal}`),
        h("dt", {}, "Took"), h("dd", {}, `${duration(row.item.durationMs ?? null)}, from ${duration(row.item.atMs)}`),
        h("dt", {}, "Key"), h("dd", {}, idText(view().call.callKey, "the key"))) : skeleton(3))),
    () => {
      const open = gate() && ctx.detail.peek().gates.find((it) => it.id === gate());
      return open ? gateForm({ gate: open }) : null;
    },
    () => (failure() ? h("section", { class: "problem" }, failure().message) : null),
    () => (view() ? argumentsSection(view()) : null),
    () => (view() ? resultSection(view(), ctx) : null),
  ];
}

function argumentsSection(view) {
  const raw = pretty(view.raw);
  const accepted = view.accepted && pretty(view.accepted);
  const edited = view.edited && pretty(view.edited);
  return h("section", {},
    h("h3", {}, accepted && accepted !== raw ? "Arguments: as the model wrote them → as the tool received them" : "Arguments"),
    edited ? [h("h4", {}, "Edited before approval"), diffView(raw, edited)] : null,
    accepted && accepted !== (edited ?? raw) ? diffView(isJson(view.raw) || edited ? edited ?? raw : view.raw, accepted) : codeBox(edited ?? raw, "Arguments"),
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
  const handles = call.result?.handles ?? [];
  return h("section", {},
    h("h3", {}, "Result, as it went back to the model"),
    h("p", { class: "badges" }, handles.length ? tierBadge("handle") : null, tierBadge(view.tier), call.result?.bytes !== undefined ? h("span", { class: "badge" }, bytes(call.result.bytes)) : null),
    view.result !== undefined ? codeBox(pretty(view.result), "Result") : null,
    view.omittedBytes ? h("p", { class: "muted" }, `${bytes(view.omittedBytes)} more are stored.`) : null,
    call.error?.cause ? [h("h4", {}, "Cause, which the model did not see"), codeBox(call.error.cause, "Cause")] : null,
    (call.result?.media ?? []).map((it) => mediaView(ctx.turnId, it, new URL("api/", document.baseURI))),
    h("div", { class: "buttons" },
      handles.map((handle) => button("Open artifact", { icon: "artifact", onclick: () => go(["turns", ctx.turnId, "artifacts", handle]) })),
      view.isQuery && view.queriedHandle ? button("Run this query", { icon: "play", onclick: () => go(["turns", ctx.turnId, "artifacts", view.queriedHandle], { run: view.call.record }) }) : null,
      h("span", { class: "copy-command" }, copyButton(`haft call . ${call.tool} '${view.raw.replaceAll("'", "'\\''")}'`, "as haft call"), h("span", { class: "muted" }, "copy as haft call"))));
}

export const timelineView = define("haft-timeline", Timeline);
