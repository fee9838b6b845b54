// Finds rows of a timeline by words. The server searches, because only rows in view are in the document.

import { computed, h, keyed, signal } from "./view.js";
import { read } from "./server.js";
import { icon, iconButton } from "./parts.js";
import { count } from "./text.js";

/** The state of a search in a turn. `show` gets the place of the match that is shown. */
export function createFinder(turnId, show) {
  const isOpen = signal(false);
  const words = signal("");
  const result = signal(null); // { places, total } or { error }
  const current = signal(-1);
  const places = computed(() => new Set(result()?.places ?? []));
  const focus = () => requestAnimationFrame(() => document.querySelector("#find-row")?.select());
  return {
    isOpen,
    words,
    result,
    current,
    places,
    open() {
      isOpen.set(true);
      focus();
    },
    close() {
      isOpen.set(false);
      result.set(null);
      words.set("");
    },
    async start(text) {
      if (text === words.peek() && result.peek()) return this.jump(1);
      words.set(text);
      current.set(-1);
      result.set(null);
      if (!text.trim()) return;
      const found = await read(["turns", turnId, "matches"], { search: text }).catch((error) => ({ error: error.message, places: [], total: 0 }));
      if (text !== words.peek()) return;
      result.set(found);
      this.jump(1);
    },
    /** Shows another match. */
    jump(by) {
      const all = result.peek()?.places ?? [];
      if (!all.length) return isOpen.peek() ? undefined : this.open();
      current.update((at) => (at + by + all.length) % all.length);
      show(all[current.peek()]);
    },
  };
}

/** What a search found, in words. */
export function foundWords(result, current) {
  if (!result) return "";
  if (result.error) return result.error;
  if (!result.total) return "no match";
  return `${count(current + 1)} of ${count(result.total)}`;
}

/** The bar above the timeline. */
export function findBar(finder) {
  return keyed(() => finder.isOpen(), () => {
    const input = h("input", { type: "search", id: "find-row", "aria-label": "Find in this turn", value: finder.words.peek(), placeholder: "Words, tools, arguments, results or a key, in the whole turn", autocomplete: "off", spellcheck: "false" });
    const submit = (event) => {
      event.preventDefault();
      finder.start(input.value);
    };
    return h("div", { class: "find-bar" },
      h("form", { class: "field-search", role: "search", onsubmit: submit }, icon("search"), input),
      h("span", { class: "search-state", role: "status" }, () => foundWords(finder.result(), finder.current())),
      h("span", { class: "pair" }, iconButton("Previous match (N)", "up", () => finder.jump(-1)), iconButton("Next match (n)", "down", () => finder.jump(1)), iconButton("Close the search (Esc)", "cross", () => finder.close())));
  });
}
