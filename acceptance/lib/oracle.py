"""Judges JSON that leaves the product, by schemas that others have made or that `docs/schema` publishes.

    check(document, "openai.chat.request")        the official package `openai`; also openai.responses.request
    check(document, "anthropic.messages.request") the official package `anthropic`
    check(document, "ollama.chat.request")        the official package `ollama`
    check(document, "mcp.tools/list.result")      the official package `mcp-types`; also mcp.initialize.result and so on
    check(document, "haft.event")                 docs/schema/event.schema.json; also haft.show, haft.turns and so on
    check(document, "api.get /turns/{turn}")      a response in docs/schema/openapi.json; `api.events` is `event_data`

An unknown name, an unknown member, a missing member and a wrong type fail. A JSON Schema within a document, such as the
parameters of a tool, must be one: an object by the metaschema, with `properties` and known keywords only.
"""

import functools
import importlib
import importlib.metadata
import json
import os
import pathlib
import tempfile

import jsonschema
import jsonschema_specifications
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

PUBLISHED = pathlib.Path(os.environ.get("REPOSITORY", ".")) / "docs/schema"
MCP_VERSION = "2025-11-25"
MCP_LATER_VERSION = "2026-07-28"
PROVIDERS = {
    "openai.chat.request": ("openai.types.chat.completion_create_params", "CompletionCreateParams"),
    "openai.responses.request": ("openai.types.responses.response_create_params", "ResponseCreateParams"),
    "anthropic.messages.request": ("anthropic.types.message_create_params", "MessageCreateParams"),
}


OLLAMA = "ollama.chat.request"
EVENT = "openai.responses.event"


class Refused(AssertionError):
    """A document that its schema refuses."""


def check(document, name):
    """Raises `Refused` unless the document is valid. Returns the document."""
    variant = ".streaming" if name in PROVIDERS and document.get("stream") else ""
    error = best_match(validator(name + variant).iter_errors(document))
    if error is not None:
        details = [f"{error.json_path}: {error.message[:600]}"]
        details += [f"    {it.json_path}: {it.message[:300]}" for it in (error.context or [])[:12]]
        raise Refused("\n".join([f"this is no {name}", *details, json.dumps(document)[:3000]]))
    for schema in tool_schemas(document, name):
        check_arguments_schema(schema)
    return document


def check_lines(text, name):
    """Checks every line of a text, of which there must be one at least. Returns the documents."""
    documents = [check(json.loads(line), name) for line in text.splitlines()]
    if not documents:
        raise Refused(f"there is no {name}")
    return documents


def check_arguments_schema(schema):
    """Raises `Refused` unless this is a JSON Schema of the arguments of a tool."""
    check_schema_text(json.dumps(schema))


@functools.cache
def check_schema_text(text):
    # Most requests offer the same tools.
    schema = json.loads(text)
    try:
        Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise Refused(f"no JSON Schema: {error.message}") from error
    if not isinstance(schema, dict) or schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        raise Refused(f"no schema of an object with properties: {json.dumps(schema)[:600]}")
    for part in subschemas(schema):
        unknown = set(part) - keywords()
        if unknown:
            raise Refused(f"unknown keywords of JSON Schema: {sorted(unknown)} in {json.dumps(part)[:600]}")


def tool_schemas(document, name):
    """The schemas of arguments and answers that stand within a document."""
    if name in ("openai.chat.request", OLLAMA):
        for tool in document.get("tools", []):
            yield tool["function"]["parameters"]
    elif name == "openai.responses.request":
        for tool in document.get("tools", []):
            yield tool["parameters"]
    elif name == "anthropic.messages.request":
        for tool in document.get("tools", []):
            yield tool["input_schema"]
    elif name == "mcp.tools/list.result":
        for tool in document["tools"]:
            yield tool["inputSchema"]
            if "outputSchema" in tool:
                yield tool["outputSchema"]
    elif name == "haft.tools":
        yield document["inputSchema"]
    elif name == "api.get /agents/{agent}":
        for tool in document["tools"]:
            yield tool["schema"]


