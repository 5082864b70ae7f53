"""Placement files: the output of `nodrop vm place`, or single placements."""

from pathlib import Path

from nodrop.descriptors.messages import validate_document
from nodrop.descriptors.read_text import read_text
from nodrop.errors import ConfigError
from nodrop.model.placement import Placement, PlacementResult
from nodrop.system.yaml_reader import ParsedFile, parse_document

BYTES_MAX = 2**20


def read_placement(file: Path | str, vm: str = "") -> Placement:
    """Read a placement; `-` is standard input.

    Args:
        file: one placement, a placement result, or `results` with several.
        vm: name of the VM to select; empty: the file must contain one placement only.

    Raises:
        ConfigError: The file cannot be used, or does not contain the placement.
    """
    document = parse_document(read_text(file, "placement", BYTES_MAX), str(file))
    if "sets" in document.content:
        return validate_document(Placement, document)
    results = document.content.get("results", [document.content])
    if not isinstance(results, list) or not any(key in document.content for key in ("results", "placement")):
        raise ConfigError(f"{file}: not a placement; pass a file written by `nodrop vm place`")
    results_read = [_parse_result(document, each) for each in results]
    placed = [each.placement for each in results_read if each.placement and vm in ("", each.vm)]
    if len(placed) != 1:
        names = ", ".join(each.vm for each in results_read if each.placement) or "none"
        requested = f"the placement of {vm!r}" if vm else "exactly one placement"
        raise ConfigError(f"{file}: does not contain {requested}, but: {names}")
    return placed[0]


def _parse_result(document: ParsedFile, content: object) -> PlacementResult:
    if not isinstance(content, dict):
        raise ConfigError(f"{document.name}: not a placement; pass a file written by `nodrop vm place`")
    return validate_document(PlacementResult, document._replace(content=content, lines={}))
