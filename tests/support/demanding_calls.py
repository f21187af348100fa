"""The call sites of demanding functions in the package: hash, parse, render, resolve, ask, encode, compress, sort."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import wattgate

ROOT = Path(wattgate.__file__).parent

OPERATORS_CODE = ("app/cli/", "app/demo/", "app/homes/", "db/migrations/")
"""Folders whose code runs for an operator at a command line, who has the database."""

KINDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "hash": frozenset({"HASHER.hash", "HASHER.verify", "HASH_POOL.run"}),
        "parse": frozenset(
            {
                *("parse_text", "validate", "json.loads", "orjson.loads", "msgspec.json.decode", "decoder.decode"),
                *("pa.ipc.open_stream", "parse_qsl"),
                *("jwt.decode", "jwt.PyJWK", "idna.encode", "BytesParser", "parse_mail"),
            }
        ),
        "render": frozenset({"templates.render", "templates.preview", "templates.check", "environment.from_string"}),
        "read addresses": frozenset({"ip_address", "ip_network"}),
        "resolve": frozenset({"socket.getaddrinfo", "loop.getaddrinfo"}),
        "ask": frozenset(
            {"http.send", "_http.send", "_browser_http.send", "_phone_http.send", "asyncio.open_connection"}
        ),
        "encode": frozenset(
            {
                *("encode_json", "encode_large_json", "pa.record_batch", "build_and_encode_mail", "write_archive"),
                *("json.dumps", "orjson.dumps", "msgspec.json.encode"),
            }
        ),
        "compress": frozenset({"gzip.compress", "zlib.compress", "zlib.compressobj", "ZipFile", "zipfile.ZipFile"}),
        "sort": frozenset({"np.sort", "np.argsort", "np.lexsort", "np.unique", "sorted", "findings.sort"}),
    }
)
"""The demanding functions by kind, as the ends of the names by which the package calls them.

`min` and `max` read each item once, as the loop that made the items did.
"""

CONSTANT_DECODER = re.compile(r"_?[A-Z][A-Z_]*\.decode(_lines)?|_?[A-Z_]*ENCODER\.encode")
"""Calls of the decoders and encoders that modules keep, such as those of msgspec."""


@cache
def call_sites() -> frozenset[str]:
    """Return each call of a demanding function, as `module:function calls name`."""
    return frozenset(site for path in _modules() for site in sites_in(_module_name(path), ast.parse(path.read_text())))


def sites_in(module: str, tree: ast.AST) -> Iterator[str]:
    """Yield the call sites in a module. A function that is passed on, as to a thread, counts as called."""
    for node, owner in _with_owner(tree, "module"):
        for name in _named(node):
            if (found := _demanding_name(name)) is not None:
                yield f"{module}:{owner} calls {found}"


def _with_owner(tree: ast.AST, owner: str) -> Iterator[tuple[ast.AST, str]]:
    for child in ast.iter_child_nodes(tree):
        inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else owner
        yield child, owner
        yield from _with_owner(child, inner)


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        yield ast.unparse(node.func)
        yield from (ast.unparse(value) for value in node.args if isinstance(value, ast.Name | ast.Attribute))


def _demanding_name(name: str) -> str | None:
    parts = name.split(".")
    ends = {".".join(parts[start:]).removeprefix("self.") for start in range(len(parts))}
    if CONSTANT_DECODER.fullmatch(name):
        return name
    names = frozenset[str]().union(*KINDS.values())
    return min((end for end in ends & names if "." in end or end == name), default=None)


def _modules() -> Iterator[Path]:
    for path in sorted(ROOT.rglob("*.py")):
        if not path.relative_to(ROOT).as_posix().startswith(OPERATORS_CODE):
            yield path


def _module_name(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
