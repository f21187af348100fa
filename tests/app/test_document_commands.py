"""`wattgate documents`: what is registered, what is refused, and where the fault is."""

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
from wattgate.app.server.factory import assemble
from wattgate.app.settings import Settings
from wattgate.errors import Conflict, NotFound
from wattgate.graphql.execution.trusted_documents import StoredDocuments
from wattgate.graphql.resolvers import provisioning
from wattgate.principal import Principal, Role

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "trusted-documents.md").read_text()

HOMES = """query Homes {
  virtualEntities { ...Home }
  accounts { ...Named }
}

mutation LogOut {
  deleteToken { valid }
}

fragment Home on VirtualEntity { veId name }
fragment Named on Account { name }
"""


class Shell:
    """The command line on a database, and an application there."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.database_url = database_url
        self.folder = folder
        self.application_id = asyncio.run(self._found())

    async def _found(self) -> str:
        gateway = assemble(self.settings)
        await bring_up(gateway.database)
        made = await gateway.runner.run(
            provisioning.create_application, Principal(Role.SYSTEM), {"name": "one", "username": "one"}
        )
        await gateway.database.close()
        return str(made.application_id)

    @property
    def settings(self) -> Settings:
        return Settings(_env_file=None, database_url=self.database_url)

    def run(self, *words: str) -> Any:
        environment = {"WATTGATE_DATABASE_URL": self.database_url, "COLUMNS": "80"}
        return CliRunner().invoke(app, ["documents", *words], env=environment)

    def told(self, *words: str, status: int = 0) -> str:
        """What a command prints on this application's documents."""
        done = self.run(*words, "--application", self.application_id)
        assert done.exit_code == status, done.output
        return str(done.output)

    def write(self, name: str, text: Any) -> str:
        """Put a file into the folder; the SHA-256 of its text."""
        file = self.folder / name
        file.parent.mkdir(exist_ok=True)
        written = text if isinstance(text, str) else json.dumps(text, indent=2)
        file.write_bytes(written.encode())
        return hashlib.sha256(written.encode()).hexdigest()

    def listed(self) -> dict[str, str]:
        """The names of what is registered, by id."""
        lines = [line.split(maxsplit=2) for line in self.told("list").splitlines()]
        return {document_id: name for _, document_id, name in lines}

    def text(self, document_id: str) -> str | None:
        """What a gateway finds under an id."""

        async def find() -> str | None:
            gateway = assemble(self.settings)
            found = await StoredDocuments(gateway.runner).text(self.application_id, document_id)
            await gateway.database.close()
            return found

        return asyncio.run(find())


