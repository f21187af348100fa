"""Documents that applications trust: registered, found by their ids, and required."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from tests.support.house import Tenant
from wattgate.app.server.auth import Authenticator
from wattgate.db.identity.credentials import Identity
from wattgate.errors import Conflict, NotFound
from wattgate.graphql.execution.trusted_documents import StoredDocuments, stored_id
from wattgate.graphql.resolvers import trusted_documents
from wattgate.graphql.resolvers.trusted_documents import NewDocument, Registered
from wattgate.principal import Principal, Role
from wattgate.realtime.apq_store import digest_of


def document() -> str:
    """A document that nobody has registered."""
    return f"query Q{uuid4().hex} {{ accounts {{ name }} }}"


async def register(tenant: Tenant, *new: NewDocument) -> Registered:
    made = await tenant.gateway.runner.run(trusted_documents.register_documents, tenant.system, {"documents": new})
    assert isinstance(made, Registered)
    return made


async def known(tenant: Tenant) -> dict[str, str]:
    found = await tenant.gateway.runner.run(trusted_documents.registered_documents, tenant.system, {})
    return {one.document_id: one.text for one in found}


async def remove(tenant: Tenant, *ids: str) -> int:
    return int(
        await tenant.gateway.runner.run(trusted_documents.remove_documents, tenant.system, {"document_ids": ids})
    )


def stored(tenant: Tenant, **more: float) -> StoredDocuments:
    """A gateway's reader that has nothing at hand."""
    return StoredDocuments(tenant.gateway.runner, **more)  # type: ignore[arg-type]


async def test_a_document_is_found_by_its_digest_in_either_form(settled: Tenant) -> None:
    one = document()
    made = await register(settled, NewDocument(digest_of(one), one, "Q"))
    assert made == Registered(new=1, known=0)
    reader = stored(settled)
    for spelled in (digest_of(one), f"sha256:{digest_of(one)}"):
        assert await reader.text(settled.application_id, spelled) == one
    for other in (f"md5:{digest_of(one)}", digest_of(one).upper(), "sha256:" + digest_of(one)[1:], "", "?", "x" * 300):
        assert await reader.text(settled.application_id, other) is None
    assert await reader.holds(settled.application_id, one)
    assert not await reader.holds(settled.application_id, one + "\n")


async def test_a_document_is_found_by_an_id_that_a_build_has_made(settled: Tenant) -> None:
    for own in (f"{uuid4().hex}", f"x-relay:{uuid4().hex}"):
        one = document()
        await register(settled, NewDocument(own, one, "Q"), NewDocument(digest_of(one), one, "Q"))
        assert await stored(settled).text(settled.application_id, own) == one
        assert await stored(settled).holds(settled.application_id, one)


async def test_another_applications_documents_are_not_found(settled: Tenant) -> None:
    one = document()
    await register(settled, NewDocument(digest_of(one), one, "Q"))
    assert await stored(settled).text(str(uuid4()), digest_of(one)) is None
    nobodys = Principal(Role.SYSTEM, application_id="nobody")
    with pytest.raises(NotFound):
        await settled.gateway.runner.run(trusted_documents.register_documents, nobodys, {"documents": []})


async def test_what_is_registered_again_stays_as_it_is(settled: Tenant) -> None:
    one, other = document(), document()
    await register(settled, NewDocument(digest_of(one), one, "Q"))
    both = (NewDocument(digest_of(one), one, "Q"), NewDocument(digest_of(other), other, "Q"))
    assert await register(settled, *both) == Registered(new=1, known=1)


async def test_an_id_never_gets_another_text(settled: Tenant) -> None:
    one, other, own = document(), document(), uuid4().hex
    await register(settled, NewDocument(own, one, "Q"))
    with pytest.raises(Conflict, match="is registered with another text"):
        await register(settled, NewDocument(digest_of(other), other, "R"), NewDocument(own, other, "R"))
    found = await known(settled)
    assert found[own] == one
    assert digest_of(other) not in found, "nothing is registered where something is wrong"


