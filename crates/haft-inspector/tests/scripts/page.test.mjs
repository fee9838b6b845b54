// Tests of the parts of the page that need no browser.

import "./document.mjs";
import assert from "node:assert/strict";
import test from "node:test";
import { signal } from "../../web/view.js";
import { ago, bytes, cost, count, day, duration, lineDiff, plural, shortId, splitHidden, unifiedDiff } from "../../web/text.js";
import { ScrollMap } from "../../web/lines.js";
import { axisTicks } from "../../web/timeline.js";
import { tellingArguments } from "../../web/detail.js";
import { RowStore, lowerBound, placeOfStep, rowOffsets, shownPlaces, stepAt } from "../../web/rows.js";
import { joinPages } from "../../web/conversations.js";
import { addDelta, applyUpdate, createApplier } from "../../web/turn.js";
import { controlFor, countChanges } from "../../web/form.js";
import { findResults } from "../../web/find.js";
import { foundWords } from "../../web/finder.js";
import { eventReader } from "../../web/stream.js";
import { parseValues } from "../../web/json.js";

/** Compares what a function writes for each number. */
function checkTable(format, rows) {
  for (const [number, expected] of rows) assert.equal(format(number), expected, `${format.name}(${number})`);
}

test("counts and sizes have their units", () => {
  checkTable(count, [[0, "0"], [999, "999"], [1000, "1\u202f000"], [1234567, "1\u202f234\u202f567"], [999.6, "1\u202f000"]]);
  checkTable(bytes, [
    [null, "–"], [undefined, "–"], [0, "0 B"], [999, "999 B"], [9999, "9\u202f999 B"], [10_000, "10 kB"], [999_499, "999 kB"], [999_500, "1.0 MB"],
    [4_141_707, "4.1 MB"], [9_949_999, "9.9 MB"], [9_960_000, "10 MB"], [203_158_043, "203 MB"], [1e9, "1.0 GB"], [2.5e12, "2.5 TB"], [5e15, "5000 TB"],
  ]);
  checkTable((it) => plural(it, "step"), [[0, "0 steps"], [1, "1 step"], [2, "2 steps"], [1500, "1\u202f500 steps"]]);
  assert.equal(plural(2, "query", "queries"), "2 queries");
  assert.equal(shortId("01a1e40e-7d5c-bd60"), "01a1e40e…bd60");
  assert.equal(shortId("0199-live"), "0199-live");
});

test("events are read however their stream is cut", () => {
  const text = ":comment\n\nevent: change\nid: 7\ndata: {\"a\":\ndata: 1}\n\ndata:plain\r\n\r\nevent: nothing\n\nid: 8\nevent: end\ndata: {}\n\ndata: unfinished";
  for (let size = 1; size <= text.length; size += 1) {
    const events = [];
    const read = eventReader((event) => events.push(event));
    for (let at = 0; at < text.length; at += size) read(text.slice(at, at + size));
    assert.deepEqual(events, [
      { name: "change", id: "7", data: '{"a":\n1}' },
      { name: "message", data: "plain" },
      { name: "end", id: "8", data: "{}" },
    ], `in pieces of ${size}`);
  }
});

test("durations have the unit of their size", () => {
  checkTable(duration, [
    [null, "–"], [undefined, "–"], [0, "0 ms"], [0.004, "0 ms"], [0.05, "0.05 ms"], [9.99, "9.99 ms"], [9.996, "10 ms"], [57, "57 ms"], [402, "402 ms"],
    [999.4, "999 ms"], [999.5, "1.00 s"], [1000, "1.00 s"], [4980, "4.98 s"], [9994, "9.99 s"], [9996, "10.0 s"], [17_042, "17.0 s"], [59_940, "59.9 s"],
    [59_960, "1 m 0 s"], [60_000, "1 m 0 s"], [61_999, "1 m 1 s"], [777_000, "12 m 57 s"], [3_599_999, "59 m 59 s"], [3_600_000, "1 h 0 m"],
    [5_430_000, "1 h 30 m"], [172_799_000, "47 h 59 m"], [172_800_000, "2 days"],
  ]);
});

test("an amount of money that is not nothing is not shown as nothing", () => {
  checkTable(cost, [
    [0, "$0.0000"], [4e-7, "<$0.000001"], [0.0000123, "$0.000012"], [0.000999, "$0.000999"], [0.001, "$0.0010"], [0.00283, "$0.0028"], [0.25, "$0.2500"], [1234.5, "$1234.5000"],
  ]);
});

