"""Licences of the installed packages of run time, compared with the licences that the policy allows."""

from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from license_expression import ExpressionError, LicenseSymbol, get_spdx_licensing
from packaging.requirements import Requirement

from supply.locks import DEPLOYMENT_LOCK, RUN_TIME_LOCK, Pin, read_pins
from supply.policy import Policy

_PREFIX = "License :: OSI Approved :: "

_BY_CLASSIFIER = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
}
_BY_TEXT = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "ISC License": "ISC",
    "MIT License": "MIT",
}
"""Texts of the old metadata field `License` that are no SPDX identifiers."""

_SPDX = get_spdx_licensing()


def installed_licence(package: Distribution) -> str | None:
    """Return the licence of an installed package as an SPDX expression, or None if its metadata is not clear."""
    metadata = package.metadata
    if expressions := metadata.get_all("License-Expression"):
        return str(expressions[0])
    classifiers = [text.removeprefix(_PREFIX) for text in metadata.get_all("Classifier") or [] if _PREFIX in text]
    if len(classifiers) == 1 and classifiers[0] in _BY_CLASSIFIER:
        return _BY_CLASSIFIER[classifiers[0]]
    (text, *_) = metadata.get_all("License") or [""]
    text = _BY_TEXT.get(text, text)
    return text if len(classifiers) < 2 and text in _SPDX.known_symbols else None


def licence_of(name: str, policy: Policy) -> str | None:
    """Return the licence of a package as an SPDX expression: the stated one of the policy, else the installed one."""
    if name in policy.stated:
        return policy.stated[name].licence
    try:
        return installed_licence(distribution(name))
    except PackageNotFoundError:
        return None


def is_allowed(expression: str, allowed: Iterable[str]) -> bool:
    """Return whether an SPDX expression can be met with these licences."""
    try:
        return _is_met(_SPDX.parse(expression, validate=True), frozenset(allowed))
    except ExpressionError:
        return False


def _is_met(node: object, allowed: frozenset[str]) -> bool:
    if isinstance(node, LicenseSymbol):
        return node.key in allowed
    members = [_is_met(member, allowed) for member in getattr(node, "args", ())]
    return bool(members) and (all(members) if isinstance(node, _SPDX.AND) else any(members))


def licence_problems(names: Iterable[str], policy: Policy) -> Iterator[str]:
    """Yield a sentence for each package whose licence is unknown or not allowed."""
    for name in sorted(set(names)):
        licence = licence_of(name, policy)
        exception = policy.exceptions.get(name)
        if licence is None:
            yield f"{name}: its metadata has no clear licence. Read its licence file, and state it in policy.toml."
        elif not is_allowed(licence, policy.allowed) and (exception is None or exception.licence != licence):
            yield f"{name}: the licence {licence!r} is not in the list of policy.toml. Replace it or add an exception."


def run_time_names() -> set[str]:
    """Return the packages that a gateway may have installed: those of run time and of the extras."""
    return {pin.name for pin in read_pins(DEPLOYMENT_LOCK)}


def extra_names() -> set[str]:
    """Return the packages that the extras add to those of run time."""
    return run_time_names() - {pin.name for pin in read_pins(RUN_TIME_LOCK)}


def requirements_of(name: str) -> list[Requirement]:
    """Return the requirements in the metadata of an installed package, with those of its extras."""
    return [Requirement(text) for text in distribution(name).requires or []]


def plain_requirements_of(name: str) -> list[Requirement]:
    """Return the requirements of an installed package on this system, without extras. Empty if it is not installed."""
    try:
        return [one for one in requirements_of(name) if one.marker is None or one.marker.evaluate({"extra": ""})]
    except PackageNotFoundError:
        return []


def outdated(pins: Iterable[Pin]) -> list[str]:
    """Return the pins that apply here and are not the installed version. Their metadata would be that of another."""
    return [f"{pin.name}=={pin.version}" for pin in pins if pin.applies_here and _installed_version(pin) != pin.version]


def _installed_version(pin: Pin) -> str | None:
    try:
        return distribution(pin.name).version
    except PackageNotFoundError:
        return None
