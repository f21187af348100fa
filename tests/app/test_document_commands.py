"""`wattgate documents`: registered documents, rejected ones, and the locations of errors."""

import asyncio
import hashlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.markdown import code_blocks
from tests.support.schema import bring_up
from wattgate.app.cli.main import app
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.errors import Conflict, NotFound
from wattgate.graphql.execution.documents.persisted_documents import TrustedDocumentStore
from wattgate.operations.accounts import provisioning
from wattgate.principal import Principal, Role

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "trusted-documents.md").read_text()

HOMES_DOCUMENT = """query Homes {
  viewer { homes { edges { node { ...Home } } } account { ...Named } }
}

mutation LogOut {
  deleteToken { __typename }
}

fragment Home on Home { homeId name }
fragment Named on Account { name }
"""


class Shell:
    """The `documents` commands on a database with one application."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.database_url = database_url
        self.folder = folder
        self.application_id = asyncio.run(self._create_application())

    async def _create_application(self) -> str:
        gateway = build_gateway(self.settings)
        await bring_up(gateway.database)
        application = await gateway.runner.run(
            provisioning.create_application, Principal(Role.SYSTEM), {"name": "one", "username": "one"}
        )
        await gateway.database.close()
        return str(application.application_id)

    @property
    def settings(self) -> Settings:
        return Settings(_env_file=None, database_url=self.database_url)

    def run(self, *words: str) -> Any:
        environment = {"WATTGATE_DATABASE_URL": self.database_url, "COLUMNS": "80"}
        return CliRunner().invoke(app, ["documents", *words], env=environment)

    def output(self, *words: str, status: int = 0) -> str:
        """Run a command for the application, check its exit status and return its output."""
        result = self.run(*words, "--application", self.application_id)
        assert result.exit_code == status, result.output
        return str(result.output)

    def write(self, name: str, text: Any) -> str:
        """Write a file in the folder and return the SHA-256 of its text."""
        file = self.folder / name
        file.parent.mkdir(exist_ok=True)
        content = text if isinstance(text, str) else json.dumps(text, indent=2)
        file.write_bytes(content.encode())
        return hashlib.sha256(content.encode()).hexdigest()

    def registered(self) -> dict[str, str]:
        """Return the names of the registered documents by ID."""
        lines = [line.split(maxsplit=2) for line in self.output("list").splitlines()]
        return {document_id: name for _, document_id, name in lines}

    def stored_text(self, document_id: str) -> str | None:
        """Return the text that a gateway has under an ID, or None."""

        async def find() -> str | None:
            gateway = build_gateway(self.settings)
            text = await TrustedDocumentStore(gateway.runner).get_text(self.application_id, document_id)
            await gateway.database.close()
            return text

        return asyncio.run(find())


@pytest.fixture
def shell(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(f"sqlite:///{tmp_path_factory.mktemp('database') / 'test.sqlite3'}", tmp_path)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_documents_of_folder_are_registered_under_sha256_of_files(shell: Shell) -> None:
    homes = shell.write("homes.graphql", HOMES_DOCUMENT)
    windows = shell.write("deep/types.gql", "query Types {\r\n  resourceCounts { count }\r\n}\r\n")
    shell.write("notes.txt", "no document")
    assert "Document IDs: 2 new, 0 already registered." in shell.output("register", str(shell.folder))
    assert shell.registered() == {homes: "Homes, LogOut", windows: "Types"}
    assert shell.stored_text(f"sha256:{homes}") == HOMES_DOCUMENT
    assert shell.stored_text(windows) == "query Types {\r\n  resourceCounts { count }\r\n}\r\n"
    assert "Document IDs: 0 new, 2 already registered." in shell.output("register", str(shell.folder))


def test_dry_run_registers_nothing(shell: Shell) -> None:
    shell.write("homes.graphql", HOMES_DOCUMENT)
    output = shell.output("register", str(shell.folder), "--dry-run")
    assert output == "Document IDs: 1. Nothing was registered, because this is a dry run.\n"
    assert shell.registered() == {}


def test_code_generator_manifest_is_registered_under_its_ids(shell: Shell) -> None:
    text, other = "query Names { resourceCounts { count } }", "{ resourceCounts { resourceTypeId } }"
    sha1 = hashlib.sha1(text.encode()).hexdigest()
    shell.write("persisted-documents.json", {sha1: text, sha256(other): other})
    shell.output("register", str(shell.folder / "persisted-documents.json"))
    assert shell.registered() == {sha1: "Names", sha256(text): "Names", sha256(other): "unnamed"}
    assert shell.stored_text(sha1) == shell.stored_text(f"sha256:{sha256(text)}") == text


def test_apollo_manifest_is_registered(shell: Shell) -> None:
    text = "query Names { resourceCounts { count __typename } }"
    entry = {"id": sha256(text), "name": "Names", "type": "query", "body": text}
    shell.write(
        "persisted-query-manifest.json",
        {"format": "apollo-persisted-query-manifest", "version": 1, "operations": [entry]},
    )
    shell.output("register", str(shell.folder))
    assert shell.registered() == {sha256(text): "Names"}


def test_every_error_is_printed_with_location_and_nothing_is_registered(shell: Shell) -> None:
    valid, invalid = "{ resourceCounts { count } }", "{ resourceCounts { count\n nothing } }"
    shell.write("a-good.graphql", HOMES_DOCUMENT)
    shell.write("b-unknown.graphql", "query Q {\n  resourceCounts { nothing }\n  nobody\n}\n")
    shell.write("c-syntax.graphql", "query Q {\n  resourceCounts {\n")
    shell.write("d-fragment.graphql", "fragment Home on Home { homeId }")
    shell.write("e-large.graphql", "{ " + " ".join(f"a{n}: resourceCounts {{ count }}" for n in range(60)) + " }")
    shell.write("f-schema.graphql", "type Query { a: String }")
    shell.write("g.json", '{\n  "a": \n}')
    shell.write("h.json", ["no manifest"])
    shell.write("i.json", {sha256(invalid): invalid, sha256("other"): valid, "ä": valid})
    (shell.folder / "j.graphql").write_bytes(b"{ resourceCounts { \xff } }")
    output = shell.output("register", str(shell.folder), status=1)
    folder = re.escape(str(shell.folder))
    for line in (
        r"b-unknown.graphql:2:20: Cannot query field 'nothing' on type 'ResourceCount'",
        r"b-unknown.graphql:3:3: Cannot query field 'nobody' on type 'Query'",
        r"c-syntax.graphql:3:1: Syntax Error",
        r"d-fragment.graphql: has no operation",
        r"e-large.graphql:1:1: the operation has 60 aliases",
        r"f-schema.graphql: has no operation",
        r"g.json:3:1: is not JSON",
        r"h.json: is not a manifest of documents",
        rf"i.json: {sha256(invalid)}:2:2: Cannot query field 'nothing'",
        rf"i.json: {sha256('other')}: is not the SHA-256 of its text, which is {sha256(valid)}",
        r"i.json: ä: is not a valid document ID",
        r"j.graphql: is not UTF-8",
    ):
        assert re.search(f"^{folder}/{line}", output, re.MULTILINE), (line, output)
    assert "a-good" not in output
    assert output.endswith("Errors: 12. No document was registered.\n")
    assert shell.registered() == {}


def test_documents_keep_to_the_fields_of_their_audience(shell: Shell) -> None:
    shell.write("homes.graphql", HOMES_DOCUMENT)
    assert "Document IDs: 1." in shell.output("register", str(shell.folder), "--audience", "app", "--dry-run")
    shell.write("log.graphql", "query Log {\n  application { auditLog { edges { cursor } } }\n}\n")
    refused = shell.output("register", str(shell.folder), "--audience", "app", status=1)
    location = shell.folder / "log.graphql"
    first, last = refused.splitlines()
    assert re.fullmatch(rf"{re.escape(str(location))}:2:\d+: Cannot query field '\w+' on type '\w+'\.", first)
    assert last == "Errors: 1. No document was registered."
    assert shell.registered() == {}
    assert "Document IDs: 2 new" in shell.output("register", str(shell.folder), "--audience", "support")


def test_same_id_for_two_texts_is_rejected(shell: Shell) -> None:
    shell.write("a.json", {"home": "query A { resourceCounts { count } }"})
    shell.write("b.json", {"home": "query B { resourceCounts { count } }"})
    output = shell.output("register", str(shell.folder), status=1)
    assert "b.json: home: is also the ID of another text (A)" in output
    shell.output("register", str(shell.folder / "a.json"))
    result = shell.run("register", str(shell.folder / "b.json"), "--application", shell.application_id)
    assert isinstance(result.exception, Conflict)
    assert shell.stored_text("home") == "query A { resourceCounts { count } }"


def test_folder_without_documents_is_rejected(shell: Shell) -> None:
    assert "contains no documents" in shell.output("register", str(shell.folder), status=1)


def test_unknown_application_is_rejected(shell: Shell) -> None:
    shell.write("homes.graphql", HOMES_DOCUMENT)
    for words in (["register", str(shell.folder)], ["list"], ["remove", "a"], ["require"]):
        assert isinstance(shell.run(*words, "--application", "nobody").exception, NotFound)


def test_documents_can_be_removed_and_required(shell: Shell) -> None:
    homes = shell.write("homes.graphql", HOMES_DOCUMENT)
    shell.write("own.json", {"own": "query A { resourceCounts { count } }"})
    shell.output("register", str(shell.folder))
    assert "Document IDs removed: 2." in shell.output("remove", "own")
    assert set(shell.registered()) == {homes}
    assert "Document IDs: 1. Other documents are rejected." in shell.output("require")
    assert "Document IDs: 1. Other documents are accepted." in shell.output("require", "--no-require")


def test_commands_of_docs_page_succeed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shell.folder)
    (homes_document,) = code_blocks(PAGE, "graphql")
    homes = shell.write("operations/homes.graphql", homes_document)
    commands = [
        shlex.split(line.replace("APPLICATION", shell.application_id), comments=True)
        for block in code_blocks(PAGE, "sh")
        for line in block.splitlines()
    ]
    documents = [words[2:] for words in commands if words[:2] == ["wattgate", "documents"]]
    assert [words[0] for words in documents] == ["register", "register", "list", "require", "require", "remove"]
    for words in documents:
        result = shell.run(*(homes if word == "ID" else word for word in words))
        assert result.exit_code == 0, (words, result.output)
    assert shell.registered() == {}
