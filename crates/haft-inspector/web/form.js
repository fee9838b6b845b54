// Forms made from JSON Schemas. Values are validated by the server, with the code that decides.

import { h, signal } from "./view.js";
import { button, iconButton } from "./parts.js";
import { plural } from "./text.js";

/** Which control a schema gets. */
export function controlFor(schema, value) {
  const type = Array.isArray(schema?.type) ? schema.type.find((it) => it !== "null") : schema?.type;
  if (Array.isArray(schema?.enum)) return schema.enum.length <= 4 ? "radio" : "select";
  if (type === "boolean") return "checkbox";
  if (type === "integer" || type === "number") return "number";
  if (type === "string") return (schema.maxLength ?? 0) > 200 || String(value ?? "").includes("\n") ? "text" : "line";
  if (type === "array" && schema.items && ["line", "number"].includes(controlFor(schema.items))) return "list";
  if (type === "object" && schema.properties) return "group";
  return "json";
}

let nextId = 0;

/**
 * A form for a value. `onchange` gets the value whenever it changes.
 * Returns `{ node, value, changes, setProblems }`.
 */
export function schemaForm(schema, initial, onchange) {
  const id = `form-${(nextId += 1)}`;
  const value = signal(structuredClone(initial ?? defaultFor(schema)));
  const problems = signal([]);
  const original = JSON.stringify(initial ?? null);
  const form = { id, value, problems, initial, set };

  function set(path, next) {
    const copy = structuredClone(value.peek());
    if (!path.length) {
      value.set(next);
    } else {
      let at = copy;
      for (const key of path.slice(0, -1)) at = at[key] ??= {};
      if (next === undefined) delete at[path.at(-1)];
      else at[path.at(-1)] = next;
      value.set(copy);
    }
    onchange?.(value.peek());
  }

  const node = h("div", { class: "schema-form" }, field(form, [], schema ?? {}, null, true),
    () => {
      const rest = problems().filter((it) => !it.pointer);
      return rest.length ? h("p", { class: "problem", role: "alert" }, rest.map((it) => it.message).join("; ")) : null;
    });
  return {
    node,
    value,
    /** How many fields of the value differ from the first one. */
    changes: () => countChanges(original === "null" ? {} : JSON.parse(original), value()),
    setProblems: (list) => problems.set(list),
  };
}

export function countChanges(before, after) {
  if (before === null || after === null || typeof before !== "object" || typeof after !== "object") return Object.is(before, after) ? 0 : 1;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).length;
}

function defaultFor(schema) {
  if (schema?.default !== undefined) return schema.default;
  const control = controlFor(schema);
  if (control === "group") {
    return Object.fromEntries(Object.entries(schema.properties).filter(([name, it]) => (schema.required ?? []).includes(name) || it.default !== undefined).map(([name, it]) => [name, defaultFor(it)]));
  }
  return { checkbox: false, number: schema?.minimum ?? 0, list: [], radio: schema?.enum?.[0], select: schema?.enum?.[0], line: "", text: "" }[control] ?? null;
}

const pointer = (path) => path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
const read = (value, path) => path.reduce((at, key) => at?.[key], value);

function field(form, path, schema, name, isRequired) {
  const current = read(form.value.peek(), path);
  const control = controlFor(schema, current);
  if (control === "group") {
    const required = schema.required ?? [];
    const rank = ([key]) => (required.includes(key) ? required.indexOf(key) : required.length);
    const fields = Object.entries(schema.properties).sort((a, b) => rank(a) - rank(b)).map(([key, it]) => field(form, [...path, key], it, key, required.includes(key)));
    return name ? h("fieldset", {}, h("legend", {}, name), fields) : fields;
  }
  const id = `${form.id}${pointer(path).replaceAll("/", "-") || "-value"}`;
  const isEdited = () => JSON.stringify(read(form.value(), path)) !== JSON.stringify(read(form.initial, path));
  const own = () => form.problems().filter((it) => it.pointer === pointer(path) || (it.pointer.startsWith(`${pointer(path)}/`) && path.length));
  const described = `${id}-hint ${id}-problem`;
  const shared = { id, "aria-describedby": described, "aria-invalid": () => (own().length ? "true" : null) };
  const set = (value) => form.set(path, value);
  const isGroup = control === "radio" || control === "list";
  const label = [name ?? "Value", isRequired ? h("span", { class: "muted" }, " required") : null, () => (isEdited() && form.initial !== undefined && form.initial !== null ? h("span", { class: "badge coerced" }, "edited by you") : null)];
  return h("div", { class: () => `field ${isEdited() && form.initial ? "edited" : ""} ${own().length ? "wrong" : ""}` },
    control === "checkbox" ? null : isGroup ? h("span", { class: "label", id: `${id}-label` }, label) : h("label", { for: id }, label),
    controls[control]({ schema, shared, id, name, current, set, form, path, label }),
    h("p", { class: "hint", id: `${id}-hint` }, hintOf(schema, () => read(form.value(), path))),
    h("p", { class: "problem", id: `${id}-problem`, role: "alert" }, () => own().map((it) => it.message).join("; ")));
}

