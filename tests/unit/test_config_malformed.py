"""Malformed configurations: each gets a message that names a key or a line, and changes nothing."""

from pathlib import Path

import pytest
from tests.malformed import VALID, bodies, texts

from nodrop.cli import main
from nodrop.config.load import NamedMapping, build_config
from nodrop.errors import ConfigError

SEED = 5


@pytest.mark.parametrize("number", range(len(VALID)))
def test_what_malformed_configurations_are_made_of_is_valid(number: int) -> None:
    build_config([NamedMapping("valid", VALID[number])], {})


def test_200_malformed_files_are_refused_with_a_sentence_that_names_a_key_or_a_line(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    for malformed in texts(200, SEED):
        file.write_text(malformed.text)
        with pytest.raises(ConfigError) as caught:
            build_config([file], {})
        message = str(caught.value)
        assert message.startswith(f"{file}: line "), message
        assert malformed.where in message
        assert len(message) < 3000


def test_200_malformed_bodies_are_refused_with_a_sentence_that_names_the_key() -> None:
    for malformed in bodies(200, SEED):
        with pytest.raises(ConfigError) as caught:
            build_config([NamedMapping("request body", malformed.body)], {})
        message = str(caught.value)
        assert message.startswith("request body: "), message
        assert malformed.where in message


def test_a_run_that_is_refused_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "lab.yaml"
    for malformed in texts(20, SEED + 1):
        file.write_text(malformed.text)
        assert main(["run", "--config", str(file)]) == ConfigError.exit_code
        assert malformed.where in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == [file]
