// Where the page is: the fragment of the address, as words and a query.

import { signal } from "./view.js";

/** A word of the address, which people may have cut in the middle of a character. */
function decode(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

function parse() {
  const hash = location.hash.replace(/^#\/?/, "");
  const [path, query] = hash.split("?");
  const words = path.split("/").filter(Boolean).map(decode);
  return { words: words.length ? words : ["turns"], query: new URLSearchParams(query ?? "") };
}

export const route = signal(parse());

let readHash = location.hash;

/** Reads the address again if it has changed. The browser tells of a change only when everything else that waits is done. */
export function refreshRoute() {
  if (location.hash === readHash) return;
  readHash = location.hash;
  route.set(parse());
}

addEventListener("hashchange", refreshRoute);

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
  refreshRoute();
}

/** Changes the query of the view without a new entry in the history. */
export function setQuery(changes) {
  refreshRoute();
  const { words, query } = route.peek();
  const next = { ...Object.fromEntries(query), ...changes };
  history.replaceState(null, "", link(words, next));
  refreshRoute();
}
