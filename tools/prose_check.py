#!/usr/bin/env python3
"""Reject words and patterns that are not plain technical English in all public text of the project.

    python tools/prose_check.py                         # the whole repository
    python tools/prose_check.py wattgate/realtime docs  # some files or folders
    python tools/prose_check.py --only docs,messages    # some kinds of text
    python tools/prose_check.py --commit-message FILE   # a commit message, for the git hook

CONTRIBUTING.md has the rules. `prose/rules.py` lists the patterns.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prose import other_sources, python_source
from prose.python_source import ONE_WORD
from prose.rules import MAX_SENTENCE_WORDS, matches, name_matches, word_count
from prose.text import Sentence, Text, sentences

ROOT = Path(__file__).resolve().parent.parent

KINDS = {
    "docs": "Markdown: README, changelog, guides and everything in docs/, outside code blocks",
    "schema": "descriptions and deprecation reasons of the GraphQL schema file",
    "descriptions": "description= and deprecation_reason= in Python source",
    "settings": "descriptions of settings",
    "cli": "help of commands and options",
    "metrics": "help of metrics",
    "messages": "arguments of exceptions",
    "logs": "formats of log records",
    "strings": "other strings of wattgate/ and bench/ that look like sentences",
    "pages": "text of HTML pages and strings of JavaScript modules",
    "docstrings": "docstrings of modules, classes, functions and attributes",
    "comments": "comments in Python, JavaScript, CSS and HTML",
    "names": "names of functions and classes",
    "tests": "names of test functions",
    "configuration": "comments and quoted sentences of the Makefile, scripts, TOML and YAML",
}
_LENGTH_LIMITED = frozenset({"docs", "schema", "descriptions", "settings", "cli"})
_NAMES = frozenset({"names", "tests"})

_SKIPPED = frozenset({"node_modules", "__pycache__", "build", "dist", "_build"})
_FIXTURES = ("tests/data/",)
_HIDDEN_KEPT = frozenset({".github", ".ci", ".pre-commit-config.yaml", ".editorconfig"})
_CONFIGURATION = frozenset({".yml", ".yaml", ".toml", ".sh"})
_SUFFIXES = frozenset({".py", ".md", ".html", ".js", ".mjs", ".ts", ".css", ".graphql"}) | _CONFIGURATION


@dataclass(frozen=True, order=True)
class Finding:
    """A place in a file, the kind of its text, and the problem in words."""

    path: str
    line: int
    kind: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}"


def _is_checked(root: Path, path: Path) -> bool:
    parts = path.relative_to(root).parts
    if any(part in _SKIPPED or (part.startswith(".") and part not in _HIDDEN_KEPT) for part in parts):
        return False
    if path.relative_to(root).as_posix().startswith(_FIXTURES):
        return False
    return path.suffix in _SUFFIXES or path.name in {"Makefile", "run"}


def files(root: Path, paths: Sequence[Path]) -> list[Path]:
    """Return the files to check in the paths, or in the whole tree if there are none."""
    found: set[Path] = set()
    for path in paths or [root]:
        if path.is_file():
            found.update([path] if _is_checked(root, path) else [])
            continue
        folders = [path]
        while folders:
            for entry in folders.pop().iterdir():
                if entry.is_dir():
                    if entry.name not in _SKIPPED and (not entry.name.startswith(".") or entry.name in _HIDDEN_KEPT):
                        folders.append(entry)
                elif _is_checked(root, entry):
                    found.add(entry)
    return sorted(found)


def _python_texts(sources: dict[str, str]) -> Iterator[Text]:
    errors = python_source.error_names(sources.values())
    for path, source in sources.items():
        strings = path.startswith(("wattgate/", "bench/"))
        yield from python_source.collect(path, source, errors, strings=strings)


def texts(root: Path, paths: Sequence[Path] = ()) -> Iterator[Text]:
    """Yield every piece of public text in the paths."""
    python: dict[str, str] = {}
    for path in files(root, paths):
        name = path.relative_to(root).as_posix()
        source = path.read_text(encoding="utf-8")
        if path.suffix in {".py", ".js"}:
            yield Text(name, 1, "names", path.stem)
        match path.suffix:
            case ".py":
                python[name] = source
            case ".md":
                yield Text(name, 1, "docs", source)
            case ".html":
                yield from other_sources.page(name, source)
            case ".js" | ".mjs" | ".ts":
                yield from other_sources.script(name, source)
            case ".css":
                yield from other_sources.style(name, source)
            case ".graphql" if path.name == "schema.graphql":
                yield from other_sources.schema(name, source)
            case ".graphql":
                pass
            case _:
                yield from other_sources.configuration(name, source)
    yield from _python_texts(python)


def _excerpt(text: str, start: int, end: int, around: int = 36) -> str:
    words = " ".join(text[max(start - around, 0) : end + around].split())
    return f"{'...' if start > around else ''}{words}{'...' if end + around < len(text) else ''}"


def _line(root: Path, text: Text, offset: int, words: str) -> int:
    """Return the line of a match. A Python string in several pieces is searched in the source."""
    if text.lines == 1 or "\n" in text.value:
        return text.line_of(offset)
    source = (root / text.path).read_text(encoding="utf-8").split("\n")
    word = max(words.split(), key=len)
    for number in range(text.line, text.line + text.lines):
        if word in source[number - 1]:
            return number
    return text.line


def _sentence_findings(root: Path, text: Text, sentence: Sentence) -> Iterator[Finding]:
    for match in matches(sentence.value):
        line = _line(root, text, sentence.start + match.start + _indent(sentence.value, match.start), match.words)
        excerpt = _excerpt(text.value, sentence.start + match.start, sentence.start + match.end)
        yield Finding(text.path, line, text.kind, f"'{match.words}' in \"{excerpt}\": use {match.use}")
    if text.kind in _LENGTH_LIMITED and (words := word_count(sentence.value)) > MAX_SENTENCE_WORDS:
        start = sentence.start + _indent(sentence.value, 0)
        problem = f'{words} words in "{_excerpt(text.value, start, start, 60)}": write sentences of at most 25 words'
        yield Finding(text.path, _line(root, text, start, ""), text.kind, problem)


def _indent(sentence: str, start: int) -> int:
    """Return the length of the white space at an offset, so that a match starts at its first word."""
    return len(sentence[start:]) - len(sentence[start:].lstrip())


def findings(root: Path, paths: Sequence[Path] = (), kinds: frozenset[str] = frozenset(KINDS)) -> list[Finding]:
    """Return every finding in the paths, in order."""
    found: set[Finding] = set()
    for text in texts(root, paths):
        if text.kind == ONE_WORD and "messages" in kinds:
            problem = f'one word as a message, "{text.value}": say what failed, the value, and what to do'
            found.add(Finding(text.path, text.line, "messages", problem))
        if text.kind not in kinds:
            continue
        if text.kind in _NAMES:
            for match in name_matches(text.value):
                problem = f"'{match.words}' in the name {text.value}: use {match.use}"
                found.add(Finding(text.path, text.line, text.kind, problem))
            continue
        for sentence in sentences(text.value):
            found.update(_sentence_findings(root, text, sentence))
    return sorted(found)


_SUBJECT = re.compile(r"(?P<area>[a-z][a-z0-9_/.-]*(?:, [a-z][a-z0-9_/.-]*)*): (?P<verb>\S+)")
_NO_SUBJECT = re.compile(r"(?:Merge|Revert|fixup!|squash!|amend!) ")
_NO_IMPERATIVE = re.compile(
    r"(?!(?:embed|feed|need|seed|shed|speed|bring|string|ping|bias|focus)$)\w+(?:ed|ing|[^s]s)$"
)
MAX_SUBJECT = 72


def commit_findings(message: str) -> list[str]:
    """Return the problems of a commit message: its subject `area: imperative`, and the words of all of it."""
    lines = re.split(r"^# -+ >8 -+", message, maxsplit=1, flags=re.M)[0].split("\n")
    lines = [line for line in lines if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if _NO_SUBJECT.match(subject):
        return []
    problems = []
    if len(subject) > MAX_SUBJECT:
        problems.append(f"the subject has {len(subject)} characters: use at most {MAX_SUBJECT}")
    form = _SUBJECT.match(subject)
    if not form:
        problems.append(f'"{subject}": write the subject as `area: imperative`, such as "realtime: close idle sockets"')
    elif _NO_IMPERATIVE.match(form["verb"]):
        problems.append(f"'{form['verb']}' in \"{subject}\": use the imperative, such as 'add' or 'fix'")
    if subject.endswith("."):
        problems.append("the subject ends with a full stop: remove it")
    if len(lines) > 1 and lines[1].strip():
        problems.append("the second line has text: leave it empty")
    for sentence in sentences("\n".join(lines)):
        problems.extend(
            f"'{match.words}' in \"{_excerpt(sentence.value, match.start, match.end)}\": use {match.use}"
            for match in matches(sentence.value)
        )
    return problems


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="files or folders; the whole repository by default")
    parser.add_argument("--only", default=",".join(KINDS), help=f"kinds of text, with commas: {', '.join(KINDS)}")
    parser.add_argument("--counts", action="store_true", help="print the number of findings by kind and by folder")
    parser.add_argument("--root", type=Path, help="the repository; by default the one of this script")
    parser.add_argument("--commit-message", type=Path, metavar="FILE", help="check a commit message instead")
    parsed = parser.parse_args(arguments)
    if unknown := set(parsed.only.split(",")) - set(KINDS):
        parser.error(f"unknown kind of text: {', '.join(sorted(unknown))}; use one of: {', '.join(KINDS)}")
    for path in parsed.paths:
        if not path.exists():
            parser.error(f"no such file or folder: {path}")
    return parsed


def main(arguments: Sequence[str]) -> int:
    """Print the findings and return the exit status: 0 if there are none, else 1."""
    parsed = _arguments(arguments)
    if parsed.commit_message:
        problems = commit_findings(parsed.commit_message.read_text(encoding="utf-8"))
        print("\n".join(f"commit message: {problem}" for problem in problems), end="\n" if problems else "")
        return bool(problems)
    root = (parsed.root or ROOT).resolve()
    paths = [path.resolve() for path in parsed.paths]
    if outside := [str(path) for path in paths if not path.is_relative_to(root)]:
        print(f"prose check: {', '.join(outside)} is not in {root}; set --root", file=sys.stderr)
        return 2
    found = findings(root, paths, frozenset(parsed.only.split(",")))
    if parsed.counts:
        for labels in ((one.kind for one in found), ("/".join(one.path.split("/")[:2]) for one in found)):
            for label, count in sorted(Counter(labels).items(), key=lambda item: (-item[1], item[0])):
                print(f"{count:6} {label}")
    else:
        for one in found:
            print(one)
    print(f"prose check: {len(found)} findings" if found else "prose check: passed", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
