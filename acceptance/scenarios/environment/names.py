"""Directories and files with unusual names: every command works, or says which name it cannot use."""

import os
import subprocess

AGENT = b"""system = "x"
script = "script.yaml"
prompt = "Go."
[tools.files]
"""
SCRIPT = b"""steps:
  - call: { list_files: { path: "." } }
  - expect:
      list_files: { contains: "needle.txt" }
    say: over
"""


def write_agent(name):
    os.makedirs(name)
    for file, content in [(b"agent.toml", AGENT), (b"script.yaml", SCRIPT), (b"a needle.txt", b"one\nneedle\n")]:
        with open(os.path.join(name, file), "wb") as opened:
            opened.write(content)


def haft(*words, status=0):
    done = subprocess.run([b"haft", *words], stdin=subprocess.DEVNULL, stdout=-1, stderr=subprocess.STDOUT)
    output = done.stdout.decode("utf-8")
    assert done.returncode == status, (words, done.returncode, output)
    return output


NAMES = ["ünï cödé 日本", "-dash", "new\nline\tand 'quotes\" $HOME", "{name} %s " + "a" * 200]
for name in NAMES:
    path = b"./" + name.encode()
    write_agent(path)
    assert "a script of 2 steps" in haft(b"check", path), name
    assert "completed: 2 steps, 1 call" in haft(b"run", path), name
    assert "needle" in haft(b"show", b"last"), name
    assert haft(b"artifact", b"grep", os.path.join(path, b"a needle.txt"), b"needle") == "2:needle\n", name
assert "completed" in haft(b"run", b"--", b"-dash")
# One line for each turn.
listed = haft(b"turns").splitlines()
assert len(listed) == len(NAMES) + 1, listed

# Files that the agent lists may have names that are no text.
with open(b"./-dash/caf\xe9.txt", "wb") as opened:
    opened.write(b"x")
assert "completed: 2 steps, 1 call" in haft(b"run", b"./-dash")

# A turn stores the path of its agent as text: a directory that has none is refused with its name and a way out.
write_agent(b"caf\xe9")
for command in [b"check", b"run", b"describe", b"call", b"chat", b"submit"]:
    words = {b"describe": [b"list_files"], b"call": [b"list_files", b"{}"]}.get(command, [])
    output = haft(command, b"caf\xe9", *words, status=1)
    assert "the path of the agent is not valid UTF-8" in output and "caf\ufffd" in output, (command, output)
    assert "rename" in output and "panicked" not in output, (command, output)

# So is an agent in the current directory.
os.chdir(b"caf\xe9")
assert "not valid UTF-8" in haft(b"run", b".", status=1)
