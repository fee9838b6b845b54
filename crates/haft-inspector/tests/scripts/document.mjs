// A small stand-in for the document of a browser: enough for the view helper, and nothing that parses markup.

class StandInNode {
  constructor() { this.parentNode = null; this.childNodes = []; }
  static TEXT_NODE = 3;
  get nextSibling() { const all = this.parentNode?.childNodes ?? []; return all[all.indexOf(this) + 1] ?? null; }
  remove() { if (!this.parentNode) return; const all = this.parentNode.childNodes; all.splice(all.indexOf(this), 1); this.parentNode = null; }
  insert(at, nodes) {
    for (const node of nodes.flatMap((it) => (it instanceof Fragment ? [...it.childNodes] : [typeof it === "string" ? new Text(it) : it]))) {
      node.remove();
      node.parentNode = this;
      this.childNodes.splice(Math.min(at, this.childNodes.length), 0, node);
      at += 1;
    }
  }
  append(...nodes) { for (const node of nodes) this.insert(this.childNodes.length, [node]); }
  before(...nodes) { for (const node of nodes) { const all = this.parentNode.childNodes; if (node instanceof StandInNode && !(node instanceof Fragment)) node.remove(); this.parentNode.insert(all.indexOf(this), [node]); } }
  replaceChildren(...nodes) { for (const node of [...this.childNodes]) node.remove(); this.append(...nodes); }
  get textContent() { return this.childNodes.map((it) => it.textContent).join(""); }
}
class Text extends StandInNode { constructor(data) { super(); this.data = data; this.nodeType = 3; } get textContent() { return this.data; } }
class Comment extends StandInNode { constructor() { super(); this.nodeType = 8; } get textContent() { return ""; } }
class Fragment extends StandInNode {}
class Element extends StandInNode {
  constructor(name) { super(); this.tagName = name; this.attributes = new Map(); this.listeners = new Map(); this.nodeType = 1; this.style = { values: {}, setProperty: (key, value) => { this.style.values[key] = value; } }; }
  setAttribute(name, value) { this.attributes.set(name, String(value)); }
  removeAttribute(name) { this.attributes.delete(name); }
  getAttribute(name) { return this.attributes.get(name) ?? null; }
  addEventListener(name, listener) { this.listeners.set(name, listener); }
}

globalThis.Node = StandInNode;
globalThis.HTMLElement = Element;
globalThis.customElements = { define() {} };
globalThis.document = {
  baseURI: "http://127.0.0.1/",
  body: new Element("body"),
  createElement: (name) => new Element(name),
  createElementNS: (_, name) => new Element(name),
  createComment: () => new Comment(),
  createDocumentFragment: () => new Fragment(),
};
globalThis.location = { hash: "", pathname: "/" };
globalThis.history = { replaceState() {} };
globalThis.addEventListener = () => {};
globalThis.localStorage = { getItem: () => null, setItem() {} };
globalThis.setInterval = () => 0;
globalThis.matchMedia = () => ({ matches: true, addEventListener() {}, removeEventListener() {} });
globalThis.navigator ??= { platform: "Linux" };
globalThis.CSS = { escape: (it) => it };
