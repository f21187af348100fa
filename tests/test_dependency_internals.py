"""The private and undocumented names of dependencies that the gateway uses: all are listed, the installed versions have
them, and the versions of their libraries are limited.
"""

import ast
import importlib
import inspect
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import wattgate
from tests.support.dependency_internals import (
    ATTRIBUTE,
    DOCUMENTED_CLASSES,
    DOCUMENTED_MODULES,
    INTERNALS,
    UNDOCUMENTED_NAMES,
    Internals,
)

PACKAGE = Path(wattgate.__file__).parent
PROJECT = PACKAGE.parent / "pyproject.toml"

NAMEDTUPLE_NAMES = frozenset({"_asdict", "_fields", "_make", "_replace"})
"""Documented names with an underscore."""

PRIVATE_SPECIAL_NAMES = re.compile(r"__strawberry_\w+__|__pydantic_\w+__|__sqlmodel_\w+__")
"""Names between two underscores that no documentation describes. Python, SQLAlchemy and msgspec document theirs."""


@cache
def sources() -> dict[str, ast.Module]:
    """Return the syntax trees of the package, by their files."""
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def owner_of(internals: Internals) -> Any:
    module, _, name = internals.owner.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, name) if name else loaded


def library_of(internals: Internals) -> str:
    return internals.owner.partition(":")[0].partition(".")[0]


def is_private(name: str) -> bool:
    if name.startswith("__") and name.endswith("__"):
        return PRIVATE_SPECIAL_NAMES.fullmatch(name) is not None
    return name.startswith("_") and name not in NAMEDTUPLE_NAMES and name != "_"


@cache
def names_of_class(owner: type) -> frozenset[str]:
    """Return the names that a class itself defines, and those that its methods set on `self`."""
    found = set(vars(owner)) | set(getattr(owner, "__annotations__", ()))
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    except (OSError, TypeError):  # a class of an extension in C
        return frozenset(found)
    found |= {node.attr for node in attributes_of(tree, ("self",)) if isinstance(node.ctx, ast.Store)}
    return frozenset(found)


def foreign_bases(owner: type) -> list[type]:
    return [base for base in owner.__mro__ if not base.__module__.startswith("wattgate") and base is not object]


def attributes_set_by(owner: Any) -> set[str]:
    """Return the names of a class or module, and those that the methods of the class set on `self`."""
    if not inspect.isclass(owner):
        return set(vars(owner))
    return set(dir(owner)).union(*map(names_of_class, foreign_bases(owner)))


def attributes_of(tree: ast.AST, variables: Sequence[str]) -> Iterator[ast.Attribute]:
    """Yield the attributes of some variables, and those of `super()` with them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and variable(node.value) in variables:
            yield node


def variable(expression: ast.expr) -> str:
    """Return the name of a variable, `super()` for a call of it, and an empty text for another expression."""
    if isinstance(expression, ast.Name):
        return expression.id
    is_super = isinstance(expression, ast.Call) and not expression.args and variable(expression.func) == "super"
    return "super()" if is_super else ""


DATA_MODEL = {*dir(object), "__slots__", "__annotations__"}
OWN = ("self", "cls", "super()")


def names_used_by(definition: ast.ClassDef) -> set[str]:
    """Return the names that a class defines, and those of its instances that it uses."""
    defined = {node.name for node in definition.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in definition.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {target.id for target in targets if isinstance(target, ast.Name)}
    return defined | {node.attr for node in attributes_of(definition, OWN)}


def parameters_of(function: Any) -> str:
    return ", ".join(inspect.signature(function).parameters)


def listed_names(file: str) -> set[str]:
    return {name for entry in INTERNALS if entry.file == file for name in entry.names}


def test_installed_versions_have_each_listed_name() -> None:
    faults = []
    for internals in INTERNALS:
        owner = owner_of(internals)
        known = attributes_set_by(owner)
        for name, parameters in internals.names.items():
            if name not in known:
                faults.append(f"{internals.owner} has no {name} ({internals.file}: {internals.why})")
            elif parameters != ATTRIBUTE and parameters != (found := parameters_of(getattr(owner, name))):
                faults.append(f"{internals.owner}.{name} takes ({found}), not ({parameters}) ({internals.file})")
    assert faults == []


def test_list_has_each_name_that_a_listed_subclass_uses() -> None:
    for internals in (entry for entry in INTERNALS if entry.subclass):
        definitions = {node.name: node for node in sources()[internals.file].body if isinstance(node, ast.ClassDef)}
        used = names_used_by(definitions[internals.subclass])
        inherited = used & {name for name in attributes_set_by(owner_of(internals)) if name not in DATA_MODEL}
        listed = {name for name in internals.names if name != "__init__"}
        if internals.owner in DOCUMENTED_CLASSES:
            inherited, listed = set(filter(is_private, inherited)), set(filter(is_private, listed))
        assert inherited == listed, internals.subclass


def test_list_has_each_private_name_that_a_class_inherits() -> None:
    """Look for private names of the bases of each class, also for one that the class defines without knowing it."""
    listed = {(entry.file, entry.subclass) for entry in INTERNALS}
    faults = []
    for file, tree in sources().items():
        definitions = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.bases]
        if not definitions or file.startswith("db/migrations/"):
            continue
        module = importlib.import_module("wattgate." + file.removesuffix(".py").replace("/", "."))
        for definition in definitions:
            bases = foreign_bases(getattr(module, definition.name))
            private = {name for name in names_used_by(definition) if is_private(name)}
            inherited = private & set[str]().union(*map(names_of_class, bases))
            if inherited and (file, definition.name) not in listed:
                faults.append(f"{file}: {definition.name} uses {sorted(inherited)}")
    assert faults == []


def private_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the private names of other objects that a module uses, with their lines.

    A name is not of another object if a surrounding class defines it, as in `copied = copy(self)`.
    """
    names_by_node: dict[ast.AST, set[str]] = {}
    for definition in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        own = names_used_by(definition)
        for node in ast.walk(definition):
            names_by_node.setdefault(node, set()).update(own)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if variable(node.value) not in OWN and node.attr not in names_by_node.get(node, ()):
                yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and variable(node.func) in ("getattr", "hasattr", "setattr", "delattr"):
            if isinstance(node.args[1], ast.Constant):
                yield node.lineno, str(node.args[1].value)
        elif isinstance(node, ast.ImportFrom):
            for alias in () if (node.module or "").startswith("wattgate") else node.names:
                yield node.lineno, alias.name


