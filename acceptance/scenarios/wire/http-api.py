"""Every response, event and failure of `haft serve` and `haft web` is what the published description of the API says. An
operation of the description that this scenario does not try fails it."""
# needs: python jsonschema

import json
import os
import pathlib
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import oracle
from dialects import Model
from wire import KINDS, PIXEL, haft, write_agent

DESCRIPTION = json.loads((oracle.PUBLISHED / "openapi.json").read_text())
tried = set()


class Server:
    def __init__(self, *command, env=None):
        pipe, env = subprocess.PIPE, {**os.environ, **(env or {})}
        self.process = subprocess.Popen(command, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=env)
        self.url, _, token = self.process.stdout.readline().strip().partition("/#token=")
        self.token = token or self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)

    def open(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method.upper())
        request.add_header("authorization", f"Bearer {self.token}")
        request.add_header("x-haft-action", "1")
        if body is not None:
            request.add_header("content-type", "application/json")
            request.data = json.dumps(body).encode()
        return urllib.request.urlopen(request, timeout=20)

    def ask(self, method, template, body=None, query="", **values):
        """Sends a request and judges the response."""
        try:
            opened = self.open(method, filled(template, values) + query, body)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {template}: {error.code} {error.read()}") from error
        with opened as response:
            tried.add((method, template))
            if response.headers["content-type"] != "application/json":
                return response.read()
            return oracle.check(json.load(response), f"api.{method} {template}")

    def fail(self, status, method, template, body=None, **values):
        """Sends a request that is refused, and judges the failure."""
        try:
            self.open(method, filled(template, values), body).close()
        except urllib.error.HTTPError as error:
            with error:
                assert error.code == status, (method, template, error.code)
                return oracle.check(json.load(error), "api.problem")
        raise AssertionError(f"{method} {template} was not refused")

    def events(self, template, until, query="", **values):
        """Reads the events of a stream and judges them, until one satisfies the condition."""
        found = []
        with self.open("get", filled(template, values) + query) as response:
            tried.add(("get", template))
            assert response.headers["content-type"] == "text/event-stream"
            fields = {}
            for line in response:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name in ("event", "data"):
                    fields[name] = value
                if line != b"\n" or not fields:
                    continue
                data = oracle.check(json.loads(fields["data"]), f"api.get {template} {fields['event']}")
                found.append((fields["event"], data))
                fields = {}
                if until(*found[-1]):
                    break
        return found


def filled(template, values):
    return re.sub(r"\{(\w+)\}", lambda it: urllib.parse.quote(values[it[1]], safe=""), template)


