// Words and numbers, and text that others wrote.

import { h } from "./view.js";

const THIN = "\u202f";

/** A whole number with its thousands set apart. */
export function count(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

/** A size in bytes. */
export function bytes(number) {
  if (number === null || number === undefined) return "–";
  if (number < 10_000) return `${count(number)} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = number / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** A duration in milliseconds, as ms, s, or minutes and seconds. The limits are those at which a number rounds to the next form. */
export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  if (milliseconds < 9.995) return `${Number(milliseconds.toFixed(2))} ms`;
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 59.95) return `${seconds < 9.995 ? seconds.toFixed(2) : seconds.toFixed(1)} s`;
  const minutes = Math.max(1, Math.floor(seconds / 60));
  if (minutes < 60) return `${minutes} m ${Math.floor(Math.max(60, seconds) % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} m`;
  return `${Math.floor(hours / 24)} days`;
}

/** A number with its noun. */
export function plural(number, noun, nouns = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : nouns}`;
}

/** How long ago a moment is. */
export function ago(moment, now = Date.now()) {
  const seconds = Math.max(0, (now - Date.parse(moment)) / 1000);
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86_400);
  return days === 1 ? "yesterday" : `${days} days ago`;
}

/** The day of a moment, as the head of a group. */
export function day(moment, now = new Date()) {
  const date = new Date(moment);
  const start = (it) => new Date(it.getFullYear(), it.getMonth(), it.getDate()).getTime();
  const days = Math.round((start(now) - start(date)) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  // The date where the person is, as the names of the other days.
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((it) => String(it).padStart(2, "0")).join("-");
}

/** US dollars. A small amount has more digits, and one that costs something is not shown as nothing. */
export function cost(amount) {
  if (amount > 0 && amount < 0.000001) return "<$0.000001";
  return `$${amount.toFixed(amount > 0 && amount < 0.001 ? 6 : 4)}`;
}

/** The first and the last characters of an id. */
export function shortId(id) {
  return id.length > 14 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}

// Characters that a browser does not show as themselves: controls, and marks that change direction or join nothing.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

const NAMES = new Map([
  [0x1b, "ESC"], [0x07, "BEL"], [0x08, "BS"], [0x0d, "CR"], [0x00, "NUL"], [0x7f, "DEL"], [0xad, "SHY"],
  [0x200b, "ZWSP"], [0x200c, "ZWNJ"], [0x200d, "ZWJ"], [0x200e, "LRM"], [0x200f, "RLM"], [0x061c, "ALM"],
  [0x202a, "LRE"], [0x202b, "RLE"], [0x202c, "PDF"], [0x202d, "LRO"], [0x202e, "RLO"],
  [0x2066, "LRI"], [0x2067, "RLI"], [0x2068, "FSI"], [0x2069, "PDI"], [0xfeff, "BOM"], [0x2060, "WJ"],
]);

/** The name of a hidden character. */
export function hiddenName(character) {
  const code = character.codePointAt(0);
  return NAMES.get(code) ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Splits a text into what is shown and the names of hidden characters. */
export function splitHidden(text) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) parts.push({ text: text.slice(from, match.index) });
    parts.push({ hidden: hiddenName(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from) });
  return parts;
}

/** Text that others wrote: hidden characters are named, and its direction does not leave it. */
export function foreign(text) {
  const value = String(text ?? "");
  if (value.search(HIDDEN) === -1) return h("bdi", { dir: "ltr" }, value);
  return h("bdi", { dir: "ltr" }, splitHidden(value).map((part) =>
    part.text ?? h("span", { class: "hidden-mark", title: `Hidden character ${part.hidden}` }, part.hidden)));
}

/** JSON text with line breaks, if it is JSON; else the text. */
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The lines of two texts, side by side: `same`, `removed` or `added`. */
export function lineDiff(before, after) {
  const [left, right] = [before.split("\n"), after.split("\n")];
  if (left.length * right.length > 1_000_000) {
    return [...left.map((text) => ["removed", text]), ...right.map((text) => ["added", text])];
  }
  // The longest common subsequence, from the end.
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = left[i] === right[j]
        ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const rows = [];
  let [i, j] = [0, 0];
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) rows.push(["same", left[(j += 1, i++)]]);
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) rows.push(["removed", left[i++]]);
    else rows.push(["added", right[j++]]);
  }
  while (i < left.length) rows.push(["removed", left[i++]]);
  while (j < right.length) rows.push(["added", right[j++]]);
  return rows;
}

/** The lines of a unified diff: `added`, `removed`, `same`, or `place` for the names of files and the numbers of lines. */
export function unifiedDiff(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  let isHead = true;
  return lines.map((line) => {
    // Names of files stand before the first hunk; behind it, a line that begins with three signs is content.
    if (line.startsWith("@@")) isHead = false;
    if (line.startsWith("@@") || line.startsWith("diff ") || (isHead && /^(---|\+\+\+) /.test(line))) return { kind: "place", text: line };
    if (line.startsWith("+")) return { kind: "added", text: line.slice(1) };
    if (line.startsWith("-")) return { kind: "removed", text: line.slice(1) };
    return { kind: "same", text: line.replace(/^ /, "") };
  });
}
