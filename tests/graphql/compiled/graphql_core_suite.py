"""graphql-core's own execution tests, run against plans: `make conformance`.

The tests come from the source distribution of the installed release, which pip downloads into a temporary folder. The
failures are compared with a list of expected ones: plans cannot pass these tests, or have another result that is
equally correct.
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
    terminalreporter.write_line("executions: " + ", ".join(f"{{n}} {{how}}" for how, n in dialect.COUNTS.items()))
"""

LISTS = "lists.py::describe_execute_handles_abrupt_completion_in_synchronous_iterables::"
NON_NULL = "nonnull.py::describe_execute_handles_non_nullable_types::"
SEVERAL = NON_NULL + "describe_handles_multiple_errors_for_a_single_response_position::"

AWAITABLE = "expects a result that is not awaitable, but results of plans always are"
MATTER_OF_TIME = "the errors that are reported beside one that reaches the root depend on timing"
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
"""The expected failures, each with its reason."""


def fetch(folder: Path) -> Path:
    """Download the tests of the installed release, and the pytest plugin that they need."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    requirement = f"graphql-core=={version('graphql-core')}"
    subprocess.run(
        [*pip, "download", "--no-binary", "graphql-core", "--no-deps", "-d", folder, requirement], check=True
    )
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "plugins", "pytest-describe"], check=True)
    (archive,) = folder.glob("graphql_core-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def failures(source: Path) -> tuple[set[str], str]:
    """Return the failed tests, and the output of pytest."""
    conftest = CONFTEST.format(repository=str(DIALECT.parents[3]), dialect=str(DIALECT))
    (source / "conftest.py").write_text(conftest)
    (source / "pytest.ini").write_text("[pytest]\nasyncio_mode = strict\nfilterwarnings = ignore\n")
    places = [f"tests/execution/test_{name}.py" for name in FILES]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", *places]
    path = os.pathsep.join((str(source.parent / "plugins"), str(source)))
    process = subprocess.run(
        command, cwd=source, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if " passed" not in process.stdout:
        raise RuntimeError(process.stdout + process.stderr)
    failed = re.findall(r"^FAILED tests/execution/test_(\S+)", process.stdout, re.MULTILINE)
    return set(failed), process.stdout


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="wattgate-") as scratch:
        failed, output = failures(fetch(Path(scratch)))
    write = sys.stdout.write
    write("".join(f"{line}\n" for line in output.splitlines() if re.match(r"executions:|\d+ (passed|failed)", line)))
    for name in sorted(failed - EXPECTED.keys()):
        write(f"failed unexpectedly: {name}\n")
    for name in sorted(EXPECTED.keys() - failed):
        write(f"passed unexpectedly: {name}\n")
    return int(failed != EXPECTED.keys())


if __name__ == "__main__":
    sys.exit(main())