test("ages and days count from now", () => {
  const now = Date.parse("2026-03-02T11:05:00Z");
  const before = (seconds) => new Date(now - seconds * 1000).toISOString();
  checkTable((it) => ago(before(it), now), [
    [-5, "0 s ago"], [0, "0 s ago"], [59, "59 s ago"], [60, "1 min ago"], [3599, "59 min ago"], [3600, "1 h ago"], [86_399, "23 h ago"], [86_400, "yesterday"], [172_800, "2 days ago"],
  ]);
  // A few minutes after midnight, an hour from UTC: what happened before midnight was on the day before.
  const local = (year, month, date, hour, minute) => new Date(year, month - 1, date, hour, minute);
  const night = local(2026, 3, 2, 0, 10);
  for (const [moment, expected] of [
    [local(2026, 3, 2, 0, 5), "Today"], [local(2026, 3, 2, 23, 59), "Today"], [local(2026, 3, 1, 23, 50), "Yesterday"], [local(2026, 3, 1, 0, 1), "Yesterday"],
    [local(2026, 2, 28, 0, 1), "2026-02-28"], [local(2026, 2, 28, 23, 59), "2026-02-28"], [local(2025, 12, 31, 12, 0), "2025-12-31"],
  ]) assert.equal(day(moment.toISOString(), night), expected, moment.toISOString());
});

test("hidden characters are named", () => {
  assert.deepEqual(splitHidden("a\u202eb\u200b\u001b[31m"), [{ text: "a" }, { hidden: "RLO" }, { text: "b" }, { hidden: "ZWSP" }, { hidden: "ESC" }, { text: "[31m" }]);
  assert.deepEqual(splitHidden("plain\ttext\n"), [{ text: "plain\ttext\n" }]);
});

test("a difference has every line once", () => {
  assert.deepEqual(lineDiff("a\nb\nc", "a\nx\nc"), [["same", "a"], ["removed", "b"], ["added", "x"], ["same", "c"]]);
  const [before, after] = ["1\n2\n3\n4", "0\n2\n4\n5"];
  const rows = lineDiff(before, after);
  assert.equal(rows.filter(([kind]) => kind !== "added").map(([, text]) => text).join("\n"), before);
  assert.equal(rows.filter(([kind]) => kind !== "removed").map(([, text]) => text).join("\n"), after);
});

test("a unified diff has signs, and content that looks like a head is content", () => {
  const rows = unifiedDiff("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n same\n--- gone\n+++ new\n\n");
  assert.deepEqual(rows.map((row) => row.kind), ["place", "place", "place", "same", "removed", "added", "same"]);
  assert.deepEqual(rows.slice(3, 6).map((row) => row.text), ["same", "-- gone", "++ new"]);
});

test("the field of the top bar leads to turns, conversations, agents and words", () => {
  const found = { turns: [{ id: "t1", title: "Where is the shop?" }], conversations: [{ id: "c1", title: "The shop", turns: [1, 2] }], agents: [{ name: "shopkeeper" }, { name: "gardener" }] };
  const keys = (turn) => findResults("shop", found, turn).map((row) => row.key);
  assert.deepEqual(keys(null), ["agent/shopkeeper", "talk/c1", "turn/t1", "all"]);
  assert.deepEqual(keys("t9")[0], "in");
  assert.equal(findResults("a b", found, null).at(-1).to, "#/turns?search=a+b");
  assert.deepEqual([foundWords(null, -1), foundWords({ total: 0 }, -1), foundWords({ total: 12 }, 2)], ["", "no match", "3 of 12"]);
});

test("a scroll position and a line belong together for any number of lines", () => {
  for (const total of [1, 50, 200_000, 2_030_720, 11_000_000]) {
    const map = new ScrollMap(total, 600);
    assert.ok(map.height <= 4_000_000);
    for (const line of [0, 1, Math.floor(total / 3), map.lastTop]) {
      assert.ok(Math.abs(map.lineAt(map.positionOf(line)) - line) <= 1, `${total} ${line}`);
    }
    assert.equal(map.lineAt(map.positionOf(map.lastTop)), map.lastTop);
  }
});

test("rows are found by their position", () => {
  const offsets = rowOffsets("sct", [0, 1, 2]);
  assert.deepEqual([...offsets], [0, 30, 78, 108]);
  assert.deepEqual([0, 29, 30, 77, 78, 500].map((at) => lowerBound(offsets, at)), [0, 0, 1, 1, 2, 3]);
});

