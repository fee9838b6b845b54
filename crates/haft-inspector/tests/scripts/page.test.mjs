// Tests of the parts of the page that need no browser.

import "./document.mjs";
import assert from "node:assert/strict";
import test from "node:test";
import { signal } from "../../web/view.js";
import { bytes, count, duration, lineDiff, shortId, splitHidden, unifiedDiff } from "../../web/text.js";
import { ScrollMap } from "../../web/lines.js";
import { axisTicks } from "../../web/timeline.js";
import { tellingArguments } from "../../web/detail.js";
import { RowStore, lowerBound, placeOfStep, rowOffsets, shownPlaces, stepAt } from "../../web/rows.js";
import { joinPages } from "../../web/conversations.js";
import { addDelta, applyUpdate, createApplier } from "../../web/turn.js";
import { controlFor, countChanges } from "../../web/form.js";
import { findResults } from "../../web/find.js";
import { foundWords } from "../../web/finder.js";
import { matchCalls } from "../../web/fork.js";
import { parseValues } from "../../web/json.js";

test("numbers read well", () => {
  assert.deepEqual([count(1234567), bytes(999), bytes(203_158_043), bytes(4_141_707)], ["1\u202f234\u202f567", "999 B", "203 MB", "4.1 MB"]);
  assert.deepEqual([duration(0.05), duration(402), duration(4980), duration(777_000), duration(null)], ["0.05 ms", "402 ms", "4.98 s", "12 m 57 s", "–"]);
  assert.equal(shortId("01a1e40e-7d5c-bd60"), "01a1e40e…bd60");
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

test("calls of two turns are matched by key", () => {
  const call = (callKey, tool = "t") => ({ callKey, tool });
  const kinds = (left, right) => matchCalls(left, right).map(([, , kind]) => kind);
  assert.deepEqual(kinds([call("a"), call("b")], [call("a"), call("b")]), ["same", "same"]);
  assert.deepEqual(kinds([call("a"), call("c")], [call("a"), call("x"), call("c")]), ["same", "only", "same"]);
  assert.deepEqual(kinds([call("a")], [call("z")]), ["other"]);
  assert.deepEqual(kinds([], [call("z")]), ["only"]);
});

test("results of JSON queries are values", () => {
  assert.deepEqual(parseValues("{\"a\":1}\n{\"a\":2}"), [{ a: 1 }, { a: 2 }]);
  assert.deepEqual(parseValues("[1,2]"), [1, 2]);
  assert.deepEqual(parseValues("Ada\nBob"), ["Ada", "Bob"]);
  assert.deepEqual(parseValues("[\n  1\n]\n[there are 2 more]"), [1]);
});
