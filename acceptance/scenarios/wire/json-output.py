"""Every command with `--json` prints what `docs/schema` says, and every such command is known here: one that is new has no
schema yet, and fails."""
# needs: python jsonschema

import json
import os
import pathlib
import re
import subprocess

import oracle
from dialects import Model
from wire import KINDS, PIXEL, haft, write_agent


def commands(*path):
    """Every command, by the help of the one above it."""
    text = haft(*path, "--help")
    listed = re.search(r"^Commands:\n((?:  .*\n|\n)+)", text, re.M)
    names = re.findall(r"^  (\S+)", listed[1], re.M) if listed else []
    yield path, text
    for name in names:
        if name != "help":
            yield from commands(*path, name)


checked = set()


def lines(name, *args, **options):
    """Runs a command whose every line is one document."""
    checked.add(tuple(it for it in args if it in WORDS))
    return oracle.check_lines(haft(*args, "--json", **options), f"haft.{name}")


def document(name, *args, **options):
    """Runs a command that prints one document."""
    checked.add(tuple(it for it in args if it in WORDS))
    return oracle.check(json.loads(haft(*args, "--json", **options)), f"haft.{name}")


with_json = {path for path, text in commands() if re.search(r"^\s+--json\b", text, re.M)}
WORDS = {word for path in with_json for word in path}

agent, store = str(write_agent("clerk")), ["--store", "state"]

# Agents.
lines("tools", "tools", agent)
lines("tools", "tools", agent, "--all")
document("check", "check", agent)
broken = write_agent("broken")
(broken / "agent.toml").write_text('nme = "x"\n')
assert not document("check", "check", str(broken), status=1)["ok"]
document("call", "call", agent, "kinds", json.dumps(KINDS))
document("call", "call", agent, "rows")
assert document("call", "call", agent, "fails", status=1)["error"]
assert document("call", "call", agent, "kinds", '{"text": "ABC"}', status=1)["accepted"] is None
lines("test", "test", agent)
# Turns.
parked = lines("event", "run", agent, "Look.", *store, "--gates", "park", status=4)
turn = parked[0]["turn"]
lines("turns", "turns", *store)
[gate] = lines("gates", "gates", *store)
document("show", "show", turn, *store)
haft("approve", gate["gate"], "--always", "turn", *store)
lines("event", "resume", turn, *store)
lines("grants", "grants", *store)
lines("event", "resume", turn, *store)
lines("event", "watch", turn, *store)
shown = document("show", "show", turn, *store)
assert shown["turn"]["status"] == "completed" and shown["records"]
document("show-response", "show", turn, *store, "--response", "1")
artifacts = lines("artifact-info", "artifact", "--turn", turn, *store, "info")
assert artifacts
lines("turns", "turns", *store)
lines("turns", "turns", *store, "--search", "look", "--all-messages")

# Models and their requests.
modelled = str(write_agent("modelled", "openai:m"))
pathlib.Path("pixel.png").write_bytes(PIXEL)
with Model([{"calls": [("read_file", {"path": "rows.json"})]}, {"say": "Done."}]) as model:
    options = ["--plain-http", *store]
    lines("event", "run", modelled, "Look.", "--attach", "pixel.png", *options, env=model.env)
    lines("media-list", "media", "list", "last", *store)
    document("show-request", "show", "last", "--request", "1", *store, env=model.env)
    document("show-response", "show", "last", "--response", "1", *store)
    document("show", "show", "last", *store)
    with open("chat.txt", "w") as out:
        out.write("hello\n")
    with open("chat.txt") as said:
        lines("event", "chat", modelled, *options, env=model.env, stdin=said)
    submitted = document("submit", "submit", modelled, "Later.", *store, "--conversation", "c", env=model.env)
    assert submitted["status"] == "queued"
    worker = ["haft", "worker", "--agents", modelled, "--plain-http", *store, "--json"]
    with subprocess.Popen(worker, env={**os.environ, **model.env}, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if oracle.check(json.loads(line), "haft.event")["event"] == "turnEnd":
                process.terminate()
    checked.add(("worker",))
    lines("models-provider", "models", "openai", env=model.env)
    lines("doctor", "doctor", "--model", "openai:m", *options, env=model.env, status=1)
lines("conversations", "conversations", *store)
exported = haft("conversations", "export", "c", "--format", "json", *store)
oracle.check(json.loads(exported), "haft.conversations-export")
lines("models", "models")

# Servers of an agent.
client = write_agent("client")
server = f'[tools.mcp.desk]\nargv = ["haft", "mcp", "serve", "{pathlib.Path(agent).resolve()}"]\n'
(client / "agent.toml").write_text(f'name = "client"\nsystem = "x"\nscript = "script.yaml"\n{server}')
[desk] = lines("mcp-list", "mcp", "list", str(client), "--trust")
assert desk["tools"]
document("check", "check", str(client), status=None)

# Content.
pathlib.Path("page.md").write_text('# One\n\n[a](https://a.example "A") text\n\n## Two\n')
lines("artifact-grep", "artifact", "grep", "page.md", "text", "--context", "1")

# Tokens of the service.
tokens = ["--tokens", "tokens.json"]
haft("serve", "token", "create", "--tenant", "acme", *tokens)
lines("serve-token-list", "serve", "token", "list", *tokens)

missing = sorted(" ".join(it) for it in with_json - checked)
assert not missing, f"no schema is checked for: {missing}"
