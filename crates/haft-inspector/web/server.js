// Talks to the API: requests, live streams and the session.

import { openStream } from "./stream.js";
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

/** The token of the server. One that is mounted in an application has none: the application knows its users. */
let token = null;

/** What is sent with every request. A browser does not send it by itself. */
const session = () => (token ? { authorization: `Bearer ${token}` } : {});

async function request(url, options) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...options, headers: { ...session(), ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { message: "The server cannot be reached.", hint: "Is `haft web` still running?" });
  }
  if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => ({})));
  return response;
}

async function requestJson(url, options) {
  return (await request(url, options)).json().catch(() => ({}));
}

/** Reads a resource. */
export function read(words, query, signal) {
  return requestJson(address(words, query), { signal });
}

/** Reads bytes, such as those of a picture. */
export async function readBlob(words, signal) {
  return (await request(address(words), { signal })).blob();
}

/** Performs an action. */
export function act(words, body, signal) {
  const headers = { "content-type": "application/json", "x-haft-action": "1" };
  return requestJson(address(words), { method: "POST", headers, body: JSON.stringify(body ?? {}), signal });
}

/** Where the token of a tab is, until the tab is closed. Storage belongs to one port, other than cookies. */
const TOKEN = "haft-token";
/** The view that a tab was to show when it had no session. */
const WANTED = "haft-wanted";
/** How tabs of the page ask each other for the token: a link that is opened in a new tab has none. */
let tabs = null;
/** How long to wait for another tab. */
const PATIENCE = 300;

/** Takes the token from the fragment, from which it is removed, or from this tab. */
export function beginSession() {
  const match = /^#token=([0-9a-f]+)/.exec(location.hash);
  if (match) {
    history.replaceState(null, "", `${location.pathname}${sessionStorage.getItem(WANTED) ?? "#/turns"}`);
    sessionStorage.setItem(TOKEN, match[1]);
    sessionStorage.removeItem(WANTED);
  }
  token = sessionStorage.getItem(TOKEN);
  tabs = new BroadcastChannel(TOKEN);
  tabs.onmessage = ({ data }) => {
    if (data === "ask" && token) tabs.postMessage({ token });
  };
}

/** Remembers the view of the address until the tab has a session. */
export function rememberView() {
  if (location.hash.startsWith("#/")) sessionStorage.setItem(WANTED, location.hash);
}

/** Asks the other tabs of the page for their token, and returns whether one has another one than this tab. */
export async function joinSession() {
  const before = token;
  const found = await new Promise((resolve) => {
    const heard = ({ data }) => data.token && resolve(data.token);
    tabs.addEventListener("message", heard);
    tabs.postMessage("ask");
    setTimeout(() => resolve(null), PATIENCE);
  });
  if (!found || found === before) return false;
  sessionStorage.setItem(TOKEN, found);
  token = found;
  return true;
}

/** Opens a live stream, with a handler for each kind of event. Returns a function that closes it. */
export function stream(words, query, handlers) {
  return openStream(address(words, query), session(), handlers);
}

/** Follows a live stream until its `end` or the end of the current scope. */
export function follow(words, query, handlers) {
  const close = stream(words, query, {
    ...handlers,
    end(value) {
      close();
      handlers.end?.(value);
    },
    open() {
      connection.set("connected");
      handlers.open?.();
    },
    lost() {
      connection.set("lost");
      handlers.lost?.();
    },
    refused() {
      connection.set("closed");
      handlers.lost?.();
    },
  });
  onEnd(close);
  return close;
}

/** How long to wait before a server that could not be reached is asked again. */
const RETRY = 3000;

/** Runs a function a little later, unless the current scope ends before. */
export function retryLater(body) {
  const timer = setTimeout(body, RETRY);
  onEnd(() => clearTimeout(timer));
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
