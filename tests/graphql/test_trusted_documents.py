"""Trusted documents: registration, look-up by id, and applications that require them."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from tests.support.house import Tenant
from wattgate.app.server.gate.auth import Authenticator
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.errors import Conflict, NotFound
from wattgate.graphql.execution.documents.persisted_documents import TrustedDocumentStore, normalize_document_id
from wattgate.operations import trusted_documents
from wattgate.operations.trusted_documents import DocumentRegistration, NewDocument
from wattgate.principal import Principal, Role
from wattgate.realtime.apq_store import digest_of


def document() -> str:
    """Return a document that nobody has registered."""
    return f"query Q{uuid4().hex} {{ resourceCounts {{ count }} }}"


async def register(tenant: Tenant, *new: NewDocument) -> DocumentRegistration:
    registration = await tenant.gateway.runner.run(
        trusted_documents.register_documents, tenant.system, {"documents": new}
    )
    assert isinstance(registration, DocumentRegistration)
    return registration


async def registered_texts(tenant: Tenant) -> dict[str, str]:
    documents = await tenant.gateway.runner.run(trusted_documents.registered_documents, tenant.system, {})
    return {registered.document_id: registered.text for registered in documents}


async def remove(tenant: Tenant, *ids: str) -> int:
    return int(
        await tenant.gateway.runner.run(trusted_documents.remove_documents, tenant.system, {"document_ids": ids})
    )


def new_store(tenant: Tenant, **more: float) -> TrustedDocumentStore:
    """Return a new store with an empty cache."""
    return TrustedDocumentStore(tenant.gateway.runner, **more)  # type: ignore[arg-type]


async def test_document_is_found_by_either_form_of_its_digest(settled: Tenant) -> None:
    text = document()
    registration = await register(settled, NewDocument(digest_of(text), text, "Q"))
    assert registration == DocumentRegistration(added=1, existing=0)
    reader = new_store(settled)
    for spelled in (digest_of(text), f"sha256:{digest_of(text)}"):
        assert await reader.get_text(settled.application_id, spelled) == text
    for other in (
        f"md5:{digest_of(text)}",
        digest_of(text).upper(),
        "sha256:" + digest_of(text)[1:],
        "",
        "?",
        "x" * 300,
    ):
        assert await reader.get_text(settled.application_id, other) is None
    assert await reader.has_text(settled.application_id, text)
    assert not await reader.has_text(settled.application_id, text + "\n")


async def test_document_is_found_by_a_custom_id(settled: Tenant) -> None:
    for custom_id in (f"{uuid4().hex}", f"x-relay:{uuid4().hex}"):
        text = document()
        await register(settled, NewDocument(custom_id, text, "Q"), NewDocument(digest_of(text), text, "Q"))
        assert await new_store(settled).get_text(settled.application_id, custom_id) == text
        assert await new_store(settled).has_text(settled.application_id, text)


async def test_documents_of_other_applications_are_not_found(settled: Tenant) -> None:
    text = document()
    await register(settled, NewDocument(digest_of(text), text, "Q"))
    assert await new_store(settled).get_text(str(uuid4()), digest_of(text)) is None
    nobodys = Principal(Role.SYSTEM, application_id="nobody")
    with pytest.raises(NotFound):
        await settled.gateway.runner.run(trusted_documents.register_documents, nobodys, {"documents": []})


async def test_document_that_is_registered_again_is_unchanged(settled: Tenant) -> None:
    text, other_text = document(), document()
    await register(settled, NewDocument(digest_of(text), text, "Q"))
    documents = (NewDocument(digest_of(text), text, "Q"), NewDocument(digest_of(other_text), other_text, "Q"))
    assert await register(settled, *documents) == DocumentRegistration(added=1, existing=1)


async def test_text_of_an_id_never_changes(settled: Tenant) -> None:
    text, other_text, custom_id = document(), document(), uuid4().hex
    await register(settled, NewDocument(custom_id, text, "Q"))
    with pytest.raises(Conflict, match="is registered with another text"):
        await register(
            settled, NewDocument(digest_of(other_text), other_text, "R"), NewDocument(custom_id, other_text, "R")
        )
    documents = await registered_texts(settled)
    assert documents[custom_id] == text
    assert digest_of(other_text) not in documents, "nothing is registered if one document is invalid"


async def test_removed_document_is_not_found_by_any_id_after_the_cache_expires(settled: Tenant) -> None:
    text, custom_id = document(), uuid4().hex
    await register(settled, NewDocument(custom_id, text, "Q"), NewDocument(digest_of(text), text, "Q"))
    caching, uncached = new_store(settled), new_store(settled, max_age_seconds=0.0)
    for reader in (caching, uncached):
        assert await reader.get_text(settled.application_id, custom_id) == text
    assert await remove(settled, custom_id) == 2
    assert not {custom_id, digest_of(text)} & set(await registered_texts(settled))
    assert await caching.get_text(settled.application_id, custom_id) == text
    assert await uncached.get_text(settled.application_id, custom_id) is None
    assert await new_store(settled).get_text(settled.application_id, digest_of(text)) is None
    with pytest.raises(NotFound, match=custom_id):
        await remove(settled, custom_id)


async def test_document_is_found_as_soon_as_it_is_registered(settled: Tenant) -> None:
    text, reader = document(), new_store(settled)
    assert await reader.get_text(settled.application_id, digest_of(text)) is None
    await register(settled, NewDocument(digest_of(text), text, "Q"))
    assert await reader.get_text(settled.application_id, digest_of(text)) == text


async def test_cache_is_limited_in_documents_and_characters(settled: Tenant) -> None:
    documents = [document() for _ in range(5)]
    await register(settled, *(NewDocument(digest_of(text), text, "Q") for text in documents))
    few_documents, few_characters = (
        new_store(settled, max_documents=3),
        new_store(settled, max_characters=2 * len(documents[0])),
    )
    for text in documents:
        for reader in (few_documents, few_characters):
            assert await reader.get_text(settled.application_id, digest_of(text)) == text
    assert (len(few_documents), len(few_characters)) == (3, 2)


def test_valid_document_ids_are_normalized() -> None:
    digest = digest_of("")
    same = (digest, "x-relay:abc", "5d41402abc4b2a76b9719d911017c592", "Home.v1~a_b-c")
    assert [normalize_document_id(document_id) for document_id in same] == list(same)
    assert normalize_document_id(f"sha256:{digest}") == digest
    for other in ("sha256:", "sha256:abc", f"sha1:{digest}", "a b", "a\n", "ä", "x-:a", "x-a:b:c", "a" * 201):
        assert normalize_document_id(other) is None


# Applications that require registered documents


@pytest.fixture
async def strict(settled: Tenant) -> AsyncIterator[Tenant]:
    """Yield the tenant with an application that requires registered documents."""
    run = settled.gateway.runner.run
    await run(trusted_documents.require_trusted_documents, settled.system, {"required": True})
    yield settled
    await run(trusted_documents.require_trusted_documents, settled.system, {"required": False})


async def callers(tenant: Tenant) -> dict[str, bool]:
    """Return whether each kind of caller is restricted to registered documents, without cached credentials."""
    authenticator = Authenticator(CredentialLookup(tenant.gateway.database))
    credentials = {**tenant.headers, "anonymous": {"applicationId": tenant.application_id}}
    trusted_only = {}
    for caller, headers in credentials.items():
        principal = await authenticator.authenticate({name.lower(): value for name, value in headers.items()})
        assert principal.application_id == tenant.application_id
        trusted_only[caller] = principal.trusted_only
    return trusted_only


async def test_required_documents_apply_to_all_callers_of_an_application(strict: Tenant) -> None:
    trusted_only = await callers(strict)
    assert set(trusted_only) == {
        "account",
        "account basic",
        "administrator",
        "application",
        "acting",
        "oauth",
        "anonymous",
        "display",
    }
    assert all(trusted_only.values())


async def test_callers_are_unrestricted_if_nothing_is_required(settled: Tenant) -> None:
    assert not any((await callers(settled)).values())
    nobody = await Authenticator(CredentialLookup(settled.gateway.database)).authenticate({})
    assert not nobody.trusted_only


async def test_unknown_application_gives_an_anonymous_principal(settled: Tenant) -> None:
    authenticator = Authenticator(CredentialLookup(settled.gateway.database))
    principals = {await authenticator.authenticate({"applicationid": str(uuid4())}) for _ in range(2)}
    assert principals == {Principal(Role.ANONYMOUS, application_id="unknown")}


async def test_requiring_documents_returns_their_number(settled: Tenant) -> None:
    text = document()
    await register(settled, NewDocument(digest_of(text), text, "Q"))
    run = settled.gateway.runner.run
    count = await run(trusted_documents.require_trusted_documents, settled.system, {"required": False})
    assert count == len(await registered_texts(settled))
    assert count > 0
