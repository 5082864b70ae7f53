"""The OpenAPI document against the server: schemathesis calls every endpoint, with and against the schema."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.api.serving import await_true, real_server

from nodrop.api.app import openapi_document

LEFT_OUT = "positive_data_acceptance"
"""A schema can say what a key may be, and not which keys go together: those are refused with 422."""


@pytest.mark.lab
@pytest.mark.usefixtures("require_privilege")
def test_the_server_keeps_to_its_openapi_document(tmp_path: Path) -> None:
    with real_server(tmp_path) as server:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
        flags = ["--max-examples", "4", "--seed", "7", "--request-timeout", "30", "--no-color"]
        done = subprocess.run(
            [*command, *flags, "--exclude-checks", LEFT_OUT, "--phases", "examples,coverage,fuzzing"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout
        assert "19 selected / 19 total" in done.stdout
        assert server.get("/health")["status"] == "ok"
        await_true(lambda: server.process.poll() is None, lambda: "the server ended")


def test_every_reference_of_the_document_is_there() -> None:
    document = openapi_document()
    schemas = document["components"]["schemas"]

    def references(part: object) -> list[str]:
        if isinstance(part, list):
            return [found for inner in part for found in references(inner)]
        if isinstance(part, dict):
            own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
            return own + [found for inner in part.values() for found in references(inner)]
        return []

    used = set(references(document))
    assert {reference.removeprefix("#/components/schemas/") for reference in used} <= set(schemas)
    assert "#/components/schemas/ProblemDetails" in used
