"""An editor starts `haft mcp serve` from its `mcpServers` configuration: in a directory of its own, in which it may not
write, and with little environment. The model of the editor then makes a call from the schema alone.
"""

import asyncio
import json
import os
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

home = Path.cwd()
agent = home / "projects/desk"
agent.mkdir(parents=True)
(agent / "notes").mkdir()
(agent / "notes/todo.md").write_text("buy milk\nwrite the report\n")
(agent / "agent.toml").write_text("""
system = "You keep notes."

[tools.files]
root = "notes"

[tools.command.count_lines]
description = "Counts the lines of a note."
argv = ["wc", "-l", "{file}"]
folder = "notes"
effect = "read-only"
args.file = { required = true, pattern = "^[a-z-]+\\\\.md$", description = "The name of the note" }
""")
editor = home / "editor"
editor.mkdir(mode=0o555)

configuration = json.loads(
    json.dumps({"mcpServers": {"desk": {"command": "haft", "args": ["mcp", "serve", str(agent)]}}})
)


async def main():
    server = configuration["mcpServers"]["desk"]
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    params = StdioServerParameters(command=server["command"], args=server["args"], env=environment, cwd=editor)
    async with stdio_client(params) as (read, write), ClientSession(read, write) as session:
        started = await session.initialize()
        assert started.server_info.name == "desk", started
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        schema = tools["count_lines"].input_schema
        assert schema["required"] == ["file"], schema
        assert schema["properties"]["file"]["type"] == "string", schema
        counted = await session.call_tool("count_lines", {"file": "todo.md"})
        assert not counted.is_error and counted.content[0].text.startswith("2 todo.md"), counted
        read_note = await session.call_tool("read_file", {"path": "todo.md"})
        assert "write the report" in read_note.content[0].text, read_note
    assert list(editor.iterdir()) == [], "nothing is created where the editor runs"
    assert (agent / ".haft").is_dir(), "the store is beside the agent file"


asyncio.run(main())