@pytest.fixture
def shell(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(f"sqlite:///{tmp_path_factory.mktemp('database') / 'test.sqlite3'}", tmp_path)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_documents_of_a_folder_are_known_by_the_sha256_of_their_files(shell: Shell) -> None:
    homes = shell.write("homes.graphql", HOMES)
    windows = shell.write("deep/accounts.gql", "query Accounts {\r\n  accounts { name }\r\n}\r\n")
    shell.write("notes.txt", "no document")
    assert "Ids of documents: 2 new, 0 known before." in shell.told("register", str(shell.folder))
    assert shell.listed() == {homes: "Homes, LogOut", windows: "Accounts"}
    assert shell.text(f"sha256:{homes}") == HOMES
    assert shell.text(windows) == "query Accounts {\r\n  accounts { name }\r\n}\r\n"
    assert "Ids of documents: 0 new, 2 known before." in shell.told("register", str(shell.folder))


def test_a_dry_run_checks_and_registers_nothing(shell: Shell) -> None:
    shell.write("homes.graphql", HOMES)
    told = shell.told("register", str(shell.folder), "--dry-run")
    assert told == "Ids of documents: 1. Nothing is registered, as this is a dry run.\n"
    assert shell.listed() == {}


def test_the_manifest_of_a_code_generator_is_registered_under_its_ids(shell: Shell) -> None:
    text, other = "query Names { accounts { name } }", "{ accounts { username } }"
    sha1 = hashlib.sha1(text.encode()).hexdigest()
    shell.write("persisted-documents.json", {sha1: text, sha256(other): other})
    shell.told("register", str(shell.folder / "persisted-documents.json"))
    assert shell.listed() == {sha1: "Names", sha256(text): "Names", sha256(other): "unnamed"}
    assert shell.text(sha1) == shell.text(f"sha256:{sha256(text)}") == text


def test_the_manifest_of_apollo_is_registered(shell: Shell) -> None:
    text = "query Names { accounts { name __typename } }"
    entry = {"id": sha256(text), "name": "Names", "type": "query", "body": text}
    shell.write(
        "persisted-query-manifest.json",
        {"format": "apollo-persisted-query-manifest", "version": 1, "operations": [entry]},
    )
    shell.told("register", str(shell.folder))
    assert shell.listed() == {sha256(text): "Names"}


def test_every_fault_is_told_with_its_place_and_nothing_is_registered(shell: Shell) -> None:
    good, bad = "{ accounts { name } }", "{ accounts { name\n nothing } }"
    shell.write("a-good.graphql", HOMES)
    shell.write("b-unknown.graphql", "query Q {\n  accounts { nothing }\n  nobody\n}\n")
    shell.write("c-syntax.graphql", "query Q {\n  accounts {\n")
    shell.write("d-fragment.graphql", "fragment Home on VirtualEntity { veId }")
    shell.write("e-large.graphql", "{ " + " ".join(f"a{n}: accounts {{ name }}" for n in range(60)) + " }")
    shell.write("f-schema.graphql", "type Query { a: String }")
    shell.write("g.json", '{\n  "a": \n}')
    shell.write("h.json", ["no manifest"])
    shell.write("i.json", {sha256(bad): bad, sha256("other"): good, "ä": good})
    (shell.folder / "j.graphql").write_bytes(b"{ accounts { \xff } }")
    told = shell.told("register", str(shell.folder), status=1)
    at = re.escape(str(shell.folder))
    for line in (
        r"b-unknown.graphql:2:14: Cannot query field 'nothing' on type 'Account'",
        r"b-unknown.graphql:3:3: Cannot query field 'nobody' on type 'Query'",
        r"c-syntax.graphql:3:1: Syntax Error",
        r"d-fragment.graphql: has no operation",
        r"e-large.graphql:1:1: the operation has 60 aliases",
        r"f-schema.graphql: has no operation",
        r"g.json:3:1: is not JSON",
        r"h.json: is no manifest of documents",
        rf"i.json: {sha256(bad)}:2:2: Cannot query field 'nothing'",
        rf"i.json: {sha256('other')}: is not the SHA-256 of its text, which is {sha256(good)}",
        r"i.json: ä: is no id of a document",
        r"j.graphql: is not UTF-8",
    ):
        assert re.search(f"^{at}/{line}", told, re.MULTILINE), (line, told)
    assert "a-good" not in told
    assert told.endswith("Faults: 12. Nothing is registered.\n")
    assert shell.listed() == {}


def test_one_id_for_two_texts_is_refused(shell: Shell) -> None:
    shell.write("a.json", {"home": "query A { accounts { name } }"})
    shell.write("b.json", {"home": "query B { accounts { name } }"})
    told = shell.told("register", str(shell.folder), status=1)
    assert "b.json: home: is the id of another text too (A)" in told
    shell.told("register", str(shell.folder / "a.json"))
    done = shell.run("register", str(shell.folder / "b.json"), "--application", shell.application_id)
    assert isinstance(done.exception, Conflict)
    assert shell.text("home") == "query A { accounts { name } }"


def test_a_folder_without_documents_is_a_mistake(shell: Shell) -> None:
    assert "holds no documents" in shell.told("register", str(shell.folder), status=1)


def test_an_application_that_there_is_not_is_told(shell: Shell) -> None:
    shell.write("homes.graphql", HOMES)
    for words in (["register", str(shell.folder)], ["list"], ["remove", "a"], ["require"]):
        assert isinstance(shell.run(*words, "--application", "nobody").exception, NotFound)


def test_documents_are_removed_and_required(shell: Shell) -> None:
    homes = shell.write("homes.graphql", HOMES)
    shell.write("own.json", {"own": "query A { accounts { name } }"})
    shell.told("register", str(shell.folder))
    assert "Ids of documents removed: 2." in shell.told("remove", "own")
    assert set(shell.listed()) == {homes}
    assert "Ids of documents: 1. No others are executed." in shell.told("require")
    assert "Ids of documents: 1. Others are executed." in shell.told("require", "--no-require")


def test_the_commands_of_the_page_do_what_it_says(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shell.folder)
    (written,) = code_blocks(PAGE, "graphql")
    homes = shell.write("operations/homes.graphql", written)
    commands = [
        shlex.split(line.replace("APPLICATION", shell.application_id), comments=True)
        for block in code_blocks(PAGE, "sh")
        for line in block.splitlines()
    ]
    documents = [words[2:] for words in commands if words[:2] == ["wattgate", "documents"]]
    assert [words[0] for words in documents] == ["register", "register", "list", "require", "require", "remove"]
    for words in documents:
        done = shell.run(*(homes if word == "ID" else word for word in words))
        assert done.exit_code == 0, (words, done.output)
    assert shell.listed() == {}
