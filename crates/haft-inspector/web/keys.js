// Keys: one table for the page and for the view that is open.

import { h, onEnd, signal } from "./view.js";

const bindings = [];
export const isEnabled = signal(localStorage.getItem("haft-keys") !== "off");

/** The modifier of this platform. */
export const modifier = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

/** Adds keys while the current scope lives: `{ "j": ["next row", action], "g t": [...] }`. */
export function keys(table) {
  const entries = Object.entries(table).map(([combination, [words, action]]) => ({ combination, words, action }));
  bindings.push(...entries);
  onEnd(() => entries.forEach((entry) => bindings.splice(bindings.indexOf(entry), 1)));
}

let prefix = "";
let prefixTimer = 0;

function inField(target) {
  return target.closest?.("input, textarea, select, [contenteditable]");
}

addEventListener("keydown", (event) => {
  const isCommand = event.ctrlKey || event.metaKey;
  if (isCommand && event.key.toLowerCase() === "k") return run("mod k", event);
  if (isCommand && event.key === "Enter") {
    const form = event.target.closest?.("form");
    if (form) {
      event.preventDefault();
      form.requestSubmit();
    }
    return;
  }
  if (event.key === "Escape") return run("Escape", event);
  if (isCommand || event.altKey || !isEnabled() || inField(event.target)) return;
  const combination = prefix ? `${prefix} ${event.key}` : event.key;
  clearTimeout(prefixTimer);
  prefix = "";
  if (run(combination, event)) return;
  if (bindings.some((entry) => entry.combination.startsWith(`${event.key} `))) {
    prefix = event.key;
    prefixTimer = setTimeout(() => (prefix = ""), 900);
  }
});

function run(combination, event) {
  // The newest binding wins: that of the view over that of the page.
  const entry = bindings.findLast((it) => it.combination === combination);
  if (!entry) return false;
  if (entry.action(event) === false) return false;
  event.preventDefault();
  return true;
}

/** The dialog with all keys. */
export function keyDialog() {
  const rows = new Map(bindings.map((entry) => [entry.combination, entry.words]));
  const dialog = h("dialog", { class: "keys", "aria-labelledby": "keys-title", onclick: (event) => event.target === dialog && dialog.close() },
    h("form", { method: "dialog" },
      h("h2", { id: "keys-title" }, "Keys"),
      h("dl", {}, [...rows].map(([combination, words]) => [
        h("dt", {}, combination.replace("mod", modifier).split(" ").map((key) => h("kbd", {}, key))),
        h("dd", {}, words),
      ])),
      h("label", { class: "check" },
        h("input", {
          type: "checkbox", checked: isEnabled(),
          onchange: (event) => {
            isEnabled.set(event.target.checked);
            localStorage.setItem("haft-keys", event.target.checked ? "on" : "off");
          },
        }), "Use keys of one letter"),
      h("button", { class: "button" }, "Close")));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

/** Moves the focus among the rows of a pane. */
export function moveFocus(container, selector, by) {
  const rows = [...container.querySelectorAll(selector)];
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement);
  const next = rows[Math.max(0, Math.min(rows.length - 1, at === -1 ? (by > 0 ? 0 : rows.length - 1) : at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}
