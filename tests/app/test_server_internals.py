"""The private names of uvicorn and websockets that the gateway uses: all are listed, and the installed versions have
them.
"""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wattgate
from tests.support.server_internals import ATTRIBUTE, INTERNALS, PUBLIC_MODULES, Internals

PACKAGE = Path(wattgate.__file__).parent
LIBRARIES = ("uvicorn", "websockets")


def owner_of(internals: Internals) -> Any:
    module, _, name = internals.owner.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, name) if name else loaded


def attributes_set_by(owner: Any) -> set[str]:
    """Return the names of a class or module, and those that its methods set on `self`."""
    if not inspect.isclass(owner):
        return set(vars(owner))
    found = set(dir(owner))
    for base in owner.__mro__:
        if base.__module__.partition(".")[0] in LIBRARIES:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
            found |= {node.attr for node in names_of_self(tree) if isinstance(node.ctx, ast.Store)}
    return found


def names_of_self(tree: ast.AST) -> Iterator[ast.Attribute]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node


def parameters_of(function: Any) -> str:
    return ", ".join(inspect.signature(function).parameters)


def test_installed_versions_have_each_private_name() -> None:
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


def test_list_has_each_name_that_a_subclass_uses() -> None:
    """Compare with the attributes of `self` in each class of the gateway that extends one of uvicorn."""
    for internals in (entry for entry in INTERNALS if entry.subclass):
        tree = ast.parse((PACKAGE / internals.file).read_text())
        (definition,) = [
            node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == internals.subclass
        ]
        methods = {node.name for node in definition.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        used = methods | {node.attr for node in names_of_self(definition)}
        inherited = used & {name for name in attributes_set_by(owner_of(internals)) if name not in dir(object)}
        listed = {name for name in internals.names if name != "__init__"}
        assert inherited == listed, internals.subclass


def test_list_has_each_import_from_a_private_module() -> None:
    """A name of an undocumented module is listed with the file that imports it."""
    listed = {(entry.file, entry.owner, name) for entry in INTERNALS for name in entry.names}
    imported = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        if not any(library in text for library in LIBRARIES):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LIBRARIES:
                imported |= {(str(path.relative_to(PACKAGE)), node.module or "", name.name) for name in node.names}
    private = {entry for entry in imported if entry[1] not in PUBLIC_MODULES}
    assert private <= listed
    assert {entry for entry in listed if ":" not in entry[1]} == private
