"""A home that its owner shares with another person, who reads it with an own log-in, on both interfaces."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import col
from strawberry import ID

from tests.graphql.test_access_log import flush
from tests.realtime.test_server_sent_events import EVENT_STREAM_HEADERS, stream
from tests.support import people
from tests.support.house import PASSWORD, House, Tenant
from tests.support.refusals import refusals
from tests.support.residents import resident
from tests.support.socket import socket
from tests.support.timed import Timed
from wattgate.app.workers.maintenance import maintain_once
from wattgate.db.identity.login_backoff import FREE_ATTEMPTS
from wattgate.db.models import HomeMember
from wattgate.delivery.account_mails import HOME_INVITATION
from wattgate.operations.homes.home_members import (
    CODE_ALPHABET,
    ENDED_LIFETIME,
    INVITATION_LIFETIME,
    KEPT_ENDED,
    MAX_MEMBERS,
)
from wattgate.operations.types.identity.accounts import NewAccount

Headers = dict[str, str]

INVITE = """mutation ($homeId: ID!, $name: String!) { inviteHomeMember(homeId: $homeId, name: $name) {
  ... on HomeInvitation { code member { memberId homeId name state memberUserId expiresAt } } ...Refused } }"""
INVITE_BY_MAIL = """mutation ($homeId: ID!, $name: String!, $email: String!) {
  inviteHomeMember(homeId: $homeId, name: $name, email: $email) {
  ... on HomeInvitation { code member { email } } ...Refused } }"""
EMAILS = "query ($homeId: ID!) { home(homeId: $homeId) { members { email state } } }"
ACCEPT = """mutation ($code: String!) { acceptHomeInvitation(code: $code) {
  ... on SharedHome { memberId homeId name } ...Refused } }"""
REMOVE = """mutation ($homeId: ID!, $memberId: ID!) { removeMemberFromHome(homeId: $homeId, memberId: $memberId) {
  ... on HomeMember { memberId state endReason } ...Refused } }"""
LEAVE = "mutation ($homeId: ID!) { leaveSharedHome(homeId: $homeId) { ... on SharedHome { homeId } ...Refused } }"
MEMBERS = "query ($homeId: ID!) { home(homeId: $homeId) { members { memberId name state memberUserId endReason } } }"
SHARED = "{ viewer { sharedHomes { homeId name memberId } } }"
HOME = (
    "query ($homeId: ID!) { home(homeId: $homeId) { name resources { resourceId readings: rawReadings { value } } } }"
)
DISPLAY = "subscription ($homeId: ID!) { display(homeId: $homeId) { name } }"


@dataclass
class Sharing:
    """The owner of two homes, and a person with an own home."""

    house: House
    owner: Tenant
    sister: Tenant
    home_id: str

    @property
    def mine(self) -> Headers:
        return self.owner.headers["account"]

    @property
    def hers(self) -> Headers:
        return self.sister.headers["account"]

    @property
    def inside(self) -> Headers:
        """The headers with which the person reads the home of the owner."""
        return {**self.hers, "sharedHomeId": self.home_id}

    async def ask(self, query: str, headers: Headers, **variables: Any) -> Any:
        """Return the only field of a document that succeeds."""
        answer = await self.house.graphql(query, headers, **variables)
        assert not refusals(answer), answer
        (result,) = answer["data"].values()
        return result

    async def code_of(self, query: str, headers: Headers, **variables: Any) -> str | None:
        """Return the code of the error or the refusal of a document; None if it succeeds."""
        found = refusals(await self.house.graphql(query, headers, **variables))
        return str(found[0]["code"]) if found else None

    async def invite(self, name: str = "Grace") -> Any:
        return await self.ask(INVITE, self.mine, homeId=self.home_id, name=name)

    async def share(self) -> str:
        """Let the person accept an invitation, and return the ID of the access."""
        accepted = await self.ask(ACCEPT, self.hers, code=(await self.invite())["code"])
        return str(accepted["memberId"])

    async def reads(self) -> str | None:
        """Return the code of the error with which the person reads the home; None if it succeeds."""
        return await self.code_of(HOME, self.inside, homeId=self.home_id)


async def share_between(house: House) -> Sharing:
    owner, sister = await resident(house.one), await resident(house.one)
    resource_id = owner.ids["resource"] = await owner.add_resource("Shared")
    await owner.record(resource_id, (datetime(2026, 1, 5, tzinfo=UTC), "0.75"))
    await owner.add_home(await owner.add_resource("Not shared"))
    await sister.add_home(await sister.add_resource("Hers"))
    return Sharing(house, owner, sister, await owner.add_home(resource_id))


@pytest.fixture
async def sharing(served: House) -> Sharing:
    return await share_between(served)


async def test_person_reads_the_home_and_its_owner_sees_it_in_both_interfaces(sharing: Sharing) -> None:
    ask, home_id = sharing.ask, sharing.home_id
    invitation = await sharing.invite("  Grace\n Hopper ")
    assert invitation["member"] == {
        **invitation["member"],
        "homeId": home_id,
        "name": "Grace Hopper",
        "state": "INVITED",
        "memberUserId": None,
    }
    assert set(invitation["code"]) <= {*CODE_ALPHABET, "-"}
    assert await sharing.reads() == "FORBIDDEN"
    accepted = await ask(ACCEPT, sharing.hers, code=invitation["code"].lower().replace("-", " "))
    assert accepted == {"memberId": invitation["member"]["memberId"], "homeId": home_id, "name": "Home"}

    (member,) = (await ask(MEMBERS, sharing.mine, homeId=home_id))["members"]
    assert (member["state"], member["memberUserId"]) == ("JOINED", sharing.sister.user_id)
    assert (await ask(SHARED, sharing.hers))["sharedHomes"] == [
        {"homeId": home_id, "name": "Home", "memberId": member["memberId"]}
    ]
    resources = [{"resourceId": sharing.owner.ids["resource"], "readings": {"value": [0.75]}}]
    assert (await ask(HOME, sharing.inside, homeId=home_id))["resources"] == resources
    assert (await ask(MEMBERS, sharing.inside, homeId=home_id))["members"] == [member]
    own = await ask("{ viewer { homes { edges { node { resources { name } } } } } }", sharing.hers)
    assert [edge["node"]["resources"] for edge in own["homes"]["edges"]] == [[{"name": "Hers"}]]

    call = sharing.house.call
    path = f"/virtualentity/{home_id}"
    assert [home["veId"] for home in (await call("GET", "/virtualentity", sharing.inside)).json()] == [home_id]
    assert [home["veId"] for home in (await call("GET", "/sharedhome", sharing.hers)).json()] == [home_id]
    assert [one["memberId"] for one in (await call("GET", f"{path}/member", sharing.mine)).json()] == [
        member["memberId"]
    ]
    assert (await call("DELETE", f"{path}/member/{member['memberId']}", sharing.mine)).status_code == 200
    assert (await call("GET", path, sharing.inside)).status_code == 403
    assert (await call("GET", "/sharedhome", sharing.hers)).json() == []
    invited = await call("POST", f"{path}/member", sharing.mine, json={"name": "Grace"})
    again = await call("POST", "/sharedhome", sharing.hers, json={"code": invited.json()["code"]})
    assert (invited.status_code, again.status_code) == (201, 201)
    assert (await call("GET", path, sharing.inside)).json()["veId"] == home_id
    assert (await call("DELETE", f"/sharedhome/{home_id}", sharing.hers)).status_code == 200
    assert (await call("GET", path, sharing.inside)).status_code == 403
    ends = [(one["state"], one["endReason"]) for one in (await ask(MEMBERS, sharing.mine, homeId=home_id))["members"]]
    assert ends == [("ENDED", "REMOVED"), ("ENDED", "LEFT")]


async def remove(sharing: Sharing, member_id: str) -> None:
    await sharing.ask(REMOVE, sharing.mine, homeId=sharing.home_id, memberId=member_id)


async def leave(sharing: Sharing, member_id: str) -> None:
    await sharing.ask(LEAVE, sharing.hers, homeId=sharing.home_id)


async def close_home(sharing: Sharing, member_id: str) -> None:
    await sharing.house.call("DELETE", f"/virtualentity/{sharing.home_id}", sharing.mine)


async def suspend_owner(sharing: Sharing, member_id: str) -> None:
    path = f"/user/{sharing.owner.user_id}/suspension"
    await sharing.house.call("PUT", path, sharing.owner.headers["application"], json={})


async def erase_owner(sharing: Sharing, member_id: str) -> None:
    await sharing.house.call("DELETE", f"/user/{sharing.owner.user_id}", sharing.owner.headers["application"])


async def erase_member(sharing: Sharing, member_id: str) -> None:
    await sharing.house.call("DELETE", f"/user/{sharing.sister.user_id}", sharing.owner.headers["application"])


ENDS: tuple[Callable[[Sharing, str], Awaitable[None]], ...] = (
    remove,
    leave,
    close_home,
    suspend_owner,
    erase_owner,
    erase_member,
)


@pytest.mark.every_case("each case ends the access in another way")
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
async def test_access_ends_at_once_for_requests_and_open_connections(sharing: Sharing, end: Any) -> None:
    """The own connection of the person stays open, unless the person is erased."""
    member_id = await sharing.share()
    body = {"query": DISPLAY, "variables": {"homeId": sharing.home_id}}
    headers = {**sharing.inside, **EVENT_STREAM_HEADERS}
    async with (
        socket(sharing.house.url) as inside,
        socket(sharing.house.url) as own,
        stream(sharing.house, headers=headers, json=body) as events,
    ):
        assert (await events.next_data())["data"]["display"] == {"name": "Home"}
        await inside.init(**sharing.inside)
        await own.init(**sharing.hers)
        await inside.subscribe(DISPLAY, homeId=sharing.home_id)
        assert (await inside.payload())["data"]["display"] == {"name": "Home"}
        await end(sharing, member_id)
        assert await inside.rest() == []
        assert inside.connection.close_code == 4403
        assert (await events.event())["event"] == "next"  # the error
        assert (await events.event())["event"] == "complete"
        if end is not erase_member:
            assert await own.heard() == []
    assert await sharing.reads() == ("UNAUTHENTICATED" if end is erase_member else "FORBIDDEN")


async def test_access_does_not_return_when_its_home_is_opened_again(sharing: Sharing) -> None:
    await sharing.share()
    await close_home(sharing, "")
    opened = await sharing.house.call("PUT", f"/virtualentity/{sharing.home_id}", sharing.mine, json={"active": True})
    assert opened.status_code == 201
    assert await sharing.reads() == "FORBIDDEN"
    (member,) = (await sharing.ask(MEMBERS, sharing.mine, homeId=sharing.home_id))["members"]
    assert member["endReason"] == "HOME_CLOSED"


async def test_header_serves_members_with_their_own_log_in_only(sharing: Sharing, served: House) -> None:
    member_id = await sharing.share()
    stranger = await resident(served.one)
    shared = {"sharedHomeId": sharing.home_id}
    for headers in (
        stranger.headers["account"],
        sharing.mine,
        served.other.headers["account"],
        served.one.headers["oauth"],
        served.one.headers["display"],
        sharing.sister.headers["application"],
        sharing.sister.headers["acting"],
        {**sharing.owner.headers["application"], "userId": sharing.owner.user_id},
    ):
        assert await sharing.code_of(HOME, {**headers, **shared}, homeId=sharing.home_id) == "FORBIDDEN"
    basic = {**sharing.sister.headers["account basic"], **shared}
    assert await sharing.code_of(HOME, basic, homeId=sharing.home_id) is None
    for query in (SHARED, "{ viewer { userId } }"):
        assert await sharing.code_of(query, sharing.inside) == "FORBIDDEN"
    for document in (REMOVE, LEAVE, INVITE):
        known = {"homeId": sharing.home_id, "memberId": member_id, "name": "Eve"}
        variables = {name: value for name, value in known.items() if f"${name}" in document}
        assert await sharing.code_of(document, sharing.inside, **variables) == "FORBIDDEN"
        if document is not LEAVE:
            assert await sharing.code_of(document, sharing.hers, **variables) == "NOT_FOUND"


async def test_owner_sees_the_reads_of_a_member_in_the_access_log(sharing: Sharing) -> None:
    await sharing.share()
    assert await sharing.reads() is None
    await flush(sharing.house)
    document = "{ viewer { accessLog { edges { node { role purpose reader readerUserId own } } } } }"
    found = await sharing.ask(document, sharing.mine)
    assert [edge["node"] for edge in found["accessLog"]["edges"]] == [
        {
            "role": "member",
            "purpose": "shared home",
            "reader": f"account:{sharing.sister.account_id}",
            "readerUserId": sharing.sister.user_id,
            "own": False,
        }
    ]
    assert (await sharing.ask(document, sharing.hers))["accessLog"]["edges"] == []


async def test_each_code_that_cannot_be_accepted_has_the_same_answer(timed: Timed) -> None:
    sharing = await share_between(timed.house)
    codes = {
        "used": (await sharing.invite())["code"],
        "withdrawn": (withdrawn := await sharing.invite())["code"],
        "expired": (await sharing.invite())["code"],
        "unknown": "BCDF-2345-GHJK",
    }
    await sharing.ask(ACCEPT, sharing.hers, code=codes["used"])
    await remove(sharing, withdrawn["member"]["memberId"])
    timed.pass_time(INVITATION_LIFETIME)
    strangers = [await resident(timed.house.one) for _ in codes]
    answers = [
        await timed.house.graphql(ACCEPT, stranger.headers["account basic"], code=code)
        for stranger, code in zip(strangers, codes.values(), strict=True)
    ]
    assert all(answer == answers[0] for answer in answers)
    assert refusals(answers[0])[0]["code"] == "NOT_FOUND"
    guesses = [
        await sharing.code_of(ACCEPT, strangers[0].headers["account basic"], code="WRNG-WRNG-WRNG")
        for _ in range(FREE_ATTEMPTS)
    ]
    assert guesses == ["NOT_FOUND"] * (FREE_ATTEMPTS - 1) + ["RATE_LIMITED"]


async def test_invitation_by_mail_is_for_the_account_with_the_address(sharing: Sharing) -> None:
    address = sharing.sister.username
    values = {"homeId": sharing.home_id, "name": "<b>Grace</b>", "email": address.upper()}
    invited = await sharing.ask(INVITE_BY_MAIL, sharing.mine, **values)
    assert invited == {"code": None, "member": {"email": address}}
    code = await people.newest_code(sharing.owner, sharing.owner.account_id, HOME_INVITATION)
    stranger = await resident(sharing.house.one)
    assert await sharing.code_of(ACCEPT, stranger.headers["account"], code=code) == "NOT_FOUND"
    assert await sharing.code_of(ACCEPT, sharing.hers, code=code) is None
    (member,) = (await sharing.ask(EMAILS, sharing.mine, homeId=sharing.home_id))["members"]
    assert member == {"email": None, "state": "JOINED"}
    await sharing.ask(INVITE_BY_MAIL, sharing.mine, **{**values, "email": "open@example.org"})
    assert (await sharing.ask(EMAILS, sharing.inside, homeId=sharing.home_id))["members"] == [member]


async def test_owner_cannot_accept_and_a_member_not_twice(sharing: Sharing) -> None:
    code = (await sharing.invite())["code"]
    assert await sharing.code_of(ACCEPT, sharing.mine, code=code) == "CONFLICT"
    await sharing.share()
    assert await sharing.code_of(ACCEPT, sharing.hers, code=code) == "CONFLICT"


async def resume_owner(sharing: Sharing) -> None:
    path = f"/user/{sharing.owner.user_id}/suspension"
    await sharing.house.call("DELETE", path, sharing.owner.headers["application"])


async def close_accounts(sharing: Sharing, member_id: str) -> None:
    application = sharing.owner.headers["application"]
    user = (await sharing.house.call("GET", f"/user/{sharing.owner.user_id}", application)).json()
    for account in user["applications"]:
        await sharing.house.call("DELETE", f"/account/{account['accountId']}", application)


async def open_account(sharing: Sharing) -> None:
    user_id = ID(sharing.owner.user_id)
    account = NewAccount(username=f"again-{user_id}", user_id=user_id, password=PASSWORD)
    await sharing.owner.run("add_account", input=account)


@pytest.mark.parametrize(("end", "resume"), [(suspend_owner, resume_owner), (close_accounts, open_account)])
async def test_invitation_of_an_absent_owner_waits_and_a_member_can_leave_meanwhile(
    sharing: Sharing, end: Any, resume: Any
) -> None:
    code = (await sharing.invite())["code"]
    await end(sharing, "")
    assert await sharing.code_of(ACCEPT, sharing.hers, code=code) == "CONFLICT"
    await resume(sharing)
    assert await sharing.code_of(ACCEPT, sharing.hers, code=code) is None
    assert await sharing.reads() is None
    assert len((await sharing.ask(SHARED, sharing.hers))["sharedHomes"]) == 1
    await end(sharing, "")
    assert await sharing.reads() == "FORBIDDEN"
    assert (await sharing.ask(SHARED, sharing.hers))["sharedHomes"] == []
    assert await sharing.code_of(LEAVE, sharing.hers, homeId=sharing.home_id) is None
    assert await sharing.code_of(LEAVE, sharing.hers, homeId=sharing.home_id) == "NOT_FOUND"


async def test_home_has_few_members_and_keeps_a_bounded_history(sharing: Sharing) -> None:
    invited = [(await sharing.invite())["member"]["memberId"] for _ in range(MAX_MEMBERS)]
    variables = {"homeId": sharing.home_id, "name": "Eve"}
    assert await sharing.code_of(INVITE, sharing.mine, **variables) == "QUOTA_EXCEEDED"
    for member_id in invited:
        await remove(sharing, member_id)
    for _ in range(KEPT_ENDED):
        await remove(sharing, (await sharing.invite())["member"]["memberId"])
    members = (await sharing.ask(MEMBERS, sharing.mine, homeId=sharing.home_id))["members"]
    assert len(members) == KEPT_ENDED
    assert not {member["memberId"] for member in members} & set(invited)


async def test_old_invitations_and_ended_accesses_are_deleted(timed: Timed) -> None:
    sharing = await share_between(timed.house)
    member_id = await sharing.share()
    await sharing.invite("Unanswered")

    async def kept() -> list[str]:
        await maintain_once(timed.house.gateway.runner)
        of_home = col(HomeMember.ve_id) == sharing.home_id
        return [one.name for one in await people.read(timed.house.one, lambda rows: rows.all(HomeMember, of_home))]

    timed.pass_time(INVITATION_LIFETIME * 2 - timedelta(seconds=1))
    assert sorted(await kept()) == ["Grace", "Unanswered"]
    timed.pass_time(timedelta(seconds=1))
    assert await kept() == ["Grace"]
    by_password = sharing.owner.headers["account basic"]
    await sharing.ask(REMOVE, by_password, homeId=sharing.home_id, memberId=member_id)
    timed.pass_time(ENDED_LIFETIME)
    assert await kept() == []
