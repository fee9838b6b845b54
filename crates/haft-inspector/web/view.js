// The view helper: signals, elements and keyed lists. Content is always text, never markup.

let running = null; // the effect that collects its sources
let owner = null; // the scope that owns new effects
let queue = new Set();
let isQueued = false;

/** A value that effects follow. Call it to read it. */
export function signal(value) {
  const followers = new Set();
  const read = () => {
    if (running) {
      followers.add(running);
      running.sources.add(followers);
    }
    return value;
  };
  read.peek = () => value;
  read.set = (next) => {
    if (Object.is(next, value)) return;
    value = next;
    for (const follower of followers) enqueue(follower);
  };
  read.update = (change) => read.set(change(value));
  return read;
}

function enqueue(effect) {
  queue.add(effect);
  if (isQueued) return;
  isQueued = true;
  queueMicrotask(flush);
}

/** Runs all effects that wait, oldest first. An effect that others change again and again stops with an error. */
export function flush() {
  isQueued = false;
  for (let round = 0; queue.size > 0; round += 1) {
    if (round > 100) {
      queue = new Set();
      throw new Error("effects change each other without end");
    }
    const batch = [...queue].sort((a, b) => a.order - b.order);
    queue = new Set();
    for (const effect of batch) if (!effect.isDisposed) effect.run();
  }
}

let order = 0;

/** Runs a function now, and again whenever a signal that it read changes. Returns what ends it. */
export function effect(body) {
  const self = {
    order: (order += 1),
    sources: new Set(),
    children: [],
    isDisposed: false,
    run() {
      release(self);
      const [lastRunning, lastOwner] = [running, owner];
      running = self;
      owner = self;
      try {
        body();
      } finally {
        running = lastRunning;
        owner = lastOwner;
      }
    },
  };
  if (owner) owner.children.push(() => dispose(self));
  self.run();
  return () => dispose(self);
}

function release(self) {
  for (const followers of self.sources) followers.delete(self);
  self.sources.clear();
  const children = self.children;
  self.children = [];
  for (const end of children) end();
}

function dispose(self) {
  self.isDisposed = true;
  queue.delete(self);
  release(self);
}

/** A value that follows from other signals. */
export function computed(body) {
  const value = signal(undefined);
  effect(() => value.set(body()));
  const read = () => value();
  read.peek = value.peek;
  return read;
}

/** Runs a function whose effects end together. Returns its result and what ends it. */
export function scope(body) {
  const self = { sources: new Set(), children: [], isDisposed: false };
  const [lastRunning, lastOwner] = [running, owner];
  running = null;
  owner = self;
  try {
    return [body(), () => dispose(self)];
  } finally {
    running = lastRunning;
    owner = lastOwner;
  }
}

/** Reads signals without following them. */
export function untracked(body) {
  const last = running;
  running = null;
  try {
    return body();
  } finally {
    running = last;
  }
}

/** Runs a function when the current scope or effect ends. */
export function onEnd(body) {
  if (owner) owner.children.push(body);
}

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element. Functions among properties and children are followed. */
export function h(tag, properties, ...children) {
  return build(document.createElement(tag), properties, children);
}

/** Creates an element of SVG. */
export function svg(tag, properties, ...children) {
  return build(document.createElementNS(SVG, tag), properties, children);
}

function build(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) setProperty(element, name, value);
  append(element, children);
  return element;
}

function setProperty(element, name, value) {
  if (name === "ref") {
    value(element);
  } else if (name.startsWith("on")) {
    element.addEventListener(name.slice(2), value);
  } else if (typeof value === "function") {
    effect(() => applyProperty(element, name, value()));
  } else {
    applyProperty(element, name, value);
  }
}

function applyProperty(element, name, value) {
  if (name === "value" || name === "checked" || name === "indeterminate") {
    if (element[name] !== value) element[name] = value ?? "";
  } else if (name === "vars") {
    // Custom properties go through the object model: the content security policy allows no style attributes.
    for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
  } else if (value === false || value === null || value === undefined) {
    element.removeAttribute(name);
  } else {
    element.setAttribute(name, value === true ? "" : value);
  }
}

/** Appends children: nodes, texts, lists of them, and functions that return them. */
export function append(parent, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    if (child.mount) child.mount(parent);
    else if (typeof child === "function") mountRegion(parent, child);
    else parent.append(child instanceof Node ? child : String(child));
  }
}

/** A place whose content follows from a function. What stands between its marks is its own, also what regions inside it add. */
function mountRegion(parent, body) {
  const [begin, end] = [document.createComment(""), document.createComment("")];
  parent.append(begin, end);
  effect(() => {
    const content = body();
    const first = begin.nextSibling;
    const isText = typeof content === "string" || typeof content === "number";
    if (isText && first !== end && first.nextSibling === end && first.nodeType === Node.TEXT_NODE) {
      const text = String(content);
      if (first.data !== text) first.data = text;
      return;
    }
    while (begin.nextSibling !== end) begin.nextSibling.remove();
    const fragment = document.createDocumentFragment();
    append(fragment, content);
    end.before(fragment);
  });
}

/**
 * A region that is built again only when its key is another one: a text, a number or a boolean; nothing is shown for a key that
 * is none. What a person uses, such as a button or a field, belongs in such a region: a node that is replaced between pressing
 * and releasing the pointer gets no click, and a field that is replaced loses its text and the focus.
 */
export function keyed(keyOf, render) {
  return () => {
    const key = computed(keyOf);
    return [() => {
      const value = key();
      return value === null || value === undefined || value === false ? null : untracked(() => render(value));
    }];
  };
}

/** A list whose elements keep their nodes by key. `render` gets a signal with the item. */
export function each(list, keyOf, render) {
  return {
    mount(parent) {
      const end = document.createComment("");
      parent.append(end);
      let rows = new Map();
      onEnd(() => rows.forEach((row) => row.stop()));
      effect(() => {
        const items = list();
        untracked(() => {
          const next = new Map();
          for (const item of items) {
            const key = keyOf(item);
            if (next.has(key)) continue;
            let row = rows.get(key);
            if (row) {
              rows.delete(key);
              row.item.set(item);
            } else {
              const value = signal(item);
              const [node, stop] = scope(() => render(value));
              row = { item: value, node, stop };
            }
            next.set(key, row);
          }
          for (const row of rows.values()) {
            row.stop();
            row.node.remove();
          }
          rows = next;
          // Only nodes that are not where they belong are moved.
          let place = end;
          for (const row of [...rows.values()].reverse()) {
            if (row.node.nextSibling !== place || row.node.parentNode !== place.parentNode) place.before(row.node);
            place = row.node;
          }
        });
      });
    },
  };
}

/** A custom element whose content lives as long as it is connected. */
export class View extends HTMLElement {
  #stop = null;

  connectedCallback() {
    if (this.#stop) return;
    const [, stop] = scope(() => append(this, this.render()));
    this.#stop = stop;
  }

  disconnectedCallback() {
    this.#stop?.();
    this.#stop = null;
    this.replaceChildren();
  }
}

/** Registers a custom element and returns a function that creates it with its properties. */
export function define(name, type) {
  customElements.define(name, type);
  return (properties) => Object.assign(document.createElement(name), properties);
}
