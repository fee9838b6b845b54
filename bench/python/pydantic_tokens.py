"""What PydanticAI sends for the tasks of `haft-bench tokens`.

Reads `{"tools": […], "messages": […]}` as Chat Completions has them, takes the part of the model and of the tools, and
prints the bodies of all requests as a JSON list. The argument `limits` adds ToolOutputLimits of pydantic-ai-harness.
"""

import json
import sys

import httpx
from pydantic_ai import Agent, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits


def main():
    task = json.load(sys.stdin)
    messages = task["messages"]
    replies = [it for it in messages if it["role"] == "assistant"]
    replies.append({"role": "assistant", "content": "Done."})
    results = [it["content"] for it in messages if it["role"] == "tool"]
    bodies = []

    def answer(request):
        bodies.append(request.content.decode())
        message = replies.pop(0)
        ends = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": ends}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "c", "object": "chat.completion", "created": 0, "model": "model", "choices": [choice], "usage": usage}
        return httpx.Response(200, json=reply)

    def tool(definition):
        function = definition["function"]
        return Tool.from_schema(
            function=lambda **_: results.pop(0),
            name=function["name"],
            description=function["description"],
            json_schema=function["parameters"],
            sequential=True,
        )

    capabilities = []
    if sys.argv[1:] == ["limits"]:
        from pydantic_ai_harness.tool_output_limits import ToolOutputLimits

        capabilities.append(ToolOutputLimits())
    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    model = OpenAIChatModel("model", provider=OpenAIProvider(api_key="none", http_client=client))
    agent = Agent(
        model,
        instructions=messages[0]["content"],
        tools=[tool(it) for it in task["tools"]],
        capabilities=capabilities,
    )
    history = []
    for said in [it["content"] for it in messages if it["role"] == "user"]:
        run = agent.run_sync(said, message_history=history, usage_limits=UsageLimits(request_limit=None))
        history = run.all_messages()
    json.dump(bodies, sys.stdout)


main()
