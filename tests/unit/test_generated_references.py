"""The references that the documentation site generates from the code."""

import html

import click
import pytest
from scripts import command_pages, endpoint_pages

from nodrop.cli import COMMANDS, nodrop
from nodrop.server.rest.app import make_openapi_document


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return command_pages.make_pages()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_has_every_option_and_subcommand_of_its_command(name: str, pages: dict[str, str]) -> None:
    context = click.Context(nodrop, info_name="nodrop", **nodrop.context_settings)
    command = nodrop.get_command(context, name)
    text = html.unescape(pages[name])
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert all(option in text for option in parameter.opts)
    if isinstance(command, click.Group):
        assert all(f"## nodrop {name} {sub}\n" in text for sub in command.list_commands(context))


def test_options_are_under_their_headings(pages: dict[str, str]) -> None:
    assert pages["run"].count("| option | meaning |") > 3


def test_text_with_marks_of_markdown_is_shown_as_it_is() -> None:
    @click.command(epilog="\b\nnodrop try < file")
    @click.option("--kind", type=click.Choice(["a|b", "c"]), help="One of *two* [kinds].")
    def attempt(kind: str) -> None:
        """Try <something>."""

    text = "\n".join(command_pages.describe(attempt, click.Context(attempt, info_name="try"), "#"))
    (row,) = (line for line in text.splitlines() if "--kind" in line)
    assert row.count("|") == 3
    assert "One of *two* [kinds]." in html.unescape(row)
    assert "Try &lt;something>." in text
    assert "```console\nnodrop try < file\n```" in text


def test_the_reference_of_endpoints_has_each_with_parameters_and_answers() -> None:
    text = endpoint_pages.make_text()
    for path, operations in make_openapi_document()["paths"].items():
        for method, operation in operations.items():
            part = text.partition(f"### `{method.upper()} {path}`\n")[2].partition("\n### ")[0]
            assert operation["summary"] in part
            assert all(f"| `{each['name']}`" in part for each in operation.get("parameters", []))
            assert all(f"| {status} |" in part for status in operation["responses"])
