"""Code rules that no linter checks, read from the source."""

import ast
import importlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, get_origin

import graphql
import pytest

from tests.support.gateway_schema import SCHEMA
from wattgate.enums import to_camel_case
from wattgate.operations.catalogue import OPERATIONS, SYSTEM_OPERATIONS
from wattgate.operations.core.operation import Operation
from wattgate.operations.vocabulary import ids
from wattgate.values import terms

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "wattgate"
MODULES = sorted(PACKAGE.rglob("*.py"))
SESSIONS = {
    "operations/core/runner.py",
    "operations/core/row_reader.py",
    "db/identity/credentials.py",
    "db/connections/engine.py",
    "db/key_rotation.py",  # the secrets of all applications
}


TABLES_BY_NAME = {
    "rest_compat/openapi/graphql_twins.py",  # example values of arguments in code samples
}
WIRE_FORMATS = PACKAGE / "rest_compat" / "formats"
"""The declarations of the legacy formats, by route. A route is below them, and does not know its legacy format."""

GLOSSARY = PACKAGE / "values" / "graphql_names.py"
"""The names of GraphQL beside those of Python. One table, because names have to agree with each other."""

OPERATION_NAMES = {
    *(operation.name for operation in OPERATIONS),
    *(to_camel_case(operation.name) for operation in OPERATIONS),
    *(operation.graphql_name for operation in OPERATIONS),
    *(rest.route_key for operation in OPERATIONS for rest in operation.rest),
    *(rest.path for operation in OPERATIONS for rest in operation.rest),
}
DECLARED_NAMES = {
    key
    for kind in SCHEMA.type_map.values()
    for owner, field in getattr(kind, "fields", {}).items()
    for place in ((kind.name, owner), *((owner, name) for name in getattr(field, "args", {})))
    for key in (place[1], ".".join(place))
} | {f"{kind.name}.{value}" for kind in SCHEMA.type_map.values() for value in getattr(kind, "values", {})}


@cache
def nodes(path: Path) -> Sequence[ast.AST]:
    """Return the nodes of the syntax tree of a module, from the outermost to the innermost."""
    return list(ast.walk(ast.parse(path.read_text())))


@pytest.fixture(scope="module", autouse=True)
def trees_of_these_tests() -> Iterator[None]:
    """Forget the syntax trees after the tests of this module, because they are a million objects."""
    yield
    nodes.cache_clear()


def test_import_graphql_is_graphql_core_not_wattgate_graphql() -> None:
    assert graphql.__file__ is not None
    assert not Path(graphql.__file__).is_relative_to(PACKAGE)


def test_every_folder_of_the_package_is_a_package() -> None:
    for path in MODULES:
        assert (path.parent / "__init__.py").exists(), path.parent


def test_only_the_runner_and_the_database_open_sessions_or_commit() -> None:
    for path in MODULES:
        if str(path.relative_to(PACKAGE)) in SESSIONS:
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert node.func.attr not in ("session", "reading", "commit", "rollback"), f"{path}:{node.lineno}"


def test_only_login_accesses_another_application() -> None:
    users = [path for path in MODULES if re.search(r"\.for_application\(", path.read_text())]
    assert [str(path.relative_to(PACKAGE)) for path in users] == ["operations/credentials/login.py"]


def test_only_operations_of_the_system_list_applications() -> None:
    users = [path for path in MODULES if re.search(r"\.(application_ids_with|soonest)\(", path.read_text())]
    assert [str(path.relative_to(PACKAGE)) for path in users] == [
        "operations/accounts/account_purges.py",
        "operations/accounts/audit.py",
        "operations/alerts/alert_rules.py",
        "operations/consent/access_log.py",
        "operations/devices/catch_ups.py",
        "operations/homes/home_members.py",
        "operations/homes/paired_displays.py",
        "operations/messages/deliveries.py",
        "operations/messages/mail.py",
        "operations/personal_data/data_exports.py",
        "operations/personal_data/erasures.py",
        "operations/readings/files/reading_imports.py",
        "operations/readings/retention.py",
        "operations/tenancies/listed_tenancies.py",
        "operations/webhooks/webhooks.py",
    ]


def test_only_commands_and_log_in_pages_read_the_list_of_applications() -> None:
    users = [path for path in MODULES if re.search(r"\.list_applications\(", path.read_text())]
    assert [str(path.relative_to(PACKAGE)) for path in users] == [
        "app/cli/actions/audit.py",
        "app/cli/actions/gateway/demonstration.py",
        "app/cli/actions/home_table.py",
        "app/cli/actions/listing.py",
        "app/cli/checks/directories.py",
        "app/cli/gateway_context.py",
        "app/cli/record_lists.py",
        "app/demo/seed.py",
        "app/homes/home_selection.py",
        "app/homes/setup.py",
        "app/server/pages/login_application.py",
    ]
    access = [path for path in MODULES if "SystemAccess.LIST_APPLICATIONS)" in path.read_text()]
    assert [str(path.relative_to(PACKAGE)) for path in access] == ["operations/core/row_reader.py"]


