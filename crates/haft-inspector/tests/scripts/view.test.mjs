// Tests of the view helper.

import "./document.mjs";
import assert from "node:assert/strict";
import test from "node:test";
import { append, computed, each, effect, flush, h, keyed, onEnd, scope, signal, untracked } from "../../web/view.js";

test("an effect runs at once and once per batch of changes", () => {
  const count = signal(1);
  const seen = [];
  effect(() => seen.push(count()));
  count.set(2);
  count.set(3);
  assert.deepEqual(seen, [1]);
  flush();
  assert.deepEqual(seen, [1, 3]);
  count.set(3);
  flush();
  assert.deepEqual(seen, [1, 3], "an equal value is no change");
});

test("an effect follows only what it read last", () => {
  const [useFirst, first, second] = [signal(true), signal("a"), signal("b")];
  let runs = 0;
  effect(() => { runs += 1; useFirst() ? first() : second(); });
  useFirst.set(false);
  flush();
  first.set("c");
  flush();
  assert.equal(runs, 2);
  second.set("d");
  flush();
  assert.equal(runs, 3);
});

test("a computed value follows its sources and tells only changes", () => {
  const number = signal(2);
  const isEven = computed(() => number() % 2 === 0);
  let runs = 0;
  effect(() => { isEven(); runs += 1; });
  number.set(4);
  flush();
  assert.equal(runs, 1);
  number.set(5);
  flush();
  assert.deepEqual([isEven(), runs], [false, 2]);
});

test("effects that change each other without end are stopped", () => {
  const [one, two] = [signal(0), signal(0)];
  effect(() => two.set(one() + 1));
  effect(() => one.set(two() + 1));
  assert.throws(() => flush(), /without end/);
});

test("a scope ends its effects and what they made", () => {
  const value = signal(0);
  const ended = [];
  const [, stop] = scope(() => effect(() => { value(); effect(() => onEnd(() => ended.push("inner"))); onEnd(() => ended.push("outer")); }));
  value.set(1);
  flush();
  assert.deepEqual(ended, ["inner", "outer"]);
  stop();
  value.set(2);
  flush();
  assert.equal(ended.length, 4);
});

test("text is text, and functions among children are followed", () => {
  const words = signal("<b>bold</b>");
  const element = h("p", { class: () => `size-${words().length}`, hidden: false, title: null }, "see ", () => words());
  assert.equal(element.textContent, "see <b>bold</b>");
  assert.equal(element.getAttribute("class"), "size-11");
  assert.equal(element.getAttribute("hidden"), null);
  words.set("plain");
  flush();
  assert.equal(element.textContent, "see plain");
});

test("a region removes what regions inside it have added since", () => {
  const [outer, inner] = [signal(1), signal([])];
  const element = h("p", {}, () => { const n = outer(); return [() => inner().map((it) => h("i", {}, `${n}${it} `))]; });
  inner.set(["a", "b"]);
  flush();
  assert.equal(element.textContent, "1a 1b ");
  outer.set(2);
  flush();
  assert.equal(element.textContent, "2a 2b ");
});

test("custom properties go through the object model", () => {
  const element = h("i", { vars: { "--x": "1px" } });
  assert.deepEqual([element.style.values, element.getAttribute("style")], [{ "--x": "1px" }, null]);
});

test("a keyed list keeps its nodes when it is reordered", () => {
  const list = signal([{ id: 1, n: "one" }, { id: 2, n: "two" }, { id: 3, n: "three" }]);
  const parent = h("ul", {});
  let made = 0;
  append(parent, each(() => list(), (it) => it.id, (item) => { made += 1; return h("li", {}, () => item().n); }));
  const nodes = () => parent.childNodes.filter((it) => it.tagName === "li");
  const [one, two, three] = nodes();
  list.set([{ id: 3, n: "drei" }, { id: 1, n: "one" }, { id: 4, n: "four" }]);
  flush();
  assert.deepEqual(nodes().map((it) => it.textContent), ["drei", "one", "four"]);
  assert.ok(nodes()[0] === three && nodes()[1] === one && !nodes().includes(two));
  assert.equal(made, 4);
});

test("random reorderings of a keyed list end in the right order", () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const list = signal([]);
  const parent = h("div", {});
  append(parent, each(() => list(), (it) => it, (item) => h("b", {}, () => String(item()))));
  for (let round = 0; round < 60; round += 1) {
    const items = Array.from({ length: random(12) }, () => random(20));
    list.set(items);
    flush();
    assert.deepEqual(parent.childNodes.filter((it) => it.tagName).map((it) => it.textContent), [...new Set(items)].map(String));
  }
});

test("untracked reads follow nothing", () => {
  const value = signal(1);
  let runs = 0;
  effect(() => { runs += 1; untracked(() => value()); });
  value.set(2);
  flush();
  assert.equal(runs, 1);
});

test("a keyed region keeps its nodes until its key is another one", () => {
  const turn = signal({ gate: "g1", calls: 1 });
  const element = h("p", {}, keyed(() => turn().gate, (id) => h("button", {}, id, () => ` ${turn().calls}`)));
  const node = () => element.childNodes.find((it) => it.tagName === "button");
  const before = node();
  turn.set({ gate: "g1", calls: 2 });
  flush();
  assert.ok(node() === before, "the node under a pressed pointer stays");
  assert.equal(element.textContent, "g1 2", "what stands in it follows");
  turn.set({ gate: "g2", calls: 2 });
  flush();
  assert.ok(node() !== before);
  turn.set({ gate: null, calls: 3 });
  flush();
  assert.equal(element.textContent, "");
});
