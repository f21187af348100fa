"""graphql-core's own tests of execution, run by way of plans: `make conformance`.

The tests are those of the source distribution of the installed release, which pip downloads into a scratch folder.
What fails is compared with a list of what must: a plan cannot do it, or does it in another way that is as right.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

FILES = ("lists", "nonnull", "union_interface", "variables", "directives")
DIALECT = Path(__file__).with_name("dialect.py")

CONFTEST = """
import importlib.util, sys

sys.path.append({repository!r})
spec = importlib.util.spec_from_file_location("wattgate_dialect", {dialect!r})
dialect = importlib.util.module_from_spec(spec)
sys.modules["wattgate_dialect"] = dialect
spec.loader.exec_module(dialect)
dialect.install()


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line("executions: " + ", ".join(f"{{n}} {{how}}" for how, n in dialect.TALLY.items()))
"""

LISTS = "lists.py::describe_execute_handles_abrupt_completion_in_synchronous_iterables::"
NON_NULL = "nonnull.py::describe_execute_handles_non_nullable_types::"
SEVERAL = NON_NULL + "describe_handles_multiple_errors_for_a_single_response_position::"

AWAITABLE = "wants a result that cannot be awaited, and those of plans always can"
MATTER_OF_TIME = "where an error reaches the root, which others are told beside it is a matter of time"
FIELD_BY_FIELD = "the errors are the same, in the order of the root fields"

EXPECTED = {
    LISTS + "drains_the_iterator_when_next_throws": AWAITABLE,
    LISTS + "drains_the_iterator_when_a_null_bubbles_up_from_a_non_null_item": AWAITABLE,
    LISTS + "handles_iterator_errors_with_later_pending_awaitables": AWAITABLE,
    LISTS + "handles_sync_errors_with_later_pending_awaitables": AWAITABLE,
    SEVERAL + "nullable_and_non_nullable_root_fields_throw_nested_errors": MATTER_OF_TIME,
    SEVERAL + "slower_nullable_after_non_nullable_root_field": MATTER_OF_TIME,
    NON_NULL + "describe_nulls_a_complex_tree_of_nullable_fields_each::throws": FIELD_BY_FIELD,
}
"""Tests that fail, and why they do."""


def fetch(folder: Path) -> Path:
    """The tests of the installed release, and the pytest plugin that they are written for."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    wanted = f"graphql-core=={version('graphql-core')}"
    subprocess.run([*pip, "download", "--no-binary", "graphql-core", "--no-deps", "-d", folder, wanted], check=True)
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "plugins", "pytest-describe"], check=True)
    (archive,) = folder.glob("graphql_core-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def failures(source: Path) -> tuple[set[str], str]:
    """The tests that fail, and what pytest says in the end."""
    told = CONFTEST.format(repository=str(DIALECT.parents[3]), dialect=str(DIALECT))
    (source / "conftest.py").write_text(told)
    (source / "pytest.ini").write_text("[pytest]\nasyncio_mode = strict\nfilterwarnings = ignore\n")
    places = [f"tests/execution/test_{name}.py" for name in FILES]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", *places]
    path = os.pathsep.join((str(source.parent / "plugins"), str(source)))
    done = subprocess.run(
        command, cwd=source, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if " passed" not in done.stdout:
        raise RuntimeError(done.stdout + done.stderr)
    found = re.findall(r"^FAILED tests/execution/test_(\S+)", done.stdout, re.MULTILINE)
    return set(found), done.stdout


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="wattgate-") as scratch:
        failed, told = failures(fetch(Path(scratch)))
    write = sys.stdout.write
    write("".join(f"{line}\n" for line in told.splitlines() if re.match(r"executions:|\d+ (passed|failed)", line)))
    for name in sorted(failed - EXPECTED.keys()):
        write(f"fails, and should not: {name}\n")
    for name in sorted(EXPECTED.keys() - failed):
        write(f"passes, and was not expected to: {name}\n")
    return int(failed != EXPECTED.keys())


if __name__ == "__main__":
    sys.exit(main())
