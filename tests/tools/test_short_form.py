"""`make test` runs a short form of the suite that touches everything, and `.ci/run` runs every test."""

import os
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import short_form
from tests.support.short_form import case_of, chosen, function_of, sample

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "tests" / "deploy" / "test_image.py"
CLIENTS = ROOT / "tests" / "rest_compat" / "test_openapi_generator.py"
ENGINES = ("sqlite", "postgresql")
CREDENTIALS = {"account", "account basic", "application", "acting", "oauth", "administrator"}
ENDINGS = {"log_out", "revoke_listed", "change_password", "reset_password", "close_account", "delete_user"}
DISPLAY_ENDINGS = {"revoke", "revoke_by_graphql", "revoke_its_token", "end_itself", "close_its_home"}
INTERFACES = {"graphql", "rest"}
TRANSPORTS = {"post", "get", "socket", "stream", "stream by get"}

MARKERS = (short_form.LONG, short_form.EVERY_CASE)


@dataclass(frozen=True, slots=True)
class Collected:
    """A test of the suite."""

    id: str
    is_short: bool
    """Whether the short form runs it."""

    reasons: dict[str, list[str]]
    """The arguments of its markers `long` and `every_case`, by the name of the marker."""


@pytest.fixture
def suite(request: pytest.FixtureRequest) -> list[Collected]:
    """All tests of the suite, as this run has collected them. A run of a part skips the test."""
    items = request.config.stash[short_form.COLLECTED]
    if set((ROOT / "tests").rglob("test_*.py")) - {item.path for item in items}:
        pytest.skip("this run has not collected every test")
    short = short_form.chosen_of(items)
    return [
        Collected(
            item.nodeid,
            item.nodeid in short,
            {mark.name: [*mark.args] for mark in item.iter_markers() if mark.name in MARKERS},
        )
        for item in items
    ]


def parameters(tests: list[Collected]) -> set[str]:
    """Return the texts of all parameters of these tests."""
    return {part for test in tests for part in case_of(test.id).split("-")}


def test_a_test_on_both_databases_runs_on_one_of_them() -> None:
    ids = [f"tests/test_a.py::test_{number}[{engine}]" for number in range(200) for engine in ENGINES]
    kept = chosen(ids)
    engines = Counter(test_id.partition("[")[2].removesuffix("]") for test_id in kept)
    assert len({function_of(test_id) for test_id in kept}) == len(kept) == 200
    assert min(engines[engine] for engine in ENGINES) > 70


def test_each_case_on_both_databases_chooses_its_own() -> None:
    ids = [f"tests/test_a.py::test_b[{engine}-case{number}]" for number in range(400) for engine in ENGINES]
    kept = chosen(ids)
    assert len({case_of(test_id) for test_id in kept}) == len(kept) == 50
    assert {test_id.partition("[")[2].partition("-")[0] for test_id in kept} == set(ENGINES)


@pytest.mark.parametrize(("cases", "kept"), [(1, 1), (2, 1), (8, 1), (9, 2), (16, 2), (17, 3), (800, 100)])
def test_a_test_with_many_cases_runs_an_eighth_of_them(cases: int, kept: int) -> None:
    ids = [f"tests/test_a.py::test_b[{number}]" for number in range(cases)]
    assert len(chosen(ids)) == kept
    assert chosen(ids, whole=["tests/test_a.py::test_b"]) == set(ids)


def test_the_choice_depends_on_the_ids_only() -> None:
    ids = [f"tests/test_a.py::test_b[{engine}-{number}]" for number in range(40) for engine in ENGINES]
    assert chosen(ids) == chosen(reversed(ids))
    assert sorted(chosen(ids))[0] == "tests/test_a.py::test_b[postgresql-4]"


def test_a_test_that_is_named_alone_runs() -> None:
    assert chosen(["tests/test_a.py::test_b[postgresql-3]"]) == {"tests/test_a.py::test_b[postgresql-3]"}


