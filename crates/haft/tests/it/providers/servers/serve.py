# Serves a model on this machine until standard input ends.
import sys
from xllamacpp import CommonParams, Server

params = CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 2048
server = Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