function hintOf(schema, value) {
  const words = [];
  if (schema.description) words.push(schema.description);
  if (schema.minimum !== undefined || schema.maximum !== undefined) words.push(`from ${schema.minimum ?? "−∞"} to ${schema.maximum ?? "∞"}`);
  if (schema.default !== undefined) words.push(`default ${JSON.stringify(schema.default)}`);
  return [words.join(" · "), schema.maxLength ? () => `${words.length ? " · " : ""}${String(value() ?? "").length} of ${plural(schema.maxLength, "character")}` : null];
}

const controls = {
  line: ({ shared, current, set }) => h("input", { type: "text", value: current ?? "", autocomplete: "off", spellcheck: "false", ...shared, oninput: (event) => set(event.target.value) }),
  text: ({ shared, current, set }) => h("textarea", { rows: Math.min(14, Math.max(4, String(current ?? "").split("\n").length + 1)), spellcheck: "false", ...shared, oninput: (event) => set(event.target.value), ref: (it) => (it.value = current ?? "") }),
  number: ({ schema, shared, current, set }) => h("input", {
    type: "number", value: current ?? "", min: schema.minimum, max: schema.maximum, step: schema.type === "integer" ? "1" : "any", ...shared,
    oninput: (event) => set(event.target.value === "" ? undefined : Number(event.target.value)),
  }),
  checkbox: ({ shared, current, set, label }) => h("label", { class: "check" }, h("input", { type: "checkbox", checked: Boolean(current), ...shared, onchange: (event) => set(event.target.checked) }), label),
  radio: ({ schema, id, current, set }) => h("div", { class: "radios", role: "radiogroup", "aria-labelledby": `${id}-label` }, schema.enum.map((option) =>
    h("label", { class: "check" }, h("input", { type: "radio", name: id, checked: option === current, onchange: () => set(option) }), String(option), option === schema.default ? h("span", { class: "muted" }, " default") : null))),
  select: ({ schema, shared, current, set }) => h("select", { ...shared, onchange: (event) => set(schema.enum[event.target.selectedIndex]) }, schema.enum.map((option) => h("option", { selected: option === current }, String(option)))),
  list: ({ schema, id, set, form, path, name }) => {
    const items = () => read(form.value(), path) ?? [];
    const isNumber = controlFor(schema.items) === "number";
    const length = signal(items().length);
    return h("div", { role: "group", "aria-labelledby": `${id}-label`, class: "list-field" },
      () => Array.from({ length: length() }, (_, at) => h("div", { class: "list-row" },
        h("input", { type: isNumber ? "number" : "text", "aria-label": `${name ?? "value"} ${at + 1}`, value: read(form.value.peek(), path)?.[at] ?? "", oninput: (event) => set(items().map((it, n) => (n === at ? (isNumber ? Number(event.target.value) : event.target.value) : it))) }),
        iconButton(`Remove ${name ?? "value"} ${at + 1}`, "cross", () => { set(items().filter((_, n) => n !== at)); length.set(-1); length.set(items().length); }))),
      button("Add", { icon: "plus", onclick: () => { set([...items(), isNumber ? 0 : ""]); length.set(items().length); } }));
  },
  json: ({ shared, current, set, form, path }) => h("textarea", {
    rows: 4, class: "mono", spellcheck: "false", ...shared, ref: (it) => (it.value = current === undefined ? "" : JSON.stringify(current, null, 2)),
    oninput: (event) => {
      try {
        set(event.target.value.trim() ? JSON.parse(event.target.value) : undefined);
      } catch {
        form.problems.set([{ pointer: pointer(path), message: "This is not JSON." }]);
      }
    },
  }),
};
