// What Vercel AI sends for the tasks of `haft-bench tokens`. Reads {"tools": […], "messages": […]} as Chat Completions has
// them, takes the part of the model and of the tools, and prints the bodies of all requests as a JSON list.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";

let text = "";
for await (const piece of process.stdin) text += piece;
const task = JSON.parse(text);
const of = (role) => task.messages.filter((it) => it.role === role);
const replies = [...of("assistant"), { role: "assistant", content: "Done." }];
const results = of("tool").map((it) => it.content);
const bodies = [];

const fetch = async (_url, request) => {
  bodies.push(request.body);
  const message = replies.shift();
  const finish_reason = message.tool_calls ? "tool_calls" : "stop";
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const reply = { id: "c", created: 0, model: "model", choices: [{ index: 0, message, finish_reason }], usage };
  return new Response(JSON.stringify(reply), { headers: { "content-type": "application/json" } });
};

const tools = {};
for (const { function: it } of task.tools) {
  const execute = async () => results.shift();
  tools[it.name] = tool({ description: it.description, inputSchema: jsonSchema(it.parameters), execute });
}
const model = createOpenAI({ apiKey: "none", fetch }).chat("model");
const [{ content: system }] = of("system");
const messages = [];
for (const { content } of of("user")) {
  messages.push({ role: "user", content });
  const done = await generateText({ model, system, messages, tools, stopWhen: stepCountIs(100) });
  messages.push(...done.response.messages);
}
process.stdout.write(JSON.stringify(bodies));
