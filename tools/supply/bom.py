"""Bill of materials in the format CycloneDX 1.6, from the lock files.

The scope of a component is its use: `required` at run time, `optional` with an extra, and `excluded` for tests, checks
and documentation. All packages of npm are `excluded`: no release contains them.
"""

import json
import tomllib
from base64 import b64decode
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.utils import canonicalize_name

from supply.licences import extra_names, licence_of, plain_requirements_of
from supply.locks import (
    DEVELOPMENT_LOCK,
    ROOT,
    RUN_TIME_LOCK,
    NpmPackage,
    Pin,
    node_locks,
    read_npm_packages,
    read_pins,
)
from supply.policy import Policy

MARKER = "wattgate:marker"
"""Property of a component that is only installed on some Python versions or systems."""

_INTEGRITY = {"sha512": HashAlgorithm.SHA_512, "sha1": HashAlgorithm.SHA_1}


def build_bom(policy: Policy, *, stamped: bool = False) -> str:
    """Return the bill of materials as JSON. It has a time and a serial number only if it is stamped."""
    project = project_component()
    run_time = [_python_component(pin, ComponentScope.REQUIRED, policy) for pin in read_pins(RUN_TIME_LOCK)]
    bom = Bom(components=[*run_time, *_development_components(policy), *_npm_components()])
    bom.metadata.component = project
    direct = {canonicalize_name(text) for text in _direct_names()}
    bom.register_dependency(project, [component for component in run_time if component.name in direct])
    for component in run_time:
        needed = {canonicalize_name(requirement.name) for requirement in plain_requirements_of(component.name)}
        bom.register_dependency(component, [other for other in run_time if other.name in needed])
    bom.metadata.timestamp = datetime.now(UTC)
    bom.serial_number = uuid4()
    content: dict[str, Any] = json.loads(JsonV1Dot6(bom).output_as_string())
    if not stamped:
        del content["serialNumber"], content["metadata"]["timestamp"]
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def project_component() -> Component:
    """Return wattgate itself, in the version of pyproject.toml."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    url = PackageURL("pypi", name="wattgate", version=version)
    licence = LicenseExpression("Apache-2.0")
    kind = ComponentType.APPLICATION
    return Component(type=kind, name="wattgate", version=version, purl=url, bom_ref=url.to_string(), licenses=[licence])


def _direct_names() -> list[str]:
    """Return the names of the run-time dependencies that the project itself declares."""
    return [requirement.name for requirement in plain_requirements_of("wattgate")]


def _development_components(policy: Policy) -> list[Component]:
    """Return the Python packages that the run-time lock does not contain: of the extras, tests, checks and docs."""
    run_time, extras = set(read_pins(RUN_TIME_LOCK)), extra_names()
    return [
        _python_component(pin, ComponentScope.OPTIONAL if pin.name in extras else ComponentScope.EXCLUDED, policy)
        for pin in read_pins(DEVELOPMENT_LOCK)
        if pin not in run_time
    ]


def _npm_components() -> list[Component]:
    return [_npm_component(one) for one in sorted({one for lock in node_locks() for one in read_npm_packages(lock)})]


def _python_component(pin: Pin, scope: ComponentScope, policy: Policy) -> Component:
    url = PackageURL("pypi", name=pin.name, version=pin.version)
    files = HashAlgorithm.SHA_256, f"https://pypi.org/project/{pin.name}/{pin.version}/#files"
    properties = [Property(name=MARKER, value=pin.marker)] if pin.marker else []
    licence = licence_of(pin.name, policy)
    return _component(url, scope, licence, _distribution(*files, pin.hashes), properties)


def _npm_component(package: NpmPackage) -> Component:
    group, _, name = package.name.rpartition("/")
    url = PackageURL("npm", namespace=group or None, name=name, version=package.version)
    algorithm, _, encoded = package.integrity.partition("-")
    page = f"https://www.npmjs.com/package/{package.name}/v/{package.version}"
    files = _distribution(_INTEGRITY[algorithm], page, [b64decode(encoded).hex()])
    return _component(url, ComponentScope.EXCLUDED, package.licence, files, [])


def _distribution(algorithm: HashAlgorithm, address: str, digests: Iterable[str]) -> ExternalReference:
    """Return where the files of a release are, with the hash of each."""
    hashes = [HashType(alg=algorithm, content=digest) for digest in digests]
    return ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(address), hashes=hashes)


def _component(
    url: PackageURL, scope: ComponentScope, licence: str | None, files: ExternalReference, properties: list[Property]
) -> Component:
    return Component(
        name=url.name,
        group=url.namespace,
        version=url.version,
        purl=url,
        bom_ref=url.to_string(),
        scope=scope,
        licenses=[LicenseExpression(licence)] if licence else [],
        external_references=[files],
        properties=properties,
    )
