"""Configuration plugins: installed packages whose values override the built-in defaults and yield to the user's."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nodrop.cli import main
from nodrop.config.load import build_config, load_with_sources
from nodrop.errors import ConfigError

EXAMPLE = Path(__file__).parents[2] / "examples" / "config-plugin"

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a module with a plugin as pip would: with a dist-info directory, on the path."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def install(name: str, source: str) -> None:
        module = f"plugin_{name.replace('-', '_')}_{tmp_path.name}"
        (site / f"{module}.py").write_text(source)
        info = site / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[nodrop.config]\n{name} = {module}:defaults\n")

    return install


def test_a_plugin_stands_between_built_in_defaults_and_the_user(install: Install) -> None:
    install("site", "def defaults(): return {'frame_bytes': 128, 'hops': 2, 'chains': 2}")
    config = build_config(["hops: 1"], {"chains": 3})
    assert (config.frame_bytes, config.hops, config.chains) == (128, 1, 3)


def test_a_plugin_goes_before_the_defaults_of_a_command(install: Install) -> None:
    install("site", "defaults = {'frame_bytes': 128}")
    assert build_config([], {}, {"frame_bytes": 256, "hops": 2}).frame_bytes == 128


def test_several_plugins_apply_in_the_order_of_their_names(install: Install) -> None:
    install("b-second", "defaults = {'frame_bytes': 256}")
    install("a-first", "defaults = {'frame_bytes': 128, 'hops': 2}")
    loaded = load_with_sources([], {})
    assert (loaded.config.frame_bytes, loaded.config.hops) == (256, 2)
    assert loaded.keys["hops",].source.name == "plugin a-first"


def test_a_plugin_may_write_nfvbench_s_keys(install: Install) -> None:
    install("site", "defaults = {'service_chain_count': 4, 'openrc_file': '/etc/openrc'}")
    config = build_config([], {})
    assert (config.chains, config.nfvbench["openrc_file"]) == (4, "/etc/openrc")


@pytest.mark.parametrize("off", ["plugins: false", "{plugins: no}"])
def test_plugins_are_left_out_on_request(install: Install, off: str) -> None:
    install("site", "raise RuntimeError('never loaded')")
    assert build_config([off], {}).chains == 1
    assert build_config([], {"plugins": False}).chains == 1


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("raise RuntimeError('no such site')", "RuntimeError: no such site; repair or uninstall it"),
        ("def defaults(): return 1 / 0", "ZeroDivisionError: division by zero; repair or uninstall it"),
        ("def defaults(): raise SystemExit(0)", "SystemExit: 0; repair or uninstall it"),
        ("pass", "AttributeError"),
        ("defaults = 5", "not a mapping (5); repair or uninstall it"),
        ("defaults = {'frame_byte': 64}", "frame_byte: unknown key (64); did you mean frame_bytes?"),
        ("defaults = {'chains': 0}", "chains: should be greater than or equal to 1 (0)"),
        ("defaults = {'chains': object()}", "unsupported type (object); use text, a number, a list or a mapping"),
        ("defaults = {5: 6}", "5: unknown key (6)"),
    ],
)
def test_a_plugin_that_fails_is_named(install: Install, source: str, sentence: str) -> None:
    install("site", source)
    with pytest.raises(ConfigError) as caught:
        build_config([], {})
    assert str(caught.value).startswith("plugin site")
    assert sentence in str(caught.value)


def test_who_set_what_is_shown(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("site", "defaults = {'frame_bytes': 128, 'service_chain_count': 2}")
    assert main(["config", "show", "--changed", "--sources", "--set", "hops=2"]) == 0
    assert capsys.readouterr().out == (
        "frame_bytes: 128  # plugin site\nchains: 2  # plugin site: service_chain_count\nhops: 2  # command line\n"
    )


def test_the_example_works_as_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    shutil.copytree(EXAMPLE / "src", site)
    info = site / "nodrop_site_lab-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: nodrop-site-lab\nVersion: 1.0.0\n")
    declared = (EXAMPLE / "pyproject.toml").read_text()
    assert '[project.entry-points."nodrop.config"]\nsite-lab = "nodrop_site_lab:defaults"\n' in declared
    (info / "entry_points.txt").write_text("[nodrop.config]\nsite-lab = nodrop_site_lab:defaults\n")
    monkeypatch.syspath_prepend(str(site))
    config = build_config(["search: {max_load: 1Mpps}"], {})
    assert (config.profile, config.search.max_load, config.user_info["site"]) == ("standard", 1e6, "example")
    assert config.goals == {"NDR": 0.0, "PDR": 0.001}
    sys.modules.pop("nodrop_site_lab")
