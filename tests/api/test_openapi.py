"""The OpenAPI document against the server: schemathesis calls every endpoint, with and against the schema."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.api.serving import Server, run_server

from nodrop.server.rest.app import make_openapi_document

BODIES = ("create_run", "plan_run", "validate")
"""Endpoints that take a configuration: they have too many keys for exhaustive tests of each, three times over."""
NOT_OF_BODIES = "positive_data_acceptance"
"""A schema can state the values of a key, but not which keys contradict each other: those are refused with 422."""
NFVBENCH = "start_run"
"""NFVbench's endpoint that takes one; it answers a refusal with 200."""
LONGEST_S = 240


@pytest.mark.lab
@pytest.mark.usefixtures("require_privilege")
def test_the_server_keeps_to_its_openapi_document(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        excluded = [word for name in (*BODIES, NFVBENCH) for word in ("--exclude-operation-id", name)]
        message = schemathesis(server, *excluded, "--phases", "examples,coverage,fuzzing,stateful")
        assert "19 selected / 23 total" in message
        included = [word for name in BODIES for word in ("--include-operation-id", name)]
        message = schemathesis(server, *included, "--phases", "examples,fuzzing", "--exclude-checks", NOT_OF_BODIES)
        assert "3 selected / 23 total" in message
        excluded_checks = ("--exclude-checks", f"{NOT_OF_BODIES},negative_data_rejection")
        schemathesis(server, "--include-operation-id", NFVBENCH, "--phases", "examples,fuzzing", *excluded_checks)
        assert server.get("/health")["status"] == "ok"


def schemathesis(server: Server, *flags: str) -> str:
    """Call the server; return its report. Fail if it departs from its document."""
    command = (sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json")
    bounds = ("--max-examples", "10", "--seed", "7", "--request-timeout", "30", "--no-color")
    directory = server.results_dir.parent
    done = subprocess.run(
        [*command, *bounds, *flags], capture_output=True, text=True, timeout=LONGEST_S, check=False, cwd=directory
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_every_reference_of_the_document_is_there() -> None:
    document = make_openapi_document()
    schemas = document["components"]["schemas"]

    def references(part: object) -> list[str]:
        if isinstance(part, list):
            return [each for inner in part for each in references(inner)]
        if isinstance(part, dict):
            own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
            return own + [each for inner in part.values() for each in references(inner)]
        return []

    used = set(references(document))
    assert {reference.removeprefix("#/components/schemas/") for reference in used} <= set(schemas)
    assert "#/components/schemas/ProblemDetails" in used
