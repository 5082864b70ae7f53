"""The JSON Schema of request bodies, and the OpenAPI document."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from nodrop.config.json_schema import make_json_schema
from nodrop.config.keys import INTERNAL
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.schema import Config
from nodrop.server.rest.forbidden_keys import FORBIDDEN
from nodrop.server.rest.problem import ProblemDetails, describe_errors

REQUEST_SCHEMA = "RunRequest"
COMPONENTS = "#/components/schemas/"
DESCRIPTION = """\
Configuration of a run: keys of nodrop, NFVbench or both; they override the server's configuration. \
Keys that refer to the server's host are forbidden."""


def make_config_schema() -> dict[str, Any]:
    """Build the schema of a body with its definitions: keys of both forms without the forbidden ones."""
    native, nfvbench = _build_schema(Config, ""), _build_schema(NfvbenchConfig, "Nfvbench")
    properties = {name: schema for name, schema in native["properties"].items() if name not in INTERNAL}
    for name, schema in nfvbench["properties"].items():
        properties[name] = {"anyOf": [properties[name], schema]} if name in properties else schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": REQUEST_SCHEMA,
        "description": DESCRIPTION,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": native["$defs"] | nfvbench["$defs"],
    }


def _build_schema(model: type[Config] | type[NfvbenchConfig], prefix: str) -> dict[str, Any]:
    """Build the schema of one form, with a prefix to the names of its definitions."""
    schema = make_json_schema(model)
    definitions = schema["$defs"]
    for key in FORBIDDEN:
        _remove(schema, definitions, key.split("."))
    renamed: dict[str, Any] = _relocate_references(schema, f"#/$defs/{prefix}")
    return renamed | {
        "$defs": {
            f"{prefix}{name}": _relocate_references(part, f"#/$defs/{prefix}") for name, part in definitions.items()
        }
    }


def describe_request_body() -> dict[str, Any]:
    """Describe the request body for OpenAPI."""
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": REQUEST_OR_NULL, "examples": EXAMPLES}},
        }
    }


REQUEST_OR_NULL = {"anyOf": [{"$ref": f"{COMPONENTS}{REQUEST_SCHEMA}"}, {"type": "null"}]}
"""Null is an empty request, as in NFVbench."""
EXAMPLES = {
    "default": {"summary": "NDR and PDR of the default SUT", "value": {}},
    "fixed rate": {"summary": "Five seconds at a fixed rate", "value": {"rate": "10kpps", "duration": 5}},
}


def make_openapi(app: FastAPI) -> dict[str, Any]:
    """Build the OpenAPI document of the server."""
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, description=app.description, routes=app.routes
    )
    schemas = document["components"]["schemas"]
    request = _relocate_references(make_config_schema(), COMPONENTS)
    schemas.update(request.pop("$defs"))
    request.pop("$schema")
    schemas[REQUEST_SCHEMA] = request
    schemas["ProblemDetails"] = ProblemDetails.model_json_schema(mode="serialization")
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"token": []}]
    for operations in document["paths"].values():
        for operation in operations.values():
            _add_common_errors(operation["responses"])
    return document


def _add_common_errors(responses: dict[str, Any]) -> None:
    """Add the errors of AuthMiddleware, and reprefix FastAPI's form of validation errors."""
    if "422" in responses and "HTTPValidationError" in str(responses["422"]):
        responses["422"] = describe_errors(422)[422]
    for status, response in describe_errors(400, 401, 403).items():
        responses.setdefault(str(status), response)


def _remove(schema: dict[str, Any], definitions: dict[str, Any], path: list[str]) -> None:
    """Remove a key from a schema, following references to its section."""
    properties = schema.get("properties", {})
    first, *rest = path
    if not rest:
        properties.pop(first, None)
    elif first in properties:
        (reference,) = (each["$ref"] for each in properties[first]["anyOf"] if "$ref" in each)
        _remove(definitions[reference.rpartition("/")[2]], definitions, rest)


def _relocate_references(schema: Any, prefix: str) -> Any:
    """Reprefix the prefix of all references to definitions."""
    if isinstance(schema, list):
        return [_relocate_references(part, prefix) for part in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {key: _relocate_references(part, prefix) for key, part in schema.items()}
    if isinstance(moved.get("$ref"), str):
        moved["$ref"] = moved["$ref"].replace("#/$defs/", prefix)
    return moved
