"""Agents and processes for the scenarios that judge JSON."""

import base64
import os
import pathlib
import subprocess

# A tool with arguments of every kind, one that fails, one with a large result, and packs with nested arguments.
AGENT = """\
name = "clerk"
system = "You are a clerk."
instructions = ["Be brief."]
{model}

[tools.command.kinds]
description = "Takes arguments of every kind."
argv = ["printf", "%s ", "{{text}}", "{{count}}", "{{share}}", "{{flag}}", "{{unit}}"]
effect = "read-only"
args.text = {{ required = true, description = "A text", pattern = "^[a-z]+$", max = 20 }}
args.count = {{ type = "integer", required = true, min = 1, max = 9 }}
args.share = {{ type = "number", default = 0.5 }}
args.flag = {{ type = "boolean", default = true }}
args.unit = {{ values = ["kg", "lb"], default = "kg" }}
args.names = {{ type = "list" }}

[tools.command.fails]
description = "Fails."
argv = ["sh", "-c", "echo broken >&2; exit 3"]

[tools.command.rows]
description = "Lists rows. Returns JSON."
argv = ["cat", "rows.json"]
effect = "read-only"
artifact = "json"

[tools.command.pay]
description = "Pays."
argv = ["printf", "paid"]
effect = "once"
approval = "Pay?"

[tools.files]
root = "."
write = true

[tools.data]
[tools.time]
[tools.memory]
"""

SCRIPT = """\
steps:
  - think: I look.
    say: Wait.
    call: {kinds: {text: abc, count: 2, names: [x, y]}, fails: {}, rows: {}}
  - call: {pay: {}}
  - call: {artifact_query: {callId: "{{ handle.rows }}", query: "$[0]"}}
  - say: Done.
"""

KINDS = {"text": "abc", "count": 2, "names": ["x", "y"]}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def write_agent(directory, model=None):
    """Writes the agent, which runs its script unless a model is named."""
    directory = pathlib.Path(directory)
    directory.mkdir()
    choice = f'model = "{model}"' if model else 'script = "script.yaml"'
    (directory / "agent.toml").write_text(AGENT.format(model=choice))
    (directory / "script.yaml").write_text(SCRIPT)
    rows = ",\n".join(f'{{"id": {number}, "name": "row {number}"}}' for number in range(3000))
    (directory / "rows.json").write_text(f"[{rows}]\n")
    return directory


def haft(*args, status=0, env=None, **options):
    """Runs `haft` and returns what it prints. Its exit status must be the given one; `None` for any."""
    done = subprocess.run(
        ["haft", *args], env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=30,
        stdin=options.pop("stdin", subprocess.DEVNULL), **options,
    )
    assert status in (None, done.returncode), f"{args}: exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr}"
    return done.stdout