test("a layout says which rows are shown and where steps are", () => {
  const kinds = "tstccstr";
  assert.deepEqual(shownPlaces(kinds, new Set()), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(shownPlaces(kinds, new Set([1])), [0, 1, 5, 6, 7]);
  assert.deepEqual([1, 2, 3].map((step) => placeOfStep(kinds, step)), [1, 5, -1]);
  assert.deepEqual([0, 1, 4, 5, 7].map((at) => stepAt(kinds, at)), [0, 1, 1, 2, 2]);
});

test("rows are read by windows, and rows that moved are forgotten", async () => {
  const asked = [];
  const store = new RowStore(async (start, number) => {
    asked.push(start);
    return { start, rows: Array.from({ length: number }, (_, n) => ({ row: "item", key: `k${start + n}`, kind: "call", step: 1 })) };
  });
  store.fetch(150, 320);
  store.fetch(150, 320);
  await new Promise((done) => setTimeout(done, 5));
  assert.deepEqual(asked, [100, 200, 300], "each window once");
  assert.deepEqual([store.get(150).key, store.placeOf("k399"), store.get(99)], ["k150", 399, undefined]);
  store.apply({ kinds: { from: 200, kinds: "c" }, rows: [{ at: 200, row: { row: "step", number: 7 } }], moreRows: false });
  assert.deepEqual([store.get(199).key, store.get(200).key, store.get(201), store.placeOf("k300")], ["k199", "step/7", undefined, -1]);
  store.fetch(0, 100_000);
  await new Promise((done) => setTimeout(done, 20));
  assert.ok(store.get(0) === undefined, "old rows make room for new ones");
});

test("an axis has round ticks", () => {
  assert.deepEqual(axisTicks(0, 4980).map((it) => it.words), ["0", "2.00 s", "4.00 s"]);
  assert.ok(axisTicks(1000, 1010).length >= 2);
});

test("the telling argument comes first", () => {
  assert.equal(tellingArguments("{\"callId\":\"ac88\",\"pattern\":\"^E\",\"limit\":\"3\"}"), "^E  limit 3  in ac88");
  assert.equal(tellingArguments("{}"), "{}");
  assert.equal(tellingArguments("not json"), "not json");
});

const liveTurn = (steps, rest = {}) => ({ turn: { state: "running", facts: { steps } }, kinds: "", rows: [], moreRows: false, endMs: 0, gates: [], artifacts: [], actions: {}, ...rest });

test("an update changes the end of the layout", () => {
  const next = applyUpdate(liveTurn(1, { kinds: "tstc", systemPrompt: "p" }), liveTurn(2, { kinds: { from: 3, kinds: "rs" } }));
  assert.deepEqual([next.kinds, next.turn.facts.steps, next.systemPrompt], ["tstrs", 2, "p"]);
  assert.equal(applyUpdate(liveTurn(1, { kinds: "ts" }), liveTurn(2, { kinds: undefined })).kinds, "ts");
});

test("a text that is written grows, starts again, and goes when its step is stored", () => {
  const frames = [];
  const live = { detail: signal(liveTurn(0)), streams: signal([]), notices: signal([]), store: new RowStore() };
  const apply = createApplier(live, (frame) => frames.push(frame));
  const delta = (text, restart = false) => ({ type: "delta", key: "m", step: 1, isThought: false, text, restart });
  apply(delta("I lo"));
  apply(delta("ok"));
  assert.equal(frames.length, 1, "once per frame");
  frames.pop()();
  assert.equal(live.streams()[0].text, "I look");
  apply(delta("", true));
  apply({ type: "notice", step: 1, level: "warn", topic: "retry-attempt", text: "asks again" });
  frames.pop()();
  assert.deepEqual([live.streams()[0].text, live.notices()[0].text], ["", "asks again"]);
  apply({ type: "update", ...liveTurn(1, { kinds: { from: 0, kinds: "st" }, rows: [{ at: 0, row: { row: "step", number: 1 } }] }) });
  frames.pop()();
  assert.deepEqual([live.streams(), live.notices(), live.detail().kinds, live.store.get(0).key], [[], [], "st", "step/1"]);
  assert.equal(addDelta([], delta("x")).length, 1);
});

test("a conversation that stands on two pages is one row", () => {
  const page = (id, title, turns) => ({ id, title, turns });
  const joined = joinPages([page("a", "new", [3]), page("b", "other", [2])], [page("a", "old", [1])]);
  assert.deepEqual(joined, [page("a", "old", [3, 1]), page("b", "other", [2])]);
});

test("a schema decides the control", () => {
  const cases = [
    [{ type: "string" }, "line"], [{ type: "string", maxLength: 500 }, "text"], [{ type: "integer" }, "number"], [{ type: ["boolean", "null"] }, "checkbox"],
    [{ enum: ["a", "b"] }, "radio"], [{ enum: ["a", "b", "c", "d", "e"] }, "select"], [{ type: "array", items: { type: "string" } }, "list"],
    [{ type: "object", properties: {} }, "group"], [{ anyOf: [] }, "json"], [undefined, "json"],
  ];
  for (const [schema, control] of cases) assert.equal(controlFor(schema), control, JSON.stringify(schema));
  assert.equal(controlFor({ type: "string" }, "two\nlines"), "text");
  assert.equal(countChanges({ a: 1, b: 2 }, { a: 1, b: 3, c: 4 }), 2);
});

test("results of JSON queries are values", () => {
  assert.deepEqual(parseValues("{\"a\":1}\n{\"a\":2}"), [{ a: 1 }, { a: 2 }]);
  assert.deepEqual(parseValues("[1,2]"), [1, 2]);
  assert.deepEqual(parseValues("Ada\nBob"), ["Ada", "Bob"]);
  assert.deepEqual(parseValues("[\n  1\n]\n[there are 2 more]"), [1]);
});
