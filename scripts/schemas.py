"""JSON Schemas of configuration, results, descriptors and the engine's protocol (`scripts/schema`)."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.config_pages import DOCS, pages

from nodrop.config.json_schema import make_json_schema
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.schema import Config
from nodrop.descriptors.schema import DIALECT, build_chd_schema, build_vmd_schema
from nodrop.errors import GeneratorError
from nodrop.export.nfvbench import NfvbenchResult
from nodrop.model.result import RunResult
from nodrop.server.rest.app import make_openapi_document
from nodrop.system.native_binaries import find_binary

SCHEMAS = Path(__file__).parents[1] / "schema"


def python_schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas of Python models by file name."""
    return {
        "chd.json": build_chd_schema(),
        "config.json": DIALECT | make_json_schema(Config),
        "nfvbench-config.json": DIALECT | make_json_schema(NfvbenchConfig),
        "openapi.json": make_openapi_document(),
        "result.json": DIALECT | RunResult.model_json_schema(mode="serialization"),
        "nfvbench-result.json": DIALECT | NfvbenchResult.model_json_schema(mode="serialization"),
        "vmd.json": build_vmd_schema(),
    }


def engine_schema() -> dict[str, Any]:
    """Return the schema of the engine's types. Raises GeneratorError if the engine is not built."""
    printed = subprocess.run(
        [find_binary("nodrop-engine", GeneratorError), "--schema"], check=True, capture_output=True
    )
    schema: dict[str, Any] = json.loads(printed.stdout)
    return schema


def text_of(schema: dict[str, Any]) -> str:
    """Return a schema as it is committed."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def stale(schemas: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the names of outdated schema files."""
    for name, schema in schemas.items():
        file = SCHEMAS / name
        if not file.exists() or file.read_text(encoding="utf-8") != text_of(schema):
            yield name


def stale_pages() -> Iterator[Path]:
    """Yield pages with outdated tables."""
    return (file for file, text in pages().items() if file.read_text(encoding="utf-8") != text)


def main(arguments: list[str]) -> int:
    """Write or check all schemas, and return the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: scripts/schema [--check]", file=sys.stderr)
        return 2
    schemas = python_schemas()
    try:
        schemas["engine.json"] = engine_schema()
    except GeneratorError as error:
        print(f"engine.json is not updated: {error}", file=sys.stderr)
        if os.environ.get("CI") or os.environ.get("NODROP_REQUIRE_LAB") == "1":
            return 1
    if arguments:
        outdated = [f"schema/{name}" for name in stale(schemas)]
        outdated += [f"docs/{file.relative_to(DOCS)}" for file in stale_pages()]
        print(f"outdated: {', '.join(outdated)}; run scripts/schema" if outdated else "up to date")
        return 1 if outdated else 0
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")
    SCHEMAS.mkdir(exist_ok=True)
    for name, schema in schemas.items():
        (SCHEMAS / name).write_text(text_of(schema), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
