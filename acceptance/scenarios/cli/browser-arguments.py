"""Everybody on a machine can read the arguments of a program. `haft web` starts the browser at a terminal, and the token of
the page is not among its arguments: it is in a file that only the user can read."""

import os
import pty
import stat
import subprocess
import time
from pathlib import Path

Path("programs").mkdir()
Path("programs/xdg-open").write_text('''#!/bin/sh
stat -c %a "$1" >mode.txt
cp "$1" page.html
echo "$@" >arguments.tmp
mv arguments.tmp arguments.txt
''')
for name in ["xdg-open", "open"]:
    path = Path("programs") / name
    if not path.exists():
        path.symlink_to("xdg-open")
Path("programs/xdg-open").chmod(0o755)

leader, terminal = pty.openpty()
env = {**os.environ, "PATH": f"{Path('programs').resolve()}:{os.environ['PATH']}"}
web = subprocess.Popen(["haft", "web"], stdin=terminal, stdout=terminal, stderr=terminal, env=env)
os.close(terminal)
said = b""
while b"#token=" not in said or not said.endswith(b"\n"):
    said += os.read(leader, 4096)
address = next(word for word in said.decode().split() if "#token=" in word)
token = address.split("#token=")[1]
for _ in range(400):
    if Path("arguments.txt").exists():
        break
    time.sleep(0.05)
web.terminate()
web.wait(20)
arguments = Path("arguments.txt").read_text()
assert token not in arguments and "token" not in arguments, arguments
assert Path("mode.txt").read_text().strip() == "600", Path("mode.txt").read_text()
page = Path("page.html").read_text()
assert f"url={address}\"" in page, page
assert stat.S_ISREG(os.stat("page.html").st_mode)
