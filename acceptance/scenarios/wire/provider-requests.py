"""Every request to a provider is one by the provider's own types, in every dialect: with tools of all kinds, images, large
results, failures, approvals, earlier turns, typed answers and thoughts. The events and recordings of these turns are ours."""
# needs: python openai
# needs: python anthropic
# needs: python ollama
# needs: python jsonschema
# needs: python pydantic

import json
import pathlib

import oracle
from dialects import DIALECTS, Model
from wire import KINDS, PIXEL, haft, write_agent

REPLIES = [
    {"think": "I look.", "say": "Wait.", "calls": [("kinds", KINDS), ("fails", {}), ("rows", {})]},
    {"calls": [("kinds", {"text": "ABC", "count": 99}), ("nothing", {}), ("pay", {})]},
    {"say": "Done."},
]

pathlib.Path("pixel.png").write_bytes(PIXEL)
pathlib.Path("long.txt").write_text("a line of text\n" * 3000)
pathlib.Path("answer.json").write_text(json.dumps({
    "type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"], "additionalProperties": False,
}))

for dialect, request in DIALECTS.items():
    agent = str(write_agent(dialect, f"{dialect}:m"))
    store = ["--store", f"{dialect}-store"]
    with Model(REPLIES) as model:
        options = ["--plain-http", *store]
        attached = ["--attach", "pixel.png", "--attach", "long.txt"]
        dry = oracle.check(json.loads(haft("run", agent, "Look.", *attached, *options, "--dry-run", "--json", env=model.env)),
                           "haft.show-request")
        oracle.check(dry["body"], request)
        events = haft("run", agent, "Look.", *attached, *options, "--yes", "--json", "--record", "turn.json", env=model.env)
        lines = oracle.check_lines(events, "haft.event")
        assert [it for it in lines if it["event"] == "turnEnd"][0]["status"] == "completed"
        oracle.check(json.loads(pathlib.Path("turn.json").read_text()), "haft.recording")
        assert len(model.requests) == 3, len(model.requests)
    with Model([{"say": '{"total": 7}'}]) as typed:
        events = haft("run", agent, "Sum.", *options, "--json", "--schema", "answer.json", env=typed.env)
        assert oracle.check_lines(events, "haft.event")[-1]["answer"] == {"total": 7}
    with Model([{"say": "Hello."}]) as chat:
        with open("chat.txt", "w") as out:
            out.write("one\ntwo\n")
        with open("chat.txt") as lines:
            oracle.check_lines(haft("chat", agent, *options, "--json", env=chat.env, stdin=lines), "haft.event")
        assert len(chat.requests) == 2, "two messages are two turns of one conversation"
    with Model([{"status": 400}]) as refusing:
        oracle.check_lines(haft("run", agent, "Look.", *options, "--json", env=refusing.env, status=1), "haft.event")
    for asked in [model, typed, chat, refusing]:
        for spoken, body in asked.requests:
            assert spoken == dialect
            oracle.check(body, request)