def media_of(value):
    """The names of the media in rows of a timeline."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    names = [medium["id"] for medium in value.get("media", [])] if isinstance(value, dict) else []
    return names + [name for part in parts for name in media_of(part)]


def ended(event, data):
    return event == "end"


agent = str(write_agent("clerk"))
notes = "# One\n\ntext\n\n## Two\n"
with Server("haft", "serve", agent, "--store", "state", "--port", "0") as server:
    server.ask("get", "/")
    server.url = server.url.removesuffix("/v1")
    with server.open("get", "/openapi.json") as response:
        assert set(json.load(response)["paths"]) <= set(DESCRIPTION["paths"])
    server.url += "/v1"
    [row] = server.ask("get", "/agents")
    server.ask("get", "/agents/{agent}", agent=row["name"])
    started = server.ask("post", "/turns", {"agent": row["name"], "message": "Look.", "conversation": "c"})
    turn = started["turn"]
    server.events("/turns/{turn}/events", lambda *_: server.ask("get", "/gates"), turn=turn)
    [gate] = server.ask("get", "/gates")
    proposal = {"arguments": {}}
    server.ask("post", "/gates/{gate}/check", proposal, gate=gate["id"])
    server.ask("post", "/gates/{gate}/decision", {"choice": "approve", "always": {"scope": "turn"}}, gate=gate["id"])
    server.fail(409, "post", "/gates/{gate}/decision", {"choice": "deny"}, gate=gate["id"])
    server.events("/turns/{turn}/events", ended, turn=turn)
    server.ask("get", "/grants")
    detail = server.ask("get", "/turns/{turn}", turn=turn)
    for path in ("facts", "rows", "steps", "calls"):
        server.ask("get", f"/turns/{{turn}}/{path}", turn=turn)
    server.ask("get", "/turns/{turn}/matches", query="?words=text", turn=turn)
    for call in server.ask("get", "/turns/{turn}/calls", turn=turn)["calls"]:
        server.ask("get", "/turns/{turn}/calls/{record}", turn=turn, record=call["record"])
    server.ask("get", "/turns/{turn}/steps/{step}/response", turn=turn, step="1")
    for artifact in server.ask("get", "/turns/{turn}/artifacts", turn=turn):
        of = {"turn": turn, "handle": artifact["handle"]}
        server.ask("get", "/turns/{turn}/artifacts/{handle}", query="?wait=true", **of)
        server.ask("get", "/turns/{turn}/artifacts/{handle}/content", **of)
        server.ask("get", "/turns/{turn}/artifacts/{handle}/lines", query="?start=0&count=3", **of)
        server.events("/turns/{turn}/artifacts/{handle}/search", ended, query="?pattern=row", **of)
        query = {"tool": "artifact_query", "arguments": {"query": "$[1]"}}
        server.ask("post", "/turns/{turn}/artifacts/{handle}/query", query, **of)
    server.ask("get", "/turns")
    server.ask("get", "/conversations")
    server.ask("get", "/counts")
    server.fail(404, "get", "/turns/{turn}", turn="nothing")
    server.fail(404, "get", "/nothing")
    server.fail(422, "post", "/turns", {"agent": row["name"]})
    server.ask("post", "/turns/{turn}/cancel", {}, turn=turn)
    server.token = "wrong"
    server.fail(401, "get", "/turns")

# A turn that nobody continues after its gate was decided.
parked = haft("run", agent, "Look.", "--store", "state", "--gates", "park", "--json", status=4).splitlines()
parked = json.loads(parked[0])["turn"]
haft("deny", json.loads(haft("gates", "--json", "--store", "state"))["gate"], "--store", "state")

# A turn with a model, media and artifacts of other formats, on the page of a person.
modelled = write_agent("modelled", "openai:m")
(modelled / "page.md").write_text("# One\n\ntext\n\n" * 3000)
(modelled / "table.csv").write_text("a,b\n" + "1,2\n" * 9000)
pathlib.Path("pixel.png").write_bytes(PIXEL)
reads = [("read_file", {"path": name}) for name in ("page.md", "table.csv")]
with Model([{"calls": reads}, {"say": "Done."}]) as model:
    options = ["--plain-http", "--store", "state", "--record", "turn.json", "--attach", "pixel.png"]
    haft("run", str(modelled), "Look.", *options, env=model.env)
    web = ["haft", "web", "--no-open", "--plain-http", "--store", "state", "--agent", agent, "--agent", str(modelled)]
    with Server(*web, env=model.env) as server:
        server.url += "/api"
        turn = server.ask("get", "/turns")["turns"][0]["id"]
        server.events("/events", lambda *_: True)
        server.ask("get", "/turns/{turn}", turn=turn)
        server.ask("get", "/turns/{turn}/steps/{step}/request", turn=turn, step="2")
        server.ask("get", "/turns/{turn}/steps/{step}/response", turn=turn, step="1")
        for artifact in server.ask("get", "/turns/{turn}/artifacts", turn=turn):
            of = {"turn": turn, "handle": artifact["handle"]}
            if artifact["kind"] == "markdown":
                server.ask("get", "/turns/{turn}/artifacts/{handle}/outline", **of)
            if artifact["kind"] == "csv":
                server.ask("get", "/turns/{turn}/artifacts/{handle}/rows", **of)
        [pixel] = media_of(server.ask("get", "/turns/{turn}/rows", turn=turn))
        assert server.ask("get", "/turns/{turn}/media/{name}", turn=turn, name=pixel) == PIXEL
        [name, own] = [row["name"] for row in server.ask("get", "/agents")]
        called = server.ask("post", "/agents/{agent}/tools/{tool}/calls", {"arguments": KINDS}, agent=name, tool="kinds")
        server.events("/turns/{turn}/events", ended, turn=called["turn"])
        server.fail(404, "post", "/agents/{agent}/tools/{tool}/calls", {"arguments": {}}, agent=name, tool="nothing")
        recording = pathlib.Path("turn.json").read_text()
        server.ask("post", "/replays", {"agent": own, "recording": recording, "message": "Look."})
        server.ask("post", "/turns/{turn}/fork", {"step": 2}, turn=turn)
        [grant, *_] = server.ask("get", "/grants")
        server.ask("post", "/grants/{grant}/revoke", {}, grant=grant["id"])
        server.ask("post", "/turns/{turn}/resume", {}, turn=parked)
        server.fail(409, "post", "/turns/{turn}/resume", {}, turn=turn)

operations = {(method, path) for path, methods in DESCRIPTION["paths"].items() for method in methods}
assert operations == tried | {("get", "/openapi.json")}, sorted(operations - tried)
