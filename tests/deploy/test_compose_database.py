"""deploy/compose-init.sql: the role of the gateways in Compose is no superuser, and its database is backed up."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import asyncpg
import pytest

from tests.deploy.files import DEPLOY
from tests.support.command import wattgate_in
from tests.support.encryption import TEST_KEYS
from tests.support.markdown import code_blocks
from tests.support.postgresql_server import PostgresqlServer, postgresql_server

PASSWORD = """it's "quoted" \\ $HOME :name"""
AUTHENTICATION = "local all wattgate scram-sha-256\nlocal all all trust\n"

IN_CONTAINER = "docker compose exec -T postgresql "
"""The start of a command of the README that runs a program of the server."""


@dataclass(frozen=True)
class Prepared:
    """A server on which the script ran, as by the image of PostgreSQL."""

    server: PostgresqlServer

    @property
    def url(self) -> str:
        """The URL of the database for the role of the gateways."""
        return f"postgresql://wattgate:{quote(PASSWORD, safe='')}@/wattgate?host={self.server.folder}"

    def run(self, *command: str, given: bytes = b"", **variables: str) -> bytes:
        """Run a program of the server as its system user. Return its output."""
        result = subprocess.run(
            command,
            env={"PATH": f"{self.server.programs}:/usr/bin:/bin", "PGHOST": str(self.server.folder), **variables},
            user=self.server.system_user,
            input=given,
            capture_output=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr.decode()
        return result.stdout

    def create_database(self) -> None:
        """Run the script with the options of the image."""
        options = ("-v", "ON_ERROR_STOP=1", "--username=postgres", "--no-password", "--no-psqlrc", "--dbname=postgres")
        script = (DEPLOY / "compose-init.sql").read_bytes()
        self.run("psql", *options, given=script, DATABASE_PASSWORD=PASSWORD)


@pytest.fixture
async def prepared() -> AsyncIterator[Prepared]:
    async with postgresql_server() as server:
        database = Prepared(server)
        await asyncio.to_thread(database.create_database)
        await asyncio.to_thread((server.folder / "pg_hba.conf").write_text, AUTHENTICATION)
        await asyncio.to_thread(database.run, "psql", "--username=postgres", "--command=SELECT pg_reload_conf()")
        yield database


def commands_of_the_readme(program: str) -> list[list[str]]:
    """Return the commands of the README that run a program in the container of PostgreSQL."""
    lines = "\n".join(code_blocks((DEPLOY / "README.md").read_text(), "sh")).splitlines()
    starts = f"{IN_CONTAINER}{program} "
    found = [line.strip().removeprefix(IN_CONTAINER) for line in lines if line.strip().startswith(starts)]
    return [line.partition(" > ")[0].partition(" < ")[0].split() for line in found]


async def upgrade(database: Prepared, folder: Path) -> None:
    done = await asyncio.to_thread(
        wattgate_in, folder, "db", "upgrade", DATABASE_URL=database.url, SECRET_KEYS=TEST_KEYS
    )
    assert done.returncode == 0, done.stderr
    assert "Row-level security is not active" not in done.stderr


async def count_policies(database: Prepared) -> int:
    """Return the number of policies that apply to the role of the gateways in its transactions."""
    connection = await asyncpg.connect(database.url)
    try:
        await connection.execute("SET ROLE wattgate_rows")
        found: int = await connection.fetchval(
            "SELECT count(*) FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid WHERE relrowsecurity"
        )
        return found
    finally:
        await connection.close()


async def test_role_of_the_gateways_is_no_superuser(prepared: Prepared) -> None:
    connection = await asyncpg.connect(prepared.url)
    try:
        rights = await connection.fetchrow(
            "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles"
            " WHERE rolname = current_user"
        )
    finally:
        await connection.close()
    assert rights is not None
    assert set(rights.values()) == {False}
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(prepared.url.replace("quoted", "other"))


@pytest.mark.long("a server of its own with a backup; its roles stay in the short form")
async def test_upgrade_activates_row_level_security_and_a_backup_keeps_it(prepared: Prepared, tmp_path: Path) -> None:
    """The commands of the README back up the database and restore it on a machine without data."""
    await upgrade(prepared, tmp_path)
    policies = await count_policies(prepared)
    assert policies > 0
    (back_up,), (restore,) = commands_of_the_readme("pg_dump"), commands_of_the_readme("pg_restore")
    dump = await asyncio.to_thread(prepared.run, *back_up)
    for statement in ("DROP DATABASE wattgate", "DROP ROLE wattgate", "DROP ROLE wattgate_rows"):
        await asyncio.to_thread(prepared.run, "psql", "--username=postgres", f"--command={statement}")
    await asyncio.to_thread(prepared.create_database)
    await asyncio.to_thread(prepared.run, *restore, given=dump)
    await upgrade(prepared, tmp_path)
    assert await count_policies(prepared) == policies