@functools.cache
def keywords():
    """The keywords of JSON Schema 2020-12, by its metaschemas."""
    metaschemas = [Draft202012Validator.META_SCHEMA]
    for uri, resource in jsonschema_specifications.REGISTRY.items():
        if uri.startswith("https://json-schema.org/draft/2020-12/meta/"):
            metaschemas.append(resource.contents)
    return {keyword for metaschema in metaschemas for keyword in metaschema.get("properties", {})}


SCHEMA_MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]
SCHEMA_LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"]
SCHEMA_VALUES = [
    "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "propertyNames",
    "not", "if", "then", "else",
]


def subschemas(schema):
    """A schema and every schema within it, booleans left out."""
    if not isinstance(schema, dict):
        return
    yield schema
    within = [schema[it] for it in SCHEMA_VALUES if it in schema]
    within += [one for it in SCHEMA_LISTS for one in schema.get(it, [])]
    within += [one for it in SCHEMA_MAPS for one in schema.get(it, {}).values()]
    for one in within:
        yield from subschemas(one)


@functools.cache
def validator(name):
    origin, _, rest = name.partition(".")
    if origin == "haft":
        schema = published(f"{rest}.schema.json")
    elif origin == "api":
        schema = api_schema(rest)
    else:
        schema = official(name)
    return Draft202012Validator(schema)


def published(file):
    path = PUBLISHED / file
    if not path.is_file():
        raise Refused(f"{file} is not published in docs/schema")
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    return closed(schema)


def api_schema(name):
    """The schema of a response, `METHOD PATH`, of an event, `METHOD PATH EVENT`, or of a failure, `problem`."""
    document = api_document()
    definitions = document["components"]["schemas"]
    if name == "problem":
        use = {"$ref": "#/components/schemas/ApiProblem"}
    else:
        method, path, *event = name.split(" ")
        operation = document["paths"].get(path, {}).get(method)
        if operation is None:
            raise Refused(f"{name} is not in docs/schema/openapi.json")
        [content] = operation["responses"]["200"]["content"].values()
        use = content["schema"]
        if event:
            use = use["x-data"][event[0]]
    if use is True:
        return {}  # The description says nothing, as of itself.
    whole = {**use, "$defs": definitions}
    return closed(json.loads(json.dumps(whole).replace("#/components/schemas/", "#/$defs/")))


@functools.cache
def api_document():
    return nullable(json.loads((PUBLISHED / "openapi.json").read_text()))


