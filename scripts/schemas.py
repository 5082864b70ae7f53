"""JSON Schemas of what a user may write, what a run leaves behind, and what the engine speaks (`scripts/schema`)."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.config_pages import DOCS, pages

from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.schema import Config
from nodrop.descriptors.schema import DIALECT, chd_schema, vmd_schema
from nodrop.errors import GeneratorError
from nodrop.export.nfvbench import NfvbenchResult
from nodrop.model.result import RunResult
from nodrop.server.rest.app import openapi_document
from nodrop.system.native_binaries import find_program

SCHEMAS = Path(__file__).parents[1] / "schema"


def python_schemas() -> dict[str, dict[str, Any]]:
    """By file name: configuration and results, in our form and in NFVbench's, descriptors, the server's interface."""
    return {
        "chd.json": chd_schema(),
        "config.json": DIALECT | Config.model_json_schema(mode="validation"),
        "nfvbench-config.json": DIALECT | NfvbenchConfig.model_json_schema(mode="validation"),
        "openapi.json": openapi_document(),
        "result.json": DIALECT | RunResult.model_json_schema(mode="serialization"),
        "nfvbench-result.json": DIALECT | NfvbenchResult.model_json_schema(mode="serialization"),
        "vmd.json": vmd_schema(),
    }


def engine_schema() -> dict[str, Any]:
    """What the engine's own types say. Raises GeneratorError when it is not built."""
    printed = subprocess.run(
        [find_program("nodrop-engine", GeneratorError), "--schema"], check=True, capture_output=True
    )
    schema: dict[str, Any] = json.loads(printed.stdout)
    return schema


def text_of(schema: dict[str, Any]) -> str:
    """A schema as it is committed."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def stale(schemas: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Names of the files that are not what the code says."""
    for name, schema in schemas.items():
        file = SCHEMAS / name
        if not file.exists() or file.read_text(encoding="utf-8") != text_of(schema):
            yield name


def stale_pages() -> Iterator[Path]:
    """Pages whose tables are not what the code says."""
    return (file for file, text in pages().items() if file.read_text(encoding="utf-8") != text)


def main(arguments: list[str]) -> int:
    """Write or check all schemas; gives the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: scripts/schema [--check]", file=sys.stderr)
        return 2
    schemas = python_schemas()
    try:
        schemas["engine.json"] = engine_schema()
    except GeneratorError as error:
        print(f"engine.json is left as it is: {error}", file=sys.stderr)
        if os.environ.get("CI") or os.environ.get("NODROP_REQUIRE_LAB") == "1":
            return 1
    if arguments:
        found = [f"schema/{name}" for name in stale(schemas)]
        found += [f"docs/{file.relative_to(DOCS)}" for file in stale_pages()]
        print(f"not what the code says: {', '.join(found)}; write them anew: scripts/schema" if found else "current")
        return 1 if found else 0
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")
    SCHEMAS.mkdir(exist_ok=True)
    for name, schema in schemas.items():
        (SCHEMAS / name).write_text(text_of(schema), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
