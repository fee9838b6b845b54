// Talks to the API: requests, live streams and the session.

import { onEnd, signal } from "./view.js";

/** Where the page is mounted: its script is in `web` below it. */
export const home = new URL("../", import.meta.url);

const base = new URL("api/", home);

/** Whether live streams are connected: "connected", "lost" or "closed". */
export const connection = signal("connected");

export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.message ?? `The server responded with status ${status}.`);
    this.status = status;
    this.code = problem.code ?? "";
    this.hint = problem.hint ?? "";
    this.problems = problem.problems ?? [];
  }
}

/** The address of a resource, from its words. */
export function address(words, query) {
  const url = words.length ? new URL(words.map(encodeURIComponent).join("/"), base) : new URL(base.href.slice(0, -1));
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

async function request(url, options) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { message: "The server cannot be reached.", hint: "Is `haft web` still running?" });
  }
  if (response.status === 204) return null;
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, body);
  return body;
}

/** Reads a resource. */
export function read(words, query, signal) {
  return request(address(words, query), { signal });
}

/** Performs an action. */
export function act(words, body, signal) {
  const headers = { "content-type": "application/json", "x-haft-action": "1" };
  return request(address(words), { method: "POST", headers, body: JSON.stringify(body ?? {}), signal });
}

/** Exchanges the token in the fragment for a session, and removes it from the address. */
export async function beginSession() {
  const match = /^#token=([0-9a-f]+)/.exec(location.hash);
  if (!match) return;
  history.replaceState(null, "", `${location.pathname}#/turns`);
  await act(["session"], { token: match[1] });
}

/** Follows a live stream until the current scope ends. The browser reconnects and sends the last id. */
export function follow(words, query, handlers) {
  const source = new EventSource(address(words, query));
  for (const [name, handler] of Object.entries(handlers)) {
    if (name === "lost" || name === "open") continue;
    source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
  }
  source.addEventListener("open", () => {
    connection.set("connected");
    handlers.open?.();
  });
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) connection.set("closed");
    else connection.set("lost");
    handlers.lost?.();
  });
  const close = () => source.close();
  onEnd(close);
  return close;
}

/** Loads something into a signal: `{ state: "loading" | "ready" | "failed", value, error }`. */
export function load(body) {
  const result = signal({ state: "loading" });
  const controller = new AbortController();
  onEnd(() => controller.abort());
  Promise.resolve(body(controller.signal)).then(
    (value) => result.set({ state: "ready", value }),
    (error) => error.name !== "AbortError" && result.set({ state: "failed", error }),
  );
  return result;
}
