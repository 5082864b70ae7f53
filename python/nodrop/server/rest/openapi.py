"""What a request may say, as JSON Schema, and the OpenAPI document around it."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from nodrop.config.keys import INTERNAL
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.schema import Config
from nodrop.model.base import Value
from nodrop.server.rest.forbidden_keys import REFUSED
from nodrop.server.rest.problem import ProblemDetails, described

ASKED = "RunRequest"
COMPONENTS = "#/components/schemas/"
DESCRIPTION = """\
What a run is to be, over what the server was started with: keys of nodrop's configuration, of NFVbench's, or of both. \
Keys that name something of the server's host are refused."""


def config_schema() -> dict[str, Any]:
    """The schema of a body by itself, with its definitions: keys of both forms, without those that are refused."""
    own, theirs = _schema(Config, ""), _schema(NfvbenchConfig, "Nfvbench")
    properties = {name: _or_null(schema) for name, schema in own["properties"].items() if name not in INTERNAL}
    for name, schema in theirs["properties"].items():
        properties[name] = {"anyOf": [properties[name], schema]} if name in properties else _or_null(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": ASKED,
        "description": DESCRIPTION,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": own["$defs"] | theirs["$defs"],
    }


def _schema(model: type[Value], prefix: str) -> dict[str, Any]:
    """The schema of one form, the names of its definitions with a prefix."""
    schema = model.model_json_schema(mode="validation")
    definitions = schema["$defs"]
    for key in REFUSED:
        _remove(schema, definitions, key.split("."))
    renamed: dict[str, Any] = _relocated(schema, f"#/$defs/{prefix}")
    return renamed | {
        "$defs": {f"{prefix}{name}": _relocated(part, f"#/$defs/{prefix}") for name, part in definitions.items()}
    }


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A section may stand with nothing in it."""
    return {"anyOf": [schema, {"type": "null"}]} if "$ref" in schema else schema


def asked_body() -> dict[str, Any]:
    """A request body of that schema, for the OpenAPI description of an endpoint."""
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": NULL_OR_ASKED, "examples": EXAMPLES}},
        }
    }


NULL_OR_ASKED = {"anyOf": [{"$ref": f"{COMPONENTS}{ASKED}"}, {"type": "null"}]}
"""Null asks for nothing, as with NFVbench."""
EXAMPLES = {
    "default": {"summary": "NDR and PDR of the default SUT", "value": {}},
    "fixed rate": {"summary": "Five seconds at a fixed rate", "value": {"rate": "10kpps", "duration": 5}},
}


def openapi(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of the server."""
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, description=app.description, routes=app.routes
    )
    schemas = document["components"]["schemas"]
    asked = _relocated(config_schema(), COMPONENTS)
    schemas.update(asked.pop("$defs"))
    asked.pop("$schema")
    schemas[ASKED] = asked
    schemas["ProblemDetails"] = ProblemDetails.model_json_schema(mode="serialization")
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"token": []}]
    for operations in document["paths"].values():
        for operation in operations.values():
            _add_refusals(operation["responses"])
    return document


def _add_refusals(responses: dict[str, Any]) -> None:
    """What stands before every endpoint may answer as well; nothing is answered in FastAPI's own form."""
    if "422" in responses and "HTTPValidationError" in str(responses["422"]):
        responses["422"] = described(422)[422]
    for status, response in described(400, 401, 403).items():
        responses.setdefault(str(status), response)


def _remove(schema: dict[str, Any], definitions: dict[str, Any], path: list[str]) -> None:
    """Take a key out of a schema, wherever its section is defined."""
    properties = schema.get("properties", {})
    first, *rest = path
    if not rest:
        properties.pop(first, None)
    elif first in properties:
        _remove(definitions[properties[first]["$ref"].rpartition("/")[2]], definitions, rest)


def _relocated(schema: Any, place: str) -> Any:
    """The same, with references to where its definitions are kept."""
    if isinstance(schema, list):
        return [_relocated(part, place) for part in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {key: _relocated(part, place) for key, part in schema.items()}
    if isinstance(moved.get("$ref"), str):
        moved["$ref"] = moved["$ref"].replace("#/$defs/", place)
    return moved
