"""Runs a server until standard input is closed: a server ends with the program that started it, however that ends."""

import os
import signal
import subprocess
import sys

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
try:
    sys.stdin.buffer.read()
finally:
    try:
        os.killpg(server.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    server.wait()
