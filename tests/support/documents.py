"""GraphQL documents for tests: those of the pages and guides, random ones, and malicious ones."""

import json
import re
from pathlib import Path

from graphql import GraphQLSyntaxError, get_introspection_query, parse
from hypothesis import strategies as st

from tests.support.markdown import code_blocks

ROOT = Path(__file__).parents[2]
REFUSED = "fragment Refused on Refusal { refusal: code message }"
"""The fragment of `gateway.js`."""

INTERPOLATED = {
    "declaredBefore": ", $before: TimeRange!",
    "comparison": "${COMPARISON}",
    "declared": ", $electricity: ID!, $gas: ID!, $exported: ID!",
    "fields": " ".join(
        f"{name}: resource(resourceId: ${name}) {{ ...Series }}" for name in ("electricity", "gas", "exported")
    ),
}
"""The values that the history panel of the display inserts into its document, with a comparison."""

INTROSPECTION = get_introspection_query(
    specified_by_url=True,
    directive_is_repeatable=True,
    schema_description=True,
    input_value_deprecation=True,
    experimental_directive_deprecation=True,
    one_of=True,
)
"""The introspection query that tools send, with all options."""


def own() -> dict[str, str]:
    """Return the documents of the pages and guides, by file name and operation name or number."""
    documents = of_pages()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        documents |= _named(path.name, code_blocks(path.read_text(), "graphql"))
    return documents


def of_pages() -> dict[str, str]:
    """Return the documents in the JavaScript of the pages, by file name and operation name or number."""
    documents: dict[str, str] = {}
    for path in sorted((ROOT / "wattgate" / "app" / "static").rglob("*.js")):
        documents |= _named(path.name, _of_javascript(path.read_text()))
    return documents


def in_page(page: str) -> list[str]:
    """Return every document in the Markdown of a page: those of fenced blocks, commands, programs and prose."""
    literals: list[str] = []
    for code in code_blocks(page, r"[\w-]+"):
        quoted = re.findall(r'"""(.*?)"""|`([^`]+)`|("(?:[^"\\\n]|\\["\\n])*")', code, re.DOTALL)
        literals += [block or template or json.loads(text) for block, template, text in quoted]
    prose = re.sub(r"^( *)```.*?^\1```$", "", page, flags=re.MULTILINE | re.DOTALL)
    literals += re.findall(r"`([^`\n]+)`", prose)
    return [*code_blocks(page, "graphql"), *filter(_is_document, literals)]


def _is_document(text: str) -> bool:
    if not re.match(r"\s*(?:\{\s+\w|(?:query|mutation|subscription|fragment)\b)", text):
        return False
    try:
        parse(text)
    except GraphQLSyntaxError:
        return False
    return True


def _of_javascript(source: str) -> list[str]:
    quoted = dict(re.findall(r'const (\w+) =\s*"([^"\n]*)"', source))
    texts = dict(re.findall(r"const (\w+) = `([^`]*)`", source)) | quoted | INTERPOLATED
    documents = re.findall(r"[`\"]((?:query|mutation|subscription) [^`\"]*)[`\"]", source)
    # generated documents (with escapes) and those that are complete only at run time are left out
    known = [
        document
        for document in documents
        if "\\" not in document and set(re.findall(r"\$\{(.*?)\}", document)) <= texts.keys()
    ]
    return [_with_refused(_interpolated(document, texts)) for document in known]


def _with_refused(document: str) -> str:
    """Return a document as `gateway.js` sends it, with the fragment of the refusals of its mutations."""
    return f"{document} {REFUSED}" if "...Refused" in document else document


def _interpolated(text: str, texts: dict[str, str]) -> str:
    """Return a template with its constants, which may have constants as well."""
    return re.sub(r"\$\{(\w+)\}", lambda match: _interpolated(texts[match[1]], texts), text)


def _named(file: str, documents: list[str]) -> dict[str, str]:
    named_documents: dict[str, str] = {}
    for number, document in enumerate(documents, 1):
        name = re.match(r"\s*\w+ (\w+)", document)
        named_documents[f"{file} {name[1] if name else number}"] = document
    return named_documents


def bomb(levels: int, *, spread: str = "...{0} ...{0}", leaf: str = "__typename", on: str = "Query") -> str:
    """Return a document whose fragments each spread the next one twice, so that it expands exponentially."""
    inner = [f"fragment F{number} on {on} {{ {spread.format(f'F{number + 1}')} }}" for number in range(levels - 1)]
    return "\n".join(["{ ...F0 }", *inner, f"fragment F{levels - 1} on {on} {{ {leaf} }}"])


def chain(length: int) -> str:
    """Return a document whose fragments each spread the next one once."""
    return bomb(length, spread="...{0}")


NAMES = st.sampled_from("abc")
DIRECTIVES = st.sampled_from(["", "", "", " @x", " @x @y"])
FRAGMENTS = 4


@st.composite
def shapeless(draw: st.DrawFn) -> str:
    """Draw a document without a schema: aliases, directives, and inline and named fragments without cycles."""
    heads = [f"query{draw(DIRECTIVES)}", *(f"fragment F{number} on T{draw(DIRECTIVES)}" for number in range(FRAGMENTS))]
    return "\n".join(f"{head} {_selection(draw, first, 3)}" for first, head in enumerate(heads))


def _selection(draw: st.DrawFn, first: int, levels: int) -> str:
    """Draw a selection set. It spreads only fragments from number `first` on, and one that does not exist."""
    selections = []
    for _ in range(draw(st.integers(1, 4))):
        kind, directives = draw(st.sampled_from(["field", "field", "spread", "inline"])), draw(DIRECTIVES)
        if kind == "spread":
            selections.append(f"...F{draw(st.integers(first, FRAGMENTS))}{directives}")
        elif kind == "inline":
            inner = _selection(draw, first, levels - 1) if levels > 1 else "{ __typename }"
            selections.append(f"... on T{directives} {inner}")
        else:
            alias = draw(st.sampled_from(["", "", "a: ", "b: "]))
            inner = _selection(draw, first, levels - 1) if levels > 1 and draw(st.booleans()) else ""
            selections.append(f"{alias}{draw(NAMES)}{directives} {inner}")
    return "{ " + " ".join(selections) + " }"
