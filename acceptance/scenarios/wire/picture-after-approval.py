"""A turn in which `read_file` has read a picture can be continued by another process, and its requests can be shown."""

from dialects import Model
from wire import PIXEL, haft, write_agent

agent = write_agent("clerk", "openai:m")
(agent / "pixel.png").write_bytes(PIXEL)
with Model([{"calls": [("read_file", {"path": "pixel.png"})]}, {"calls": [("pay", {})]}, {"say": "Done."}]) as model:
    options = ["--plain-http", "--store", "state"]
    haft("run", str(agent), "Look.", *options, "--gates", "park", env=model.env, status=4)
    haft("resume", "last", *options, "--yes", env=model.env)
    haft("show", "last", "--request", "2", "--store", "state", env=model.env)
    assert "pixel.png" in haft("media", "list", "last", "--store", "state")