def test_list_has_each_private_name_of_another_object() -> None:
    """Look at expressions like `connection._transaction`, `getattr(connection, "_transaction")` and imports."""
    faults = [
        f"{file}:{line}: {name}"
        for file, tree in sources().items()
        for line, name in private_uses(tree)
        if is_private(name) and name not in listed_names(file)
    ]
    assert faults == []


def test_scan_finds_private_names_of_other_objects() -> None:
    source = """
from library import _hidden, shown

class Own:
    def __init__(self):
        self._mine = 1

    def copy(self, other, library):
        other._mine = library._theirs
        return getattr(library, "__strawberry_definition__")._replace(x=1)

def outside(own):
    return own._mine
"""
    found = {name for _, name in private_uses(ast.parse(source)) if is_private(name)}
    assert found == {"_hidden", "_theirs", "__strawberry_definition__", "_mine"}


def imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names that a module imports from dependencies, with their modules. `import x` has no name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def test_list_has_each_import_that_no_documentation_lists() -> None:
    own = {*sys.stdlib_module_names, "wattgate"}
    undocumented = {
        (file, module, name)
        for file, tree in sources().items()
        for module, name in imported_names(tree)
        if module.partition(".")[0] not in own
        and (module not in DOCUMENTED_MODULES or f"{module}.{name}" in UNDOCUMENTED_NAMES)
    }
    imported = {(file, module, name) for file, tree in sources().items() for module, name in imported_names(tree)}
    listed = {(entry.file, entry.owner, name) for entry in INTERNALS if ":" not in entry.owner for name in entry.names}
    assert undocumented <= listed
    assert listed <= imported, "a listed name is no longer imported"


def test_each_listed_private_name_is_used() -> None:
    """Find entries whose reason has gone."""
    unused = []
    for entry in INTERNALS:
        source = (PACKAGE / entry.file).read_text()
        unused += [f"{entry.file}: {name}" for name in entry.names if name not in source and name != "__init__"]
    assert unused == []


def test_private_names_of_a_library_are_in_one_module() -> None:
    """uvicorn is the exception: several classes of `app/server/edge` extend its protocol, each for one subject."""
    files: dict[str, set[str]] = {}
    for entry in INTERNALS:
        if any(map(is_private, entry.names)) and not (entry.file.startswith("app/server/edge/")):
            files.setdefault(library_of(entry), set()).add(entry.file)
    assert {library: modules for library, modules in files.items() if len(modules) > 1} == {}


def test_versions_of_libraries_with_listed_names_have_an_upper_limit() -> None:
    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = project["optional-dependencies"]
    limited = {
        re.split(r"[\[<>=;]", requirement)[0]
        for requirement in (*project["dependencies"], *extras["mqtt"], *extras["otel"])
        if "<" in requirement
    }
    distributions = packages_distributions()
    libraries = set(map(library_of, INTERNALS))
    needed = {distributions[library][0].lower().replace("_", "-") for library in libraries}
    assert needed - limited == set()