async def test_what_is_removed_is_gone_by_all_its_ids_within_a_minute(settled: Tenant) -> None:
    one, own = document(), uuid4().hex
    await register(settled, NewDocument(own, one, "Q"), NewDocument(digest_of(one), one, "Q"))
    at_hand, forgetful = stored(settled), stored(settled, seconds=0.0)
    for reader in (at_hand, forgetful):
        assert await reader.text(settled.application_id, own) == one
    assert await remove(settled, own) == 2
    assert not {own, digest_of(one)} & set(await known(settled))
    assert await at_hand.text(settled.application_id, own) == one
    assert await forgetful.text(settled.application_id, own) is None
    assert await stored(settled).text(settled.application_id, digest_of(one)) is None
    with pytest.raises(NotFound, match=own):
        await remove(settled, own)


async def test_what_was_not_found_is_found_as_soon_as_it_is_registered(settled: Tenant) -> None:
    one, reader = document(), stored(settled)
    assert await reader.text(settled.application_id, digest_of(one)) is None
    await register(settled, NewDocument(digest_of(one), one, "Q"))
    assert await reader.text(settled.application_id, digest_of(one)) == one


async def test_a_process_keeps_so_many_documents_and_characters_and_no_more(settled: Tenant) -> None:
    several = [document() for _ in range(5)]
    await register(settled, *(NewDocument(digest_of(one), one, "Q") for one in several))
    few, small = stored(settled, most=3), stored(settled, largest=2 * len(several[0]))
    for one in several:
        for reader in (few, small):
            assert await reader.text(settled.application_id, digest_of(one)) == one
    assert (len(few), len(small)) == (3, 2)


def test_which_ids_there_are() -> None:
    digest = digest_of("")
    same = (digest, "x-relay:abc", "5d41402abc4b2a76b9719d911017c592", "Home.v1~a_b-c")
    assert [stored_id(one) for one in same] == list(same)
    assert stored_id(f"sha256:{digest}") == digest
    for other in ("sha256:", "sha256:abc", f"sha1:{digest}", "a b", "a\n", "ä", "x-:a", "x-a:b:c", "a" * 201):
        assert stored_id(other) is None


# Applications that take no other documents


@pytest.fixture
async def strict(settled: Tenant) -> AsyncIterator[Tenant]:
    """The tenant, whose application requires registered documents."""
    run = settled.gateway.runner.run
    await run(trusted_documents.require_trusted_documents, settled.system, {"required": True})
    yield settled
    await run(trusted_documents.require_trusted_documents, settled.system, {"required": False})


async def callers(tenant: Tenant) -> dict[str, bool]:
    """Whether each kind of caller is bound to registered documents, by a gateway that has nothing at hand."""
    authenticator = Authenticator(Identity(tenant.gateway.database))
    several = {**tenant.headers, "anonymous": {"applicationId": tenant.application_id}}
    found = {}
    for who, headers in several.items():
        principal = await authenticator.principal({name.lower(): value for name, value in headers.items()})
        assert principal.application_id == tenant.application_id
        found[who] = principal.trusted_only
    return found


async def test_all_callers_of_an_application_are_bound_to_what_it_requires(strict: Tenant) -> None:
    found = await callers(strict)
    assert set(found) == {
        "account",
        "account basic",
        "administrator",
        "application",
        "acting",
        "oauth",
        "anonymous",
    }
    assert all(found.values())


async def test_callers_are_free_where_nothing_is_required(settled: Tenant) -> None:
    assert not any((await callers(settled)).values())
    nobody = await Authenticator(Identity(settled.gateway.database)).principal({})
    assert not nobody.trusted_only


async def test_an_application_that_there_is_not_is_nobodys(settled: Tenant) -> None:
    authenticator = Authenticator(Identity(settled.gateway.database))
    several = {await authenticator.principal({"applicationid": str(uuid4())}) for _ in range(2)}
    assert several == {Principal(Role.ANONYMOUS, application_id="unknown")}


async def test_requiring_documents_says_how_many_there_are(settled: Tenant) -> None:
    one = document()
    await register(settled, NewDocument(digest_of(one), one, "Q"))
    run = settled.gateway.runner.run
    count = await run(trusted_documents.require_trusted_documents, settled.system, {"required": False})
    assert count == len(await known(settled))
    assert count > 0
