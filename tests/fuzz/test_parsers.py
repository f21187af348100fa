"""Parsers of bytes from clients: seeds and fixed mutations of them break no property, and cause linear work.

`make fuzz` draws more mutations from its seed, and lets atheris search by coverage: see `tests.fuzz.guided`.
"""

import random
from pathlib import Path

import pytest

from tests.fuzz import guided
from tests.fuzz.harness import Harness, check_growth
from tests.fuzz.harnesses import HARNESSES
from tests.support.chance import examples, fuzzing

MUTATIONS = {"arrow": 60, "ndjson": 60, "templates": 20}
"""The number of mutated inputs for harnesses that are slower than the others."""

parsers = pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.name)
each_parser = pytest.mark.every_case("each parser reads another format")


@each_parser
@parsers
def test_no_input_breaks_a_property_of_a_parser(harness: Harness) -> None:
    accepted = set()
    seed = random.getrandbits(32) if fuzzing() else 1  # pytest-randomly sets the state of the generator
    for data in harness.inputs(seed, examples(MUTATIONS.get(harness.name, 200))):
        try:
            accepted.add(harness.check(data))
        except BaseException as error:
            error.add_note(f"{harness.name} {data!r}")
            raise
    assert accepted == {True, False}


@each_parser
@parsers
def test_the_work_of_a_parser_is_linear(harness: Harness, subtests: pytest.Subtests) -> None:
    for name, build in harness.growths.items():
        with subtests.test(name):
            check_growth(harness, build)


def test_search_by_coverage_knows_each_harness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(guided.INSTRUMENTED) == [harness.name for harness in HARNESSES]
    path = tmp_path / "input"
    path.write_bytes(b"at,value\n2026-02-01T00:00:00Z,1\n")
    assert guided.main(["csv", "--input", str(path)]) == 0
    assert capsys.readouterr().out == f"csv: {path} breaks no property; it is accepted\n"
    with pytest.raises(SystemExit):
        guided.main(["unknown"])
    assert "there are no harnesses unknown; use some of http, frames" in capsys.readouterr().err


def test_mutations_are_repeatable() -> None:
    for harness in HARNESSES:
        first, second, other = (list(harness.inputs(seed, 20)) for seed in (1, 1, 2))
        assert first == second != other
