"""`wattgate app add-directory` adds an OpenID Connect provider to an application."""

import asyncio
import re
from pathlib import Path
from subprocess import CompletedProcess

from tests.support.command import wattgate_in
from tests.support.openid import chosen_provider
from tests.support.sqlite_files import execute


def test_directory_is_added_with_its_rules(tmp_path: Path) -> None:
    assert wattgate_in(tmp_path, "db", "upgrade").returncode == 0
    created = wattgate_in(tmp_path, "app", "create", "Mine", "--username", "mine")
    (application_id,) = re.findall(r"id\s+(\S+)", created.stdout)
    add = ("app", "add-directory", application_id, "https://id.example", "--audience", "my-app")
    added = wattgate_in(tmp_path, *add, "--audience", "other", "--rule", "link", "--algorithm", "ES256", "--no-try")
    assert added.returncode == 0, added.stderr
    (directory_id,) = re.findall(r"Directory id\s+(\S+)", added.stdout)
    columns = "directory_id, application_id, issuer, audiences, algorithms, account_rule"
    stored = execute(tmp_path, f"SELECT {columns} FROM directory")
    expected = ("https://id.example", '["my-app","other"]', '["ES256"]', "LINK")
    assert stored == [(directory_id, application_id, *expected)]
    for wrong, problem in (("none", "algorithms"), ("HS256", "algorithms")):
        refused = wattgate_in(tmp_path, *add, "--algorithm", wrong)
        assert (refused.returncode, problem in refused.stderr) == (1, True), refused.stderr


async def test_provider_is_tried_when_it_is_added_and_by_doctor(tmp_path: Path) -> None:
    def run(*words: str) -> CompletedProcess[str]:
        return wattgate_in(tmp_path, *words, CALLOUT_NETWORKS='["127.0.0.0/8"]', CALLOUT_HTTP="true")

    await asyncio.to_thread(run, "db", "upgrade")
    await asyncio.to_thread(run, "app", "create", "Mine", "--username", "mine")
    async with chosen_provider() as provider:
        add = ("app", "add-directory", "Mine", provider.issuer, "--audience", "my-app", "--name", "People")
        for changed, reason in (
            ({"metadata": {"issuer": f"{provider.issuer}/"}}, "its metadata name another issuer"),
            ({"raw": b"<html>"}, "does not return a complete JSON object"),
            ({"keys": {}}, "its key set has no usable key for RS256"),
            ({"status": 503}, "responds with status 503"),
        ):
            kept = {name: getattr(provider, name) for name in changed}
            vars(provider).update(changed)
            refused = await asyncio.to_thread(run, *add)
            assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused
            assert f"BAD_INPUT: {provider.issuer} cannot be used: " in refused.stderr
            assert reason in refused.stderr
            vars(provider).update(kept)
        assert (await asyncio.to_thread(run, *add)).returncode == 0
        checked = await asyncio.to_thread(run, "doctor")
        assert f"ok      directory People   {provider.issuer} answers" in checked.stdout
        provider.keys = {}
        checked = await asyncio.to_thread(run, "doctor")
        assert f"ERROR   directory People   {provider.issuer} cannot be used: its key set" in checked.stdout
        assert checked.returncode == 1
