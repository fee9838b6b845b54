"""The oracle refuses what is wrong: an unknown member, a missing one, a wrong type, and a schema of a tool that is none."""
# needs: python openai
# needs: python anthropic
# needs: python ollama
# needs: python mcp_types
# needs: python jsonschema
# needs: python pydantic

import copy

import oracle

TOOL = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NO_TOOLS = [{"keys": {}}, {"type": "object"}, {"type": "object", "properties": {"a": {"nullable": True}}}, {"type": 7}]
TURN = {"turn": "t", "dispatch": "d", "iteration": 0, "sequence": 1, "at": "2026-01-31T12:00:00.000000Z"}


def refused(document, name, change):
    """Checks that a document is refused once it was changed, and not before."""
    oracle.check(document, name)
    changed = copy.deepcopy(document)
    change(changed)
    try:
        oracle.check(changed, name)
    except oracle.Refused:
        return
    raise AssertionError(f"{name} takes {changed}")


text = [{"role": "user", "content": "Hello."}]
function = {"type": "function", "function": {"name": "f", "description": "d", "parameters": TOOL}}
chat = {"model": "m", "messages": text, "stream": True, "tools": [function]}
ollama = {"model": "m", "messages": text, "stream": True, "tools": [function]}
messages = {"model": "m", "max_tokens": 9, "messages": text, "tools": [{"name": "f", "input_schema": TOOL}]}
strict = {"type": "function", "name": "f", "parameters": TOOL, "strict": True}
responses = {"model": "m", "input": "Hello.", "stream": True, "tools": [strict]}
listed = {"tools": [{"name": "f", "inputSchema": TOOL}]}

for name, document, named, schema_of in [
    ("openai.chat.request", chat, "type", lambda it: it["tools"][0]["function"]["parameters"]),
    ("ollama.chat.request", ollama, None, lambda it: it["tools"][0]["function"]["parameters"]),
    ("openai.responses.request", responses, "strict", lambda it: it["tools"][0]["parameters"]),
    ("anthropic.messages.request", messages, "name", lambda it: it["tools"][0]["input_schema"]),
    ("mcp.tools/list.result", listed, "name", lambda it: it["tools"][0]["inputSchema"]),
]:
    refused(document, name, lambda it: it.update(unknown=1))
    if named is not None:
        refused(document, name, lambda it: it["tools"][0].pop(named))
    refused(document, name, lambda it: it.update(tools={}))
    for wrong in NO_TOOLS:
        refused(document, name, lambda it: (schema_of(it).clear(), schema_of(it).update(wrong)))
for name, document in [("openai.chat.request", chat), ("anthropic.messages.request", messages)]:
    refused(document, name, lambda it: it["messages"][0].update(unknown=1))
    refused(document, name, lambda it: it["messages"][0].update(role="nobody"))
refused(listed, "mcp.tools/list.result", lambda it: it["tools"][0].update(annotations={"readOnlyHint": "yes"}))

# Members of a flattened part stand beside those of the whole.
event = {**TURN, "event": "toolExecutionEnd", "toolName": "f", "callId": "0" * 64, "startedAt": TURN["at"], "durationMs": 1.5,
         "isError": False}
refused(event, "haft.event", lambda it: it.update(unknown=1))
refused(event, "haft.event", lambda it: it.pop("isError"))
refused(event, "haft.event", lambda it: it.update(event="toolExecutionStop"))
refused(event, "haft.event", lambda it: it.update(durationMs="1.5"))
refused(event, "haft.event", lambda it: it.update(at="yesterday"))
stats = {**TURN, "event": "generationStats", "promptTokens": 7}
refused(stats, "haft.event", lambda it: it.update(prompt_tokens=7))
ended = {"event": "turnEnded", "turn": "t", "status": "completed", "text": "", "error": None}
refused(ended, "haft.event", lambda it: it.update(status="over"))
refused({"code": "E_X", "message": "m"}, "api.problem", lambda it: it.update(unknown=1))