def test_every_shared_type_of_arguments_and_fields_is_used() -> None:
    sources = [path.read_text() for path in MODULES]
    for module in (terms, ids):
        name = module.__name__.rpartition(".")[2]
        shared = {key for key, value in vars(module).items() if get_origin(value) is Annotated}
        used = {key for text in sources for key in re.findall(rf"\b{name}\.(\w+)", text)}
        assert shared - used == set()


def test_facts_of_declarations_are_in_no_table_by_name() -> None:
    """A fact is at its declaration. The keys of a table by name are names of arguments, fields or enum values."""
    for path in [*(PACKAGE / "operations").rglob("*.py"), *(PACKAGE / "rest_compat" / "openapi").rglob("*.py")]:
        if str(path.relative_to(PACKAGE)) in TABLES_BY_NAME:
            continue
        for node in nodes(path):
            if isinstance(node, ast.Dict):
                keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
                named = [key for key in keys if key in DECLARED_NAMES]
                plain = [value for value in node.values if isinstance(value, ast.Constant | ast.Name)]
                is_table = 2 * min(len(named), len(plain)) > max(len(node.keys), 9)
                assert not is_table, f"{path}:{node.lineno}: declare these facts at {named}"


def test_facts_of_operations_are_in_no_table_by_name() -> None:
    for path in MODULES:
        if path.is_relative_to(WIRE_FORMATS) or path == GLOSSARY:
            continue
        for node in nodes(path):
            if isinstance(node, ast.Dict | ast.Set | ast.Tuple | ast.List):
                members = node.keys if isinstance(node, ast.Dict) else node.elts
                named = [
                    member.value
                    for member in members
                    if isinstance(member, ast.Constant) and member.value in OPERATION_NAMES
                ]
                is_table = len(named) > 3 and 2 * len(named) > len(members)
                assert not is_table, f"{path}:{node.lineno}: declare these facts at {named}"


def test_catalogue_lists_every_declared_operation() -> None:
    names = {operation.name for operation in (*OPERATIONS, *SYSTEM_OPERATIONS)}
    for node in nodes(PACKAGE / "operations" / "catalogue.py"):
        assert not isinstance(node, ast.Attribute) or node.attr not in names, "The modules list their operations."
    listed = {*OPERATIONS, *SYSTEM_OPERATIONS}
    for path in (PACKAGE / "operations").rglob("*.py"):
        module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
        for value in vars(module).values():
            assert not isinstance(value, Operation) or value in listed, f"{path.stem}.{value.name}"


def test_only_settings_read_the_environment() -> None:
    for path in MODULES:
        if path == PACKAGE / "app" / "setting_sources.py":
            continue
        assert "os.environ" not in path.read_text(), path
        assert "getenv" not in path.read_text(), path


def test_folders_have_at_most_fifteen_modules() -> None:
    """A migration is a module, so their folder grows with each."""
    sizes = Counter(path.parent for path in MODULES if path.name != "__init__.py" and path.parent.name != "versions")
    assert {str(folder.relative_to(PACKAGE)): size for folder, size in sizes.items() if size > 15} == {}


def test_few_modules_are_fragments() -> None:
    """A module is one idea, of any length. The numbers leave out the `__init__.py` files."""
    lines = {path: path.read_text().count("\n") for path in MODULES if path.name != "__init__.py"}
    assert len(lines) <= 600
    fragments = [str(path.relative_to(PACKAGE)) for path, number in lines.items() if number <= 40]
    assert len(fragments) <= 45, fragments


def test_functions_are_small() -> None:
    for path in MODULES:
        if "migrations/versions" not in str(path):
            for node in nodes(path):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                    assert node.end_lineno - node.lineno <= 50, f"{path}:{node.lineno} {node.name}"


def test_imports_are_at_module_level_and_unconditional() -> None:
    for path in MODULES:
        assert "TYPE_CHECKING" not in path.read_text(), path
        for function in nodes(path):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    assert not isinstance(node, ast.Import | ast.ImportFrom), f"{path}:{node.lineno}"


def test_newest_version_in_the_changelog_is_the_package_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    first, *released = re.findall(r"^## \[([^\]]+)\]$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first == "Unreleased"
    assert released[0] == version


def test_lock_files_contain_hashes_and_no_urls() -> None:
    node_lock_files = [ROOT / "package-lock.json"]
    node_lock_files += [*ROOT.glob("tests/*/package-lock.json"), *ROOT.glob("bench/*/package-lock.json")]
    for path in (*ROOT.glob("*.lock"), *node_lock_files):
        assert "://" not in path.read_text(), path
    for path in node_lock_files:
        _, *packages = json.loads(path.read_text())["packages"].values()  # the first is the project itself
        for package in packages:
            assert "integrity" in package, path
            assert "resolved" not in package, path
