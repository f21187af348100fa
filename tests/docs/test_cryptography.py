"""The page of cryptographic functions lists those that the code uses, and no function is weak."""

import ast
import math
import re
import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.passwords import GATEWAY_HASHER
from wattgate.db.encryption.key_ring import KEY_BYTES
from wattgate.db.identity.secrets import new_readable_secret, new_secret
from wattgate.operations.credentials.second_factor_codes import RECOVERY_ALPHABET, RECOVERY_GROUPS
from wattgate.tls import client_context

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "wattgate"
PAGE = (ROOT / "docs" / "reference" / "cryptography.md").read_text()

EVERYWHERE = {"hashlib.sha256", "hmac.compare_digest", "random.Random"}
"""Functions without a key that any module may use. `random.Random` is a type; its use counts as `random`."""

LISTED = re.compile(
    r"argon2\.PasswordHasher|hashlib\.\w+|hmac\.\w+|jwt\.(?:decode|encode|PyJWK)|pyotp\.\w+"
    r"|ssl\.(?:create_default_context|_create_\w+|wrap_socket)|random\.\w+|cryptography\.hazmat\.primitives\.[\w.]+"
)
"""Functions that the page lists with their modules."""

MODULES = re.compile(r"\b(?:argon2|hashlib|hmac|jwt|pyotp|ssl|random|cryptography)\b")
"""A source without these words uses none of the functions, and is not parsed."""

NO_FUNCTIONS = re.compile(r"cryptography\.hazmat\.primitives\.(?:serialization|asymmetric\.utils)\b.*")
"""Parts of the library that only convert forms."""


def uses(tree: ast.AST) -> Iterator[str]:
    """Yield the full name of each imported name, and of each attribute of an imported module."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {name.asname or name.name: name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
            yield from (f"{node.module}.{name.name}" for name in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield f"{modules[node.value.id]}.{node.attr}"


def short(name: str) -> str:
    """Return the name that the page has: the class in `cryptography`, and one name for `random` and for `ec`."""
    if name.startswith("random."):
        return "random"
    if not name.startswith("cryptography."):
        return name
    parts = name.split(".")
    return "ec" if "ec" in parts else next((part for part in parts if part[0].isupper()), parts[-1])


def functions_of(source: str) -> set[str]:
    """Return the functions in a source that the page must list."""
    found = {name for name in uses(ast.parse(source)) if LISTED.fullmatch(name) and not NO_FUNCTIONS.fullmatch(name)}
    return {short(name) for name in found if name not in EVERYWHERE or name == "random.Random"}


@cache
def used() -> set[tuple[str, str]]:
    """Return the pairs of module and function in the code. Migrations hash as the code of their time."""
    return {
        (path.relative_to(PACKAGE).as_posix(), function)
        for path in sorted(PACKAGE.rglob("*.py"))
        if "versions" not in path.parts and MODULES.search(path.read_text())
        for function in functions_of(path.read_text())
    }


def listed() -> set[tuple[str, str]]:
    """Return the pairs of module and function on the page."""
    table = PAGE.partition("<!-- functions -->")[2].partition("<!-- end of functions -->")[0]
    rows = [line.strip("|").split("|") for line in table.strip().splitlines()[2:]]
    return {
        (module, function)
        for _, functions, _, modules in rows
        for module in re.findall(r"`([^`]+)`", modules)
        for function in re.findall(r"`([^`]+)`", functions)
    }


def test_page_lists_the_functions_and_modules_of_the_code() -> None:
    assert used() - listed() == set(), "add the function and the module to docs/reference/cryptography.md"
    assert listed() - used() == set(), "remove what the code does not use"


def test_each_way_to_use_a_function_is_found() -> None:
    for source, function in (
        ("import hashlib\nhashlib.md5(b'')", "hashlib.md5"),
        ("from hashlib import md5 as digest", "hashlib.md5"),
        ("import hashlib as h\nh.new('md4')", "hashlib.new"),
        ("from cryptography.hazmat.primitives.ciphers.modes import ECB", "ECB"),
        ("from cryptography.hazmat.primitives.ciphers import modes\nmodes.ECB()", "ECB"),
        ("from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15", "PKCS1v15"),
        ("import hmac\nhmac.new(b'', b'', 'md5')", "hmac.new"),
        ("from random import choice", "random"),
        ("import ssl\nssl._create_unverified_context()", "ssl._create_unverified_context"),
    ):
        assert function in functions_of(source), source


def test_weak_functions_are_not_used() -> None:
    weak = re.compile(r"(?i).*(md5|md4|ECB|CBC|PKCS1v15|DES|ARC4|Blowfish|RC2|IDEA|unverified)")
    assert [pair for pair in used() if weak.fullmatch(pair[1])] == []
    with_sha1 = [module for module, function in used() if "sha1" in function.lower()]
    assert with_sha1 == ["realtime/bus/redis_client.py"]
    assert "usedforsecurity=False" in (PACKAGE / with_sha1[0]).read_text()


def test_strengths_of_the_page_are_those_of_the_code() -> None:
    cost = GATEWAY_HASHER
    parameters = f"{cost.memory_cost // 1024} MiB, {cost.time_cost} passes, {cost.parallelism} lane"
    assert f"| {parameters}, salt of {cost.salt_len} bytes |" in PAGE
    assert KEY_BYTES * 8 == 256
    assert len(new_secret()) == 43  # 256 bits in base64url
    assert new_secret() != new_secret()
    recovery_bits = math.floor(4 * RECOVERY_GROUPS * math.log2(len(RECOVERY_ALPHABET)))
    assert f"| recovery code | the gateway, {recovery_bits} bits |" in PAGE
    code = new_readable_secret(RECOVERY_ALPHABET, RECOVERY_GROUPS)
    assert len(code.replace("-", "")) == 4 * RECOVERY_GROUPS


def test_contexts_refuse_old_versions_of_tls() -> None:
    """Every connection of the gateway takes its context from this function, as the page lists."""
    context = client_context()
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    lowered = re.compile(r"TLSVersion|set_ciphers|ssl\.PROTOCOL_|OP_NO_|OP_LEGACY")
    assert [path.name for path in PACKAGE.rglob("*.py") if lowered.search(path.read_text())] == ["tls.py"]