@pytest.mark.parametrize(("cases", "kept"), [(1, 1), (8, 1), (9, 2), (800, 100)])
def test_a_walk_takes_an_eighth_of_its_cases_in_their_order(
    cases: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(short_form.SHORT, raising=False)
    assert sample(range(cases)) == list(range(cases))
    monkeypatch.setenv(short_form.SHORT, "1")
    taken = sample(range(cases))
    assert len(taken) == kept
    assert taken == sorted(taken) == sorted(sample(reversed(range(cases))))


def test_a_walk_without_a_case_is_an_error() -> None:
    with pytest.raises(ValueError, match="no case"):
        sample([])


def planned(target: str, **variables: str) -> str:
    """Return the commands that a target of make would run."""
    assignments = [f"{name}={value}" for name, value in variables.items()]
    command = ["make", "--dry-run", target, *assignments]
    outer = ("TESTS", "MAKE", "MFLAGS")  # of the make that may run this test
    environment = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def test_both_forms_together_run_every_test(suite: list[Collected]) -> None:
    by_function = defaultdict(list)
    for test in suite:
        by_function[function_of(test.id)].append(test)
    assert len({test.id for test in suite}) == len(suite)
    for function, tests in by_function.items():
        unmarked = [test for test in tests if "long" not in test.reasons]
        assert any(test.is_short for test in unmarked) == bool(unmarked), function
        assert not any(test.is_short for test in tests if "long" in test.reasons), function
    assert all(len(reasons) == 1 and reasons[0] for test in suite for reasons in test.reasons.values())


def test_the_short_form_touches_everything(suite: list[Collected]) -> None:
    short = [test for test in suite if test.is_short]
    engines = Counter(engine for test in short for engine in ENGINES if short_form.engine_of(test.id) == engine)
    assert min(engines.values()) > 500
    assert {*INTERFACES, *TRANSPORTS, *CREDENTIALS, *ENDINGS, *DISPLAY_ENDINGS} - parameters(short) == set()
    pages = {function_of(test.id).partition("::")[0] for test in suite if test.id.startswith("tests/browser/")}
    assert pages - {function_of(test.id).partition("::")[0] for test in short} == set()
    folders = {str(Path(function_of(test.id).partition("::")[0]).parent) for test in suite}
    assert folders - {str(Path(function_of(test.id).partition("::")[0]).parent) for test in short} == set()


def test_make_test_runs_the_short_form_or_every_test_of_a_part() -> None:
    assert f"{short_form.SHORT}=1 " in planned("test")
    assert f"{short_form.SHORT}= " in planned("test", TESTS="tests/energy")


def test_ci_runs_every_test() -> None:
    for target in ("test-all", "coverage"):
        assert f"{short_form.SHORT}= " in planned(target)
    commands = (ROOT / ".ci" / "run").read_text()
    assert "make test-all REPORT=" in commands
    assert 'stage "every test" run_tests' in commands.splitlines()


def test_the_image_has_a_stage_of_its_own_that_runs_what_test_all_leaves_out() -> None:
    marked = {path for path in (ROOT / "tests").rglob("test_*.py") if "@pytest.mark.image\n" in path.read_text()}
    assert marked == {IMAGE}
    assert IMAGE.read_text().count("@pytest.mark.image\n") == IMAGE.read_text().count("def test_") == 1
    assert '-m "not image and not clients"' in planned("test-all")
    assert '-m "not clients"' in planned("test-all", TESTS="tests/deploy")
    assert planned("image").rstrip().endswith(f"-m pytest -m image {IMAGE.relative_to(ROOT)}")
    # Without the requirement, a stage whose program is missing would pass.
    _, required, stages = (ROOT / ".ci" / "run").read_text().partition("WATTGATE_TEST_PROGRAMS=required\n")
    assert required
    (stage,) = [line for line in stages.splitlines() if line.startswith('stage "image, fresh machine" make ')]
    assert stage.endswith(" image fresh")


def test_a_workflow_runs_the_clients_that_test_all_leaves_out() -> None:
    marked = {path for path in (ROOT / "tests").rglob("test_*.py") if "    pytest.mark.clients,\n" in path.read_text()}
    assert marked == {CLIENTS}
    assert planned("clients").rstrip().endswith(f"-m pytest -m clients {CLIENTS.relative_to(ROOT)}")
    assert "target: clients" in (ROOT / ".github" / "workflows" / "long.yml").read_text()
