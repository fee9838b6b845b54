// Conversations as threads: what was said, turn by turn.

import { View, define, each, effect, h, keyed, signal } from "./view.js";
import { load, read } from "./server.js";
import { link } from "./route.js";
import { button, count, dollars, errorCard, icon, pageTitle, skeleton, stateBadge, stateCard, when } from "./parts.js";
import { keys, moveFocus } from "./keys.js";
import { duration, foreign, plural, shortId } from "./text.js";

class Conversations extends View {
  render() {
    pageTitle(this.conversation ? "Conversation" : "Conversations");
    keys({
      j: ["next row", () => moveFocus(this, ".thread-link", 1)],
      k: ["previous row", () => moveFocus(this, ".thread-link", -1)],
    });
    return this.conversation ? this.thread() : this.list();
  }

  list() {
    const rows = signal([]);
    const next = signal(null);
    const status = signal({ state: "loading" });
    const loadPage = async (isMore) => {
      try {
        const page = await read(["conversations"], { before: isMore ? next.peek() : null });
        rows.set(isMore ? joinPages(rows.peek(), page.conversations) : page.conversations);
        next.set(page.next ?? null);
        status.set({ state: "ready" });
      } catch (error) {
        status.set({ state: "failed", error });
      }
    };
    // Every change of a turn may be a new turn of a conversation.
    effect(() => { this.changes(); loadPage(false); });
    return [
      h("div", { class: "view-head" }, h("h1", {}, "Conversations")),
      h("div", { class: "scroll pad", tabindex: "0", role: "region", "aria-label": "Conversations" }, () => {
        if (status().state === "failed") return errorCard(status().error);
        if (status().state === "loading") return skeleton(6);
        if (!rows().length) return stateCard({ icon: "talk", title: "No conversations yet", text: "Turns that follow each other are a conversation.", children: h("code", { class: "code command" }, "haft chat my-agent") });
        return null;
      }, h("ul", { class: "threads", ref: (it) => each(rows, (row) => row.id, threadRow).mount(it) }),
        keyed(() => next() !== null, () => button("Show more", { onclick: () => loadPage(true) }))),
    ];
  }

  thread() {
    const id = this.conversation;
    const page = signal(null);
    const failure = signal(null);
    const refresh = () => read(["turns"], { conversation: id, limit: 200 }).then((value) => page.set(value), (error) => failure.set(error));
    refresh();
    // A turn of this conversation began, or went on.
    effect(() => this.changes().some((row) => row.conversation === id) && refresh());
    return [
      h("div", { class: "view-head" }, h("nav", { class: "crumbs", "aria-label": "Path" }, h("a", { href: link(["conversations"]) }, "Conversations"), " /"), h("h1", { title: id }, () => foreign(page()?.conversationTitle ?? (page()?.next ? null : page()?.turns.at(-1)?.title) ?? shortId(id)))),
      h("div", { class: "scroll pad", tabindex: "0", role: "region", "aria-label": "Thread" },
        () => (failure() ? errorCard(failure()) : page() ? null : skeleton(6)),
        keyed(() => Boolean(page()?.next), () => h("p", { class: "muted" }, "Earlier turns are in the ", h("a", { href: link(["turns"], { conversation: id }) }, "list of turns"), ".")),
        h("ol", { class: "thread-turns", ref: (it) => each(() => (page()?.turns ?? []).toReversed(), (turn) => turn.id, threadTurn).mount(it) })),
    ];
  }
}

/** Conversations of two pages: one that stands on both has the turns of both. */
export function joinPages(before, after) {
  const joined = new Map(before.map((row) => [row.id, row]));
  for (const row of after) {
    const known = joined.get(row.id);
    joined.set(row.id, known ? { ...known, title: row.title, turns: [...known.turns, ...row.turns] } : row);
  }
  return [...joined.values()];
}

function threadRow(row) {
  const { id } = row.peek();
  const last = () => row().turns[0];
  return h("li", { class: "card thread" },
    h("a", { class: "thread-link", href: link(["conversations", id]) }, () => foreign(row().title)),
    h("span", { class: "under" }, () => [last().agent, plural(row().turns.length, "turn"), shortId(id)].filter(Boolean).join(" · "), " · ", keyed(() => last().createdAt, when)),
    h("span", {}, () => stateBadge(last().state)));
}

function threadTurn(turn) {
  const { id, createdAt } = turn.peek();
  const facts = signal(turn.peek().facts ?? null);
  // What a turn did is known when it is read, and again when it has gone on.
  effect(() => {
    if (turn().facts) return facts.set(turn().facts);
    const reading = load((abort) => read(["turns", id, "facts"], null, abort));
    effect(() => reading().value && facts.set(reading().value));
  });
  return h("li", {},
    h("p", { class: "said user" }, icon("person"), () => foreign(facts()?.said ?? turn().title)),
    () => (facts()?.reply ? h("p", { class: "said model" }, icon("message"), foreign(facts().reply)) : null),
    h("p", { class: "facts" }, () => stateBadge(turn().state), () => (facts() ? [
      h("span", {}, plural(facts().steps, "step")), h("span", {}, plural(facts().calls, "call")),
      turn().tokens ? h("span", {}, `${count(turn().tokens)} tokens`) : null, facts().usage.prompt ? dollars(facts().cost) : null,
    ] : null), h("span", {}, () => duration(facts()?.durationMs ?? turn().durationMs)), when(createdAt), h("a", { class: "thread-link", href: link(["turns", id]) }, "Open the turn")));
}

export const conversationsView = define("haft-conversations", Conversations);
