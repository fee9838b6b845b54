// Tests of the parts of the page that need no browser.

import "./document.mjs";
import assert from "node:assert/strict";
import test from "node:test";
import { signal } from "../../web/view.js";
import { bytes, count, duration, lineDiff, shortId, splitHidden } from "../../web/text.js";
import { ScrollMap } from "../../web/lines.js";
import { axisTicks, lowerBound, rowOffsets, tellingArguments } from "../../web/timeline.js";
import { addDelta, applyUpdate, createApplier } from "../../web/turn.js";
import { controlFor, countChanges } from "../../web/form.js";
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
  const offsets = rowOffsets([{ kind: "step" }, { kind: "call" }, { kind: "text" }]);
  assert.deepEqual([...offsets], [0, 30, 78, 108]);
  assert.deepEqual([0, 29, 30, 77, 78, 500].map((at) => lowerBound(offsets, at)), [0, 0, 1, 1, 2, 3]);
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

test("changes of a turn are applied by key and in order", () => {
  const detail = { turn: { state: "running", steps: 1 }, items: [{ key: "a", step: 1, text: "old" }], steps: [{ number: 1 }], gates: [], artifacts: [], actions: {} };
  const update = { turn: { state: "running", steps: 2 }, items: [{ key: "b", step: 2 }, { key: "a", step: 1, text: "new" }], steps: [{ number: 2 }], gates: [], artifacts: [], actions: {} };
  const next = applyUpdate(detail, update);
  assert.deepEqual(next.items.map((it) => [it.key, it.text]), [["a", "new"], ["b", undefined]]);
  assert.deepEqual(next.steps.map((it) => it.number), [1, 2]);
  assert.equal(detail.items[0].text, "old");
});

test("a text that is written grows, starts again, and goes when its step is stored", () => {
  const frames = [];
  const [detail, streams] = [signal({ turn: { state: "running", steps: 0 }, items: [], steps: [], gates: [], artifacts: [], actions: {} }), signal([])];
  const apply = createApplier(detail, streams, (frame) => frames.push(frame));
  const delta = (text, restart = false) => ({ type: "delta", key: "m", step: 1, isThought: false, text, restart });
  apply(delta("I lo"));
  apply(delta("ok"));
  assert.equal(frames.length, 1, "once per frame");
  frames.pop()();
  assert.equal(streams()[0].text, "I look");
  apply(delta("", true));
  frames.pop()();
  assert.equal(streams()[0].text, "");
  apply({ type: "update", turn: { state: "running", steps: 1 }, items: [], steps: [], gates: [], artifacts: [], actions: {} });
  frames.pop()();
  assert.deepEqual(streams(), []);
  assert.equal(addDelta([], delta("x")).length, 1);
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
