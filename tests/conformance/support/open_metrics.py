"""Reads a page of OpenMetrics 1.0 as strictly as the specification has it: families in one piece,
samples with the suffixes of their type, ascending buckets, exemplars inside of them, an end."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
_LABELS = rf"(?:\{{(?:{_LABEL}(?:,{_LABEL})*)?\}})?"
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|Inf)|NaN"
_SAMPLE = re.compile(
    rf"({_NAME})({_LABELS}) ({_NUMBER})(?: # ({_LABELS}) ({_NUMBER})(?: ({_NUMBER}))?)?"
)
_HELP = re.compile(r'(?:[^"\\\n]|\\["\\n])*')
_SUFFIXES = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
    "unknown": ("",),
}


@dataclass
class Exemplar:
    labels: dict[str, str]
    value: float
    time: float | None


@dataclass
class Sample:
    name: str
    labels: dict[str, str]
    value: float
    exemplar: Exemplar | None = None


@dataclass
class Family:
    type: str
    samples: list[Sample] = field(default_factory=list)


def _labels(text: str) -> dict[str, str]:
    return dict(re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"', text))


def parse(page: str) -> dict[str, Family]:
    """Families by name. An AssertionError names the line that is wrong."""
    lines = page.split("\n")
    assert lines[-2:] == ["# EOF", ""], lines[-3:]
    families: dict[str, Family] = {}
    current = ""
    for line in lines[:-2]:
        if found := re.fullmatch(rf"# TYPE ({_NAME}) (\w+)", line):
            current, kind = found.groups()
            assert current not in families, f"described twice: {line}"
            assert kind in _SUFFIXES, line
            families[current] = Family(kind)
        elif found := re.fullmatch(rf"# HELP ({_NAME}) (.*)", line):
            assert found[1] == current and _HELP.fullmatch(found[2]), line
        else:
            found = _SAMPLE.fullmatch(line)
            assert found, line
            name, labels, value, told, of, at = found.groups()
            family = families[current]
            assert name in [current + suffix for suffix in _SUFFIXES[family.type]], line
            exemplar = None
            if told is not None:
                assert name.endswith(("_bucket", "_total")), line
                exemplar = Exemplar(_labels(told), float(of), float(at) if at else None)
                assert sum(len(key) + len(text) for key, text in exemplar.labels.items()) <= 128
            family.samples.append(Sample(name, _labels(labels), float(value), exemplar))
    for name, family in families.items():
        _check_samples(name, family)
    return families


def _check_samples(name: str, family: Family) -> None:
    series = [(it.name, tuple(sorted(it.labels.items()))) for it in family.samples]
    assert len(set(series)) == len(series), f"{name} has a series twice"
    if family.type != "histogram":
        return
    below: dict[tuple[tuple[str, str], ...], tuple[float, float]] = {}
    for sample in family.samples:
        rest = tuple(sorted((key, text) for key, text in sample.labels.items() if key != "le"))
        if sample.name.endswith("_bucket"):
            bound = float(sample.labels["le"])
            lower, count = below.get(rest, (float("-inf"), 0.0))
            assert bound > lower and sample.value >= count, (name, sample)
            if sample.exemplar:
                assert lower < sample.exemplar.value <= bound, (name, sample)
            below[rest] = (bound, sample.value)
        elif sample.name.endswith("_count"):
            assert below[rest] == (float("inf"), sample.value), (name, sample)
