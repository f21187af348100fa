"""VEX file in the format CycloneDX 1.6: the effects of known vulnerabilities in components on wattgate.

CycloneDX is the format of the bill of materials, so readers need one parser, and both files name a component by the
same reference. The library that validates the bill validates this file, too.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from cyclonedx.model import XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.impact_analysis import ImpactAnalysisAffectedStatus, ImpactAnalysisState
from cyclonedx.model.vulnerability import (
    BomTarget,
    BomTargetVersionRange,
    Vulnerability,
    VulnerabilityAnalysis,
    VulnerabilityReference,
    VulnerabilitySource,
)
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from supply.bom import project_component
from supply.locks import DEVELOPMENT_LOCK, node_locks, read_npm_packages, read_pins
from supply.statements import Statement

COMPONENTS: Mapping[str, str] = MappingProxyType({"python": "cpe:2.3:a:python:python:*:*:*:*:*:*:*:*"})
"""Components that no lock file has, with their names in the dictionary of CPE: the operator chooses their version."""

_STATUS = {
    ImpactAnalysisState.NOT_AFFECTED: ImpactAnalysisAffectedStatus.UNAFFECTED,
    ImpactAnalysisState.FALSE_POSITIVE: ImpactAnalysisAffectedStatus.UNAFFECTED,
    ImpactAnalysisState.IN_TRIAGE: ImpactAnalysisAffectedStatus.UNKNOWN,
}


def build_vex(statements: Iterable[Statement], *, stamped: bool = False) -> str:
    """Return the statements as JSON. Raise ValueError for a component that no lock file has.

    The file has a time and a serial number only if it is stamped.
    """
    locked = _locked_components()
    project = project_component()
    bom = Bom()
    bom.metadata.component = project
    for statement in statements:
        components = _find_components(statement, locked)
        bom.components.update(components)
        bom.vulnerabilities.add(_vulnerability(statement, components))
    bom.register_dependency(project, bom.components)
    bom.metadata.timestamp = datetime.now(UTC)
    bom.serial_number = uuid4()
    content: dict[str, Any] = json.loads(JsonV1Dot6(bom).output_as_string())
    if not stamped:
        del content["serialNumber"], content["metadata"]["timestamp"]
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def _locked_components() -> dict[str, list[Component]]:
    """Return the components of all lock files by name, each version once."""
    urls = {PackageURL("pypi", name=pin.name, version=pin.version) for pin in read_pins(DEVELOPMENT_LOCK)}
    for package in (one for lock in node_locks() for one in read_npm_packages(lock)):
        group, _, name = package.name.rpartition("/")
        urls.add(PackageURL("npm", namespace=group or None, name=name, version=package.version))
    found: dict[str, list[Component]] = {}
    for url in sorted(urls, key=str):
        name = "/".join(filter(None, [url.namespace, url.name]))
        component = Component(
            name=url.name, group=url.namespace, version=url.version, purl=url, bom_ref=url.to_string()
        )
        found.setdefault(name, []).append(component)
    return found


def _find_components(statement: Statement, locked: Mapping[str, list[Component]]) -> list[Component]:
    """Return the components that a statement is about: all locked versions, or the one without a lock file."""
    has_versions = statement.versions is not None
    if has_versions != (statement.package in COMPONENTS):
        raise ValueError(
            f"{statement.id}: {statement.package} {'has versions' if has_versions else 'has no versions'}. "
            "Only a component without a lock file has them."
        )
    if has_versions:
        cpe = COMPONENTS[statement.package]
        return [Component(name=statement.package, type=ComponentType.PLATFORM, cpe=cpe, bom_ref=statement.package)]
    if statement.package not in locked:
        raise ValueError(f"{statement.id}: no lock file has {statement.package}. Remove the statement.")
    return locked[statement.package]


def _vulnerability(statement: Statement, components: Iterable[Component]) -> Vulnerability:
    return Vulnerability(
        bom_ref=f"{statement.id}/{statement.package}",
        id=statement.id,
        source=_source(statement.id),
        references=[VulnerabilityReference(id=alias, source=_source(alias)) for alias in statement.aliases],
        analysis=VulnerabilityAnalysis(
            state=statement.state,
            justification=statement.justification,
            responses=statement.responses,
            detail=statement.detail,
            first_issued=_instant(statement.since),
        ),
        affects=[_target(statement, component) for component in components],
    )


def _target(statement: Statement, component: Component) -> BomTarget:
    """Return the reference to a component, with the versions that the statement is about."""
    status = _STATUS.get(statement.state, ImpactAnalysisAffectedStatus.AFFECTED)
    if statement.versions is not None:
        versions = BomTargetVersionRange(range=statement.versions, status=status)
    else:
        versions = BomTargetVersionRange(version=component.version, status=status)
    return BomTarget(ref=str(component.bom_ref), versions=[versions])


def _source(name: str) -> VulnerabilitySource:
    """Return the page of an advisory in OSV, which knows the names of all registries."""
    return VulnerabilitySource(name="OSV", url=XsUri(f"https://osv.dev/vulnerability/{name}"))


def _instant(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