def nullable(schema):
    """A schema of OpenAPI 3.0 as one of JSON Schema."""
    if isinstance(schema, list):
        return [nullable(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {name: nullable(value) for name, value in schema.items()}
    if converted.pop("nullable", False) is True:
        if converted.get("enum") and None not in converted["enum"]:
            converted["enum"] = [*converted["enum"], None]
        return {"anyOf": [converted, {"type": "null"}]}
    return converted


def closed(root):
    """The same schema without members that it does not name.

    A schema is closed where it is used, not where it is defined: the definition of a part that is flattened into another
    one must not refuse the members of the other one.
    """
    def resolve(reference):
        node = root
        for name in reference.removeprefix("#/").split("/"):
            node = node[name]
        return node

    def names_members(schema, seen=()):
        if not isinstance(schema, dict):
            return False
        if "properties" in schema:
            return True
        reference = schema.get("$ref")
        if reference and reference not in seen and names_members(resolve(reference), (*seen, reference)):
            return True
        alternatives = [one for it in ("allOf", "anyOf", "oneOf") for one in schema.get(it, [])]
        return any(names_members(one, seen) for one in alternatives)

    def close_parts(schema):
        if not isinstance(schema, dict):
            return
        for name in ("properties", "patternProperties"):
            for one in schema.get(name, {}).values():
                close_use(one)
        for name in ("items", "additionalProperties", "contains"):
            close_use(schema.get(name))
        for one in schema.get("prefixItems", []):
            close_use(one)
        for one in [one for it in ("allOf", "anyOf", "oneOf") for one in schema.get(it, [])]:
            close_parts(one)

    def close_use(schema):
        if isinstance(schema, dict) and "unevaluatedProperties" not in schema:
            if names_members(schema):
                schema["unevaluatedProperties"] = False
            close_parts(schema)

    for definition in [*root.get("$defs", {}).values()]:
        close_parts(definition)
    close_use(root)
    return root


def official(name):
    """The schema of an official package, which pydantic derives from its types. It is kept beside the packages, because
    reading the types takes seconds."""
    package = {"mcp": "mcp-types"}.get(name.split(".")[0], name.split(".")[0])
    version = importlib.metadata.version(package)
    kept = pathlib.Path(os.environ.get("PACKAGES", tempfile.gettempdir())) / "oracle"
    file = kept / f"{name.replace('/', '_')}-{version}.json"
    if file.is_file():
        return json.loads(file.read_text())
    schema = derive(name)
    try:
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=kept, delete=False) as out:
            json.dump(schema, out)
        os.replace(out.name, file)
    except OSError:
        pass  # It is derived again the next time.
    return schema


def derive(name):
    import pydantic

    schema = pydantic.TypeAdapter(official_type(name)).json_schema()
    if name == EVENT:
        return schema  # What a provider sends may have more members.
    if name.startswith("mcp.") and "properties" in schema:
        # A result of this version may have members that a later version defines.
        for member, later in later_members(name).items():
            schema["properties"].setdefault(member, later)
    if name == OLLAMA:
        [messages, _] = schema["properties"]["messages"]["anyOf"]
        messages["items"] = {"$ref": "#/$defs/Message"}  # Any object may stand for a message there.
        schema["$defs"]["Image"] = {"type": "string"}  # The package writes the object as base64.
        # The server has these members, the package does not yet.
        schema["properties"]["truncate"] = {"type": "boolean"}
        schema["$defs"]["ToolCall"]["properties"]["id"] = {"type": "string"}
        schema["$defs"]["Message"]["properties"]["tool_call_id"] = {"type": "string"}
    for part in subschemas(schema):
        # Types of these packages are not flattened into each other, so that each can be closed where it is defined.
        if "properties" in part and part.get("additionalProperties") in (None, True):
            part["additionalProperties"] = False
        if name.startswith("mcp.") and part.get("title") in ("InputSchema", "OutputSchema"):
            part["additionalProperties"] = True  # `check_arguments_schema` judges it.
        if name == OLLAMA and part.get("title") in ("Parameters", "Property"):
            part["additionalProperties"] = True
    return schema


def ollama_types():
    """The types of the package `ollama` without the rest of it, which needs further packages."""
    from importlib.util import find_spec, module_from_spec, spec_from_file_location

    file = pathlib.Path(find_spec("ollama").origin).parent / "_types.py"
    spec = spec_from_file_location("ollama_types", file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def later_members(name):
    import pydantic
    from mcp_types import methods

    method = name.removeprefix("mcp.").removesuffix(".result")
    later = methods.SERVER_RESULTS.get((method, MCP_LATER_VERSION))
    members = pydantic.TypeAdapter(later).json_schema().get("properties", {}) if later else {}
    return {member: schema for member, schema in members.items() if "$ref" not in json.dumps(schema)}


def write(directory):
    """Writes the schemas of streaming requests and of events, for tests in other languages."""
    for name in [*(f"{it}.streaming" for it in PROVIDERS), EVENT]:
        (pathlib.Path(directory) / f"{name}.schema.json").write_text(json.dumps(derive(name)))


def official_type(name):
    if name == OLLAMA:
        return ollama_types().ChatRequest
    if name == EVENT:
        from openai.types.responses import ResponseStreamEvent
        return ResponseStreamEvent
    provider = name.removesuffix(".streaming")
    if provider in PROVIDERS:
        module, stem = PROVIDERS[provider]
        kind = "NonStreaming" if name == provider else "Streaming"
        return getattr(importlib.import_module(module), stem + kind)
    origin, _, rest = name.partition(".")
    if origin == "mcp":
        from mcp_types import JSONRPCError, JSONRPCResponse, methods
        if rest in ("error", "response"):
            return {"error": JSONRPCError, "response": JSONRPCResponse}[rest]
        method, _, kind = rest.rpartition(".")
        tables = {
            "result": methods.SERVER_RESULTS,
            "request": methods.SERVER_REQUESTS,
            "notification": methods.SERVER_NOTIFICATIONS,
        }
        if (method, MCP_VERSION) in tables.get(kind, {}):
            return tables[kind][method, MCP_VERSION]
    raise Refused(f"no official type is known for {name}")
