"""Processor models by their various names: equality and generation."""

import re
from typing import NamedTuple

VENDORS = {
    "genuineintel": "intel",
    "authenticamd": "amd",
    "advanced micro devices": "amd",
    "ampere computing": "ampere",
    "arm limited": "arm",
}
_NOISE = re.compile(r"\((?:r|tm)\)|[®™]", re.IGNORECASE)
_CLOCK = re.compile(r"@\s*([\d.]+)\s*([GM])Hz", re.IGNORECASE)
_STEPPED = re.compile(r"v\d")


class ProcessorGeneration(NamedTuple):
    """An architecture of a product line, with its order."""

    line: str
    order: int
    name: str


def is_same_vendor(a: str, b: str) -> bool:
    """Return whether two names refer to the same vendor: `Intel`, `GenuineIntel`."""
    return _normalize_vendor(a) == _normalize_vendor(b)


def is_same_model(requested: str, actual: str) -> bool:
    """Return whether a model matches: `E5-2680` matches `Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz`, but no v2."""
    requested_words, actual_words = _split_model_words(requested), _split_model_words(actual)
    for begin in range(len(actual_words) - len(requested_words) + 1):
        end = begin + len(requested_words)
        if requested_words == actual_words[begin:end]:
            return end == len(actual_words) or not _STEPPED.fullmatch(actual_words[end])
    return False


def parse_clock(model: str) -> float | None:
    """Return the MHz at the end of a model name, as in Intel's."""
    match = _CLOCK.search(model)
    return float(match[1]) * (1000 if match[2] in "Gg" else 1) if match else None


def find_generation(model: str) -> ProcessorGeneration | None:
    """Return the architecture of a model; None: not in the table."""
    plain = " ".join(_split_model_words(model))
    for line, pattern, order, name in GENERATIONS:
        if re.search(pattern, plain):
            return ProcessorGeneration(line, order, name)
    return None


def _normalize_vendor(name: str) -> str:
    plain = name.strip().casefold().removesuffix(" corporation").removesuffix(", inc.")
    return VENDORS.get(plain, plain)


def _split_model_words(model: str) -> list[str]:
    plain = _CLOCK.sub(" ", _NOISE.sub(" ", model)).replace("@", " ").casefold()
    return [word for word in plain.split() if word not in ("cpu", "processor")]


GENERATIONS: tuple[tuple[str, str, int, str], ...] = (
    # Server processors by the numbers of their makers, and the names that hypervisors show to guests.
    ("xeon", r"\be[57]-\d{4}l?w? v4|\bd-15\d\d|\bbroadwell", 4, "Broadwell"),
    ("xeon", r"\be[57]-\d{4}l?w? v3|\bhaswell", 3, "Haswell"),
    ("xeon", r"\be[57]-\d{4}l?w? v2|\bivybridge", 2, "Ivy Bridge"),
    ("xeon", r"\be5-\d{4}l?w?\b|\bsandybridge", 1, "Sandy Bridge"),
    ("xeon", r"\bxeon [xelw]5[56]\d\d|\bnehalem|\bwestmere", 0, "Nehalem, Westmere"),
    ("xeon", r"\b(?:bronze|silver|gold|platinum) [3-9]1\d\d|\bd-21\d\d|\bskylake-server|\(skylake", 5, "Skylake"),
    ("xeon", r"\b(?:bronze|silver|gold|platinum) [3-9]2\d\d|\bcascade-?lake", 6, "Cascade Lake"),
    ("xeon", r"\b(?:silver|gold|platinum) [3-9]3\d\d|\bd-[12]7\d\d|\bice-?lake-server|\(icelake", 7, "Ice Lake"),
    ("xeon", r"\b(?:bronze|silver|gold|platinum) [3-9]4\d\d|\bsapphire ?rapids", 8, "Sapphire Rapids"),
    ("xeon", r"\b(?:bronze|silver|gold|platinum) [3-9]5\d\d|\bemerald ?rapids", 9, "Emerald Rapids"),
    ("xeon", r"\bxeon 6\d{3}p\b|\bgranite ?rapids", 10, "Granite Rapids"),
    ("epyc", r"\bepyc 7\d\d1|\bepyc-v\d|\bnaples", 1, "Zen"),
    ("epyc", r"\bepyc 7[\dfh]\d2|\bepyc-rome", 2, "Zen 2"),
    ("epyc", r"\bepyc 7[\dfh]\d3|\bepyc-milan", 3, "Zen 3"),
    ("epyc", r"\bepyc [89]\d\d4|\bepyc-genoa", 4, "Zen 4"),
    ("epyc", r"\bepyc 9\d\d5|\bepyc-turin", 5, "Zen 5"),
    ("neoverse-n", r"\bneoverse-?n1|\baltra", 1, "Neoverse N1"),
    ("neoverse-n", r"\bneoverse-?n2", 2, "Neoverse N2"),
    ("neoverse-n", r"\bneoverse-?n3", 3, "Neoverse N3"),
    ("neoverse-v", r"\bneoverse-?v1", 1, "Neoverse V1"),
    ("neoverse-v", r"\bneoverse-?v2", 2, "Neoverse V2"),
)
"""Line, pattern, order within the line, name. Sources: the numbering schemes published by Intel and AMD, the model
names of QEMU's `-cpu help`, and Arm's names in the kernel's MIDR table."""
