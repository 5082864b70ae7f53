"""Parsing of processor rankings on the command line."""

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from nodrop.model.summary import Summary
    from nodrop.vm.ranking import Ranking

KEYS = ("name", "source", "scores")


def parse_ranking(text: str, results_dir: str) -> "Ranking":
    """Parse `worst-case`, `like:CHD`, `results`, `results:LABEL`, or a table file. Raises ConfigError."""
    from nodrop.vm.ranking.rankings import WorstCaseRanking

    kind, _, rest = text.partition(":")
    if text == "worst-case":
        return WorstCaseRanking()
    if kind == "like" and rest:
        from nodrop.descriptors import read_chd
        from nodrop.vm.ranking.rankings import FeatureRanking

        return FeatureRanking(read_chd(rest).capabilities.processor)
    if kind == "results":
        return _rank_by_results(results_dir, rest)
    if not Path(text).exists():
        raise ConfigError(
            f"--ranking: unknown ranking {text}; "
            "write worst-case, like:CHD, results, results:LABEL or a file with scores"
        )
    return _read_table(text)


def _read_table(file: str) -> "Ranking":
    """Read a table from a file: name, source, and scores by model."""
    from nodrop.descriptors.read_text import MIB, read_text
    from nodrop.system.yaml_reader import parse_document
    from nodrop.vm.ranking.rankings import BenchmarkRanking

    content = parse_document(read_text(file, "a table of scores", MIB), file).content
    scores = content.get("scores") if isinstance(content, dict) else None
    if not isinstance(scores, dict) or not scores:
        raise ConfigError(f"{file}: no scores; add scores: with lines such as E5-2680: 30.1")
    for key in content:
        if key not in KEYS:
            raise ConfigError(f"{file}: {key}: unknown key; a table has {', '.join(KEYS)}")
    for model, score in scores.items():
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 < score < float("inf"):
            raise ConfigError(f"{file}: scores: {model}: {score!r} is not a number above 0")
    source = content.get("source")
    if not source:
        raise ConfigError(f"{file}: source: missing; add the origin of the scores")
    return BenchmarkRanking(
        str(content.get("name") or Path(file).stem), str(source), {str(key): scores[key] for key in scores}
    )


def _rank_by_results(results_dir: str, label: str) -> "Ranking":
    """Rank by stored results: the median NDR of each processor's runs with a label. Raises ConfigError."""
    from nodrop.cli.result_filters import make_filter
    from nodrop.store.index import open_index
    from nodrop.vm.ranking.rankings import BenchmarkRanking

    with open_index(results_dir, None) as index:
        rows = index.list(make_filter({"label": label or None, "status": "complete"}, limit=None))
    runs = [row.summary for row in rows if row.summary.cpu_model and _find_ndr_pps(row.summary)]
    setups = {(run.path, run.frame_size, run.chain_count, run.flow_count, run.bidirectional) for run in runs}
    if len(setups) > 1:
        raise ConfigError(
            f"--ranking: {len(runs)} results have {len(setups)} different traffic setups, which are not comparable; "
            "select a label, e.g. results:nightly"
        )
    rates_by_model: dict[str, list[float]] = {}
    for run in runs:
        rates_by_model.setdefault(run.cpu_model, []).append(_find_ndr_pps(run))
    if not rates_by_model:
        description = f"of label {label} " if label else ""
        raise ConfigError(f"--ranking: {results_dir} has no result {description}with an NDR; select another ranking")
    return BenchmarkRanking(
        f"NDR of {label or 'our runs'} in pps",
        f"{len(runs)} runs in {results_dir}",
        {model: median(figures) for model, figures in rates_by_model.items()},
    )


def _find_ndr_pps(run: "Summary") -> float:
    """Return the NDR of a run; 0 if it found none or the tester was the limit."""
    return next((each.value for each in run.measures if each.key == "ndr" and each.limit == "sut"), 0.0)
