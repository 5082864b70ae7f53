"""The reference of the HTTP endpoints, generated from the OpenAPI document (`scripts/docs`)."""

from collections.abc import Iterator
from typing import Any

from nodrop.server.rest.app import make_openapi_document


def make_text() -> str:
    """Return a section with every endpoint: parameters, body and answers."""
    document = make_openapi_document()
    lines = ["", "## Endpoints", ""]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            lines += _describe(f"{method.upper()} {path}", operation)
    return "\n".join(lines)


def _describe(title: str, operation: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about an operation."""
    yield f"### `{title}`\n"
    yield f"{operation['summary']}.\n"
    if description := operation.get("description"):
        yield f"{description}\n"
    yield from _format_parameters(operation.get("parameters", []))
    if body := operation.get("requestBody"):
        yield f"Body: {', '.join(_name_schemas(body))}\n"
    yield "| status | answer |\n|---|---|"
    for status, response in sorted(operation["responses"].items()):
        kinds = ", ".join(_name_schemas(response))
        yield f"| {status} | {response['description']}{f': {kinds}' if kinds else ''} |"
    yield ""


def _format_parameters(parameters: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a table of parameters."""
    if not parameters:
        return
    yield "| parameter | in | meaning |\n|---|---|---|"
    for parameter in parameters:
        required = " (required)" if parameter.get("required") else ""
        meaning = " ".join(parameter.get("description", "").split()).replace("|", "\\|")
        yield f"| `{parameter['name']}`{required} | {parameter['in']} | {meaning} |"
    yield ""


def _name_schemas(part: dict[str, Any]) -> list[str]:
    """Return the media types of a body or an answer, with the names of their schemas."""
    return [_name_schema(media, content.get("schema", {})) for media, content in part.get("content", {}).items()]


def _name_schema(media: str, schema: dict[str, Any]) -> str:
    references = [item["$ref"] for item in (schema, *schema.get("anyOf", [])) if "$ref" in item]
    names = ", ".join(f"`{reference.rsplit('/', 1)[-1]}`" for reference in references)
    return f"`{media}`{f' ({names})' if names else ''}"
