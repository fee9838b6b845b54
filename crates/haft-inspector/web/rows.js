// The rows of a timeline: the layout of all of them, and those that were read from the server.

import { signal } from "./view.js";

/** How many rows are read at once, and how many are kept. */
const CHUNK = 100;
const MAX_KEPT = 3000;

/** Heights of rows in a timeline that is too long to be in the document, by their kinds. */
const HEIGHTS = { s: 30, t: 30, c: 48, r: 70 };

/** The rows that were read, by their places. `read` gets a place and a number, and returns a page. */
export class RowStore {
  #rows = new Map();
  #places = new Map();
  #loading = new Map();
  #read;
  version = signal(0);

  constructor(read) {
    this.#read = read;
  }

  get(at) {
    return this.#rows.get(at);
  }

  /** The place of a row that was read; -1 if it was not. */
  placeOf(key) {
    return this.#places.get(key) ?? -1;
  }

  /** Forgets rows from a place on: they have other places now. */
  forget(from) {
    for (const [at, row] of this.#rows) if (at >= from) this.#drop(at, row);
    for (const controller of this.#loading.values()) controller.abort();
    this.#loading.clear();
  }

  #drop(at, row) {
    this.#rows.delete(at);
    if (this.#places.get(row.key) === at) this.#places.delete(row.key);
  }

  put(at, value) {
    const row = toRow(value, at);
    this.#rows.delete(at);
    this.#rows.set(at, row);
    this.#places.set(row.key, at);
  }

  putPage(page) {
    page.rows.forEach((row, n) => this.put(page.start + n, row));
    for (const [at, row] of this.#rows) {
      if (this.#rows.size <= MAX_KEPT) break;
      this.#drop(at, row);
    }
    this.version.update((it) => it + 1);
  }

  /** Reads the rows of a range that are missing. Reading that is not needed any more stops. */
  fetch(from, to) {
    const [first, last] = [Math.floor(from / CHUNK), Math.floor(Math.max(from, to - 1) / CHUNK)];
    for (const [index, controller] of this.#loading) {
      if (index >= first && index <= last) continue;
      controller.abort();
      this.#loading.delete(index);
    }
    for (let index = first; index <= last; index += 1) {
      const start = index * CHUNK;
      let isMissing = false;
      for (let at = Math.max(from, start); at < Math.min(to, start + CHUNK); at += 1) isMissing ||= !this.#rows.has(at);
      if (!isMissing || this.#loading.has(index)) continue;
      const controller = new AbortController();
      this.#loading.set(index, controller);
      this.#read(start, CHUNK, controller.signal).then((page) => !controller.signal.aborted && this.putPage(page), () => {})
        .finally(() => this.#loading.get(index) === controller && this.#loading.delete(index));
    }
  }

  /** Applies an update of a live turn. */
  apply(update) {
    if (update.kinds) this.forget(update.kinds.from);
    if (update.moreRows) this.forget(0);
    for (const { at, row } of update.rows) this.put(at, row);
    this.version.update((it) => it + 1);
  }
}

function toRow(value, at) {
  if (value.row === "step") return { at, key: `step/${value.number}`, kind: "step", step: value.number, value };
  return { at, key: value.key, kind: value.kind === "call" ? "call" : "text", step: value.step, item: value };
}

/** The places of the rows that are shown, if some steps are closed. */
export function shownPlaces(kinds, closed) {
  const places = [];
  let step = 0;
  for (let at = 0; at < kinds.length; at += 1) {
    if (kinds[at] === "s") step += 1;
    if (kinds[at] === "s" || !closed.has(step)) places.push(at);
  }
  return places;
}

/** The place of the head of a step. */
export function placeOfStep(kinds, step) {
  let at = -1;
  for (let number = 0; number < step; number += 1) {
    at = kinds.indexOf("s", at + 1);
    if (at === -1) return -1;
  }
  return at;
}

/** The step of the row at a place. */
export function stepAt(kinds, place) {
  let step = 0;
  for (let at = 0; at <= place && at < kinds.length; at += 1) if (kinds[at] === "s") step += 1;
  return step;
}

/** The tops of rows, and the end of the last one. */
export function rowOffsets(kinds, places) {
  const offsets = new Float64Array(places.length + 1);
  for (let at = 0; at < places.length; at += 1) offsets[at + 1] = offsets[at] + HEIGHTS[kinds[places[at]]];
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
