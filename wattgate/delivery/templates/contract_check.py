"""Check of the names in a template against the contract of its alert type, without rendering."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wattgate.delivery.templates.language.contract import Contract
from wattgate.delivery.templates.language.contract_values import ANY_ITEM, DeclaredNode, declared_tree
from wattgate.delivery.templates.language.diagnostics import (
    MAX_SUGGESTIONS,
    MISSPELT,
    Finding,
    Severity,
    closest_match,
    suggestion_hint,
)
from wattgate.delivery.templates.language.variables import Variable

UNDECLARED = "variable-undeclared"
"""The code of a finding about a name that the contract does not have, and that resembles none of its names."""

MAY_BE_EMPTY = "variable-may-be-empty"


def contract_findings(contract: Contract | None, used: Sequence[Variable], data: Mapping[str, Any]) -> list[Finding]:
    """Return an error for each use of a name outside a contract, at every position, and hints about empty values.

    There is no hint about a value that the same part tests with `if`, or replaces with `default`.

    If the variables are undeclared, only names that begin like those of every alert are errors, unless the data has
    them.
    """
    if contract is None:
        return []
    tree, findings = declared_tree(contract.variables), list[Finding]()
    names = [variable.name for variable in contract.variables]
    tested = {(variable.part, variable.path) for variable in used if variable.optional}
    for variable in used:
        node = _find(tree, variable.path)
        if node is None and not _is_free(contract, tree, variable, data):
            similar = closest_match(variable.name, names) if len(findings) < MAX_SUGGESTIONS else None
            findings.append(_outside(variable, similar))
        elif _may_be_empty(node) and (variable.part, variable.path) not in tested:
            message = f"{variable.name} is empty in some alerts"
            hint = f'write {{{{ {variable.name} | default: "..." }}}}'
            findings.append(
                Finding(Severity.INFO, MAY_BE_EMPTY, variable.part, message, variable.line, variable.column, hint)
            )
    return findings


def _may_be_empty(node: DeclaredNode | None) -> bool:
    return node is not None and node.variable is not None and not node.variable.required


def is_declared(tree: DeclaredNode, path: Iterable[str | int]) -> bool:
    """Return whether a contract has a variable, or a group of variables, at a path."""
    return _find(tree, path) is not None


def _is_free(contract: Contract, tree: DeclaredNode, variable: Variable, data: Mapping[str, Any]) -> bool:
    """Return whether a name is one that an undeclared contract cannot know."""
    return not contract.declared and (variable.path[0] not in tree.children or has_path(data, variable.path))


def _find(tree: DeclaredNode, path: Iterable[str | int]) -> DeclaredNode | None:
    """Return the node at a path, or None. Below a list without declared items, every path is allowed."""
    node = tree
    for segment in path:
        if segment == ANY_ITEM and node.variable is not None and ANY_ITEM not in node.children:
            return DeclaredNode()
        child = node.children.get(str(segment))
        if child is None:
            return None
        node = child
    return node


def _outside(variable: Variable, similar: str | None) -> Finding:
    message = f"{variable.name} is not a variable of the alert type"
    code = MISSPELT if similar else UNDECLARED
    hint = suggestion_hint(similar) if similar else "use a variable of the alert type, or declare this one"
    return Finding(Severity.ERROR, code, variable.part, message, variable.line, variable.column, hint)


def has_path(data: Any, path: Iterable[str | int]) -> bool:
    """Return whether the data has a value at a path. Every path into an empty list exists."""
    value = data
    for segment in path:
        if segment == ANY_ITEM:
            if not isinstance(value, list) or not value:
                return isinstance(value, list)
            value = value[0]
        elif isinstance(value, Mapping) and segment in value:
            value = value[segment]
        else:
            return False
    return True
