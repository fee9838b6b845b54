// Agents: their prompts and tools, what those cost, and a form to try a tool.

import { View, define, h, signal } from "./view.js";
import { act, load, read } from "./server.js";
import { go, link } from "./route.js";
import { codeBox, icon, loaded, pageTitle, stateCard } from "./parts.js";
import { count, foreign, plural } from "./text.js";
import { schemaForm } from "./form.js";

const EFFECTS = { "read-only": "reads only", idempotent: "safe to repeat", once: "has an effect" };

class Agents extends View {
  render() {
    pageTitle(this.agentName ?? "Agents");
    if (!this.agentName) {
      const agents = load((abort) => read(["agents"], null, abort));
      return [
        h("div", { class: "view-head" }, h("h1", {}, "Agents")),
        h("div", { class: "scroll pad", tabindex: "0", role: "region", "aria-label": "Agents" }, loaded(agents, (list) => list.length
          ? h("ul", { class: "cards" }, list.map((agent) => h("li", {}, h("a", { class: "card", href: link(["agents", agent.name]) },
              h("b", {}, foreign(agent.name)), h("span", { class: "muted" }, agent.model ?? ""), agent.description ? h("p", {}, foreign(agent.description)) : null))))
          : stateCard({ icon: "agents", title: "No agents", text: "Name the directories of agents, and their tools appear here.", children: h("code", { class: "code command" }, "haft web --agent my-agent") }))),
      ];
    }
    const agent = load((abort) => read(["agents", this.agentName], null, abort));
    return [
      h("div", { class: "view-head" }, h("nav", { class: "crumbs", "aria-label": "Path" }, h("a", { href: link(["agents"]) }, "Agents"), " /"), h("h1", {}, foreign(this.agentName))),
      h("div", { class: "scroll pad agent", tabindex: "0", role: "region", "aria-label": "Agent" }, loaded(agent, (value) => this.detail(value))),
    ];
  }

  detail(value) {
    return [
      h("p", { class: "facts" }, h("span", { class: "fact" }, value.agent.model ?? "no model"), h("span", { class: "fact" }, h("b", {}, count(value.tools.length)), value.tools.length === 1 ? " tool" : " tools"),
        h("span", { class: "fact", title: "An estimate: what every request of this agent begins with" }, h("b", {}, count(value.estimatedTokens)), " tokens in every request, est.")),
      h("details", {}, h("summary", {}, "System prompt"), codeBox(value.systemPrompt, "System prompt")),
      h("div", { class: "tools" }, value.tools.map((tool) => this.tool(tool))),
    ];
  }

  tool(tool) {
    const isOpen = signal(false);
    const failure = signal("");
    const card = h("details", { class: "card tool-card", ontoggle: () => isOpen.set(card.open) },
      h("summary", {}, icon("tool"), h("code", {}, foreign(tool.name)), h("span", { class: "badge" }, EFFECTS[tool.effect] ?? tool.effect),
        tool.approval ? h("span", { class: "badge warn" }, icon("waiting"), "requires approval") : null, h("span", { class: "grow" }), h("span", { class: "muted number" }, `${plural(tool.estimatedTokens, "token")}, est.`)),
      h("p", {}, foreign(tool.description)),
      () => {
        if (!isOpen()) return null;
        const form = schemaForm(tool.schema, undefined);
        const submit = async (event) => {
          event.preventDefault();
          failure.set("");
          try {
            const { turn } = await act(["agents", this.agentName, "tools", tool.name, "calls"], { arguments: form.value.peek() ?? {} });
            go(["turns", turn]);
          } catch (error) {
            failure.set(error.message);
          }
        };
        return h("div", { class: "tool-body" },
          h("details", {}, h("summary", {}, "Schema, as the model sees it"), codeBox(JSON.stringify(tool.schema, null, 2), `Schema of ${tool.name}`)),
          this.server().readOnly ? null : h("form", { onsubmit: submit, novalidate: true }, h("h3", {}, "Try it"),
            h("p", { class: "muted" }, "The call is the only one of a new turn, with the validation and the approval of a call of the model."),
            form.node, h("p", { class: "problem", role: "alert" }, () => failure()),
            h("div", { class: "buttons" }, h("button", { class: "button primary" }, icon("play"), `Call ${tool.name}`))));
      });
    return card;
  }
}

export const agentsView = define("haft-agents", Agents);
