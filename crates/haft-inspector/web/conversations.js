// Conversations as threads: what was said, turn by turn.

import { View, define, effect, h, signal } from "./view.js";
import { load, read } from "./server.js";
import { link } from "./route.js";
import { button, count, dollars, errorCard, icon, loaded, pageTitle, skeleton, stateBadge, stateCard, when } from "./parts.js";
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
        return [
          h("ul", { class: "threads" }, rows().map(({ id, title, turns }) => h("li", { class: "card thread" },
            h("a", { class: "thread-link", href: link(["conversations", id]) }, foreign(title)),
            h("span", { class: "under" }, [turns[0].agent, plural(turns.length, "turn"), shortId(id)].filter(Boolean).join(" · "), " · ", when(turns[0].createdAt)),
            h("span", {}, stateBadge(turns[0].state))))),
          next() ? button("Show more", { onclick: () => loadPage(true) }) : null,
        ];
      }),
    ];
  }

  thread() {
    const id = this.conversation;
    const turns = load((abort) => read(["turns"], { conversation: id, limit: 200 }, abort));
    return [
      h("div", { class: "view-head" }, h("nav", { class: "crumbs", "aria-label": "Path" }, h("a", { href: link(["conversations"]) }, "Conversations"), " /"), h("h1", { title: id }, shortId(id))),
      h("div", { class: "scroll pad", tabindex: "0", role: "region", "aria-label": "Thread" }, loaded(turns, (page) => [
        page.next ? h("p", { class: "muted" }, "Earlier turns are in the ", h("a", { href: link(["turns"], { conversation: id }) }, "list of turns"), ".") : null,
        h("ol", { class: "thread-turns" }, page.turns.toReversed().map((turn) => threadTurn(turn))),
      ])),
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

function threadTurn(turn) {
  const facts = turn.facts ? signal({ state: "ready", value: turn.facts }) : load((abort) => read(["turns", turn.id, "facts"], null, abort));
  return h("li", {},
    h("p", { class: "said user" }, icon("person"), foreign(turn.title)),
    () => (facts().value?.reply ? h("p", { class: "said model" }, icon("message"), foreign(facts().value.reply)) : null),
    h("p", { class: "facts" }, stateBadge(turn.state), () => (facts().value ? [
      h("span", {}, plural(facts().value.steps, "step")), h("span", {}, plural(facts().value.calls, "call")),
      turn.tokens ? h("span", {}, `${count(turn.tokens)} tokens`) : null, facts().value.usage.prompt ? dollars(facts().value.cost) : null,
    ] : null), h("span", {}, duration(turn.durationMs)), when(turn.createdAt), h("a", { class: "thread-link", href: link(["turns", turn.id]) }, "Open the turn")));
}

export const conversationsView = define("haft-conversations", Conversations);
