// Where the page is: the fragment of the address, as words and a query.

import { signal } from "./view.js";

function parse() {
  const hash = location.hash.replace(/^#\/?/, "");
  const [path, query] = hash.split("?");
  const words = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { words: words.length ? words : ["turns"], query: new URLSearchParams(query ?? "") };
}

export const route = signal(parse());

addEventListener("hashchange", () => route.set(parse()));

/** Reads the address again, after it was replaced. */
export function refreshRoute() {
  route.set(parse());
}

/** The address of a view. */
export function link(words, query) {
  const path = words.map(encodeURIComponent).join("/");
  const entries = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(entries).toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

/** Goes to a view. */
export function go(words, query) {
  location.hash = link(words, query);
}

/** Changes the query of the view without a new entry in the history. */
export function setQuery(changes) {
  const { words, query } = route.peek();
  const next = { ...Object.fromEntries(query), ...changes };
  history.replaceState(null, "", link(words, next));
  route.set(parse());
}
