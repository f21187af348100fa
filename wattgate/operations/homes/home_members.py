"""Share a home: invite another person by a code, list and end the access, and the homes that others share.

A member reads the home with the own log-in and the header `sharedHomeId`, see `Authenticator`. The rows that it sees
are those of a paired display. The list of a home shows its owner who was invited, who has accepted, and how each access
has ended.
"""

import secrets
from datetime import timedelta
from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity.login_backoff import (
    backoff_id,
    count_failure,
    enforce_login_backoff,
    load_failures,
    restore_failures,
)
from wattgate.db.identity.secrets import hash_secret
from wattgate.db.queries import virtual_entities as queries
from wattgate.db.queries.virtual_entities import ListedMember, SharedHome
from wattgate.db.rows.pages import Condition
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.delivery.account_mails import HOME_INVITATION
from wattgate.delivery.mail_addresses import NotMailable, parse_mailbox
from wattgate.enums import HomeMemberEnd, HomeMemberState
from wattgate.errors import BadInput, Conflict, NotFound, Problem, QuotaExceeded
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.credentials.credential_endings import end_home_members
from wattgate.operations.credentials.login import require_account
from wattgate.operations.homes.home_resources import closed_home_error
from wattgate.operations.messages.account_mails import enqueue_account_mail
from wattgate.operations.messages.message_context import mail_address
from wattgate.operations.types.homes import virtual_entities as types
from wattgate.operations.types.identity import accounts as account_types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import ListSize
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.requests.client import AddressPolicy
from wattgate.values import terms
from wattgate.values.annotations import Described

MAX_MEMBERS = 10
"""Maximum members and open invitations of a home together."""

MAX_SHARED_HOMES = 50
"""Maximum homes of others that a user may read."""

INVITATION_LIFETIME = timedelta(days=7)
"""Time in which an invitation can be accepted. Afterwards it stays in the list of the home for as long again."""

ENDED_LIFETIME = timedelta(days=730)
"""Time in which an access that has ended stays in the list of the home, which is the default of the access log."""

KEPT_ENDED = 50
"""Maximum ended accesses and invitations in the list of a home. Above it, the next invitation deletes the oldest."""

OPEN_STATES = (HomeMemberState.INVITED, HomeMemberState.JOINED)

CODE_ALPHABET = "23456789BCDFGHJKMNPQRSTVWXZ"
"""The characters of invitation codes, which are those of the user codes of displays."""

CODE_CHARACTERS = 12
"""Characters of a code. There are 1.5 * 10**17 codes, because a code lasts days, not minutes as that of a display."""

_BACKOFF_KIND = "homeInvitation"

InvitationCode = Annotated[
    terms.Text100, Described("Code of the invitation, in any case and with any separators, such as BCDF-2345-GHJK.")
]


@operation(
    OperationKind.QUERY,
    returns=list[types.HomeMember],
    needs=Permission.HOME_MEMBER_READ,
    rest=RestRoute("GET", "/virtualentity/{veId}/member", Tag.SHARED_HOMES),
    sizes=[ListSize(2)],
    in_graphql=("home", "members"),
)
async def home_members(call: Call, *, ve_id: ids.VeId) -> list[ListedMember]:
    """List the people whom the owner has invited to a home, oldest first, with those whose access has ended.

    A member of the home sees the present members, without e-mail addresses.
    """
    home = await call.rows.get(models.VirtualEntity, ve_id)
    return (await queries.members(call.rows, [home]))[0]


@operation(
    OperationKind.MUTATION,
    returns=types.HomeInvitation,
    needs=Permission.HOME_MEMBER_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/virtualentity/{veId}/member", Tag.SHARED_HOMES, status=201),
    raises=(Conflict, QuotaExceeded),
)
async def invite_home_member(
    call: Call,
    *,
    ve_id: ids.VeId,
    name: Annotated[terms.Text100, Described("Name by which the owner knows the person, such as Grace.")],
    email: Annotated[
        terms.Address,
        Described("E-mail address that gets the code. Only an account with it can accept the invitation."),
    ]
    | None = None,
) -> types.HomeInvitation:
    """Invite another person to read a home, with a code that is valid for 7 days and once.

    The person accepts it with `acceptHomeInvitation` and an own log-in. With `email`, the code is sent there and not
    returned. A home has at most 10 members and open invitations together.
    """
    address = None if email is None else _clean_address(email)
    home = await call.rows.edit(models.VirtualEntity, ve_id)  # lock it, so that concurrent invitations are counted
    if not home.active:
        raise closed_home_error(ve_id)
    await _make_room(call.rows, ve_id)
    code = _new_code()
    member = await call.rows.add(
        models.HomeMember(
            ve_id=ve_id,
            user_id=home.owner_id,
            name=_require_name(name),
            email=address,
            digest=_code_digest(call.rows, code),
            created_at=call.rows.now,
            expires_at=call.rows.now + INVITATION_LIFETIME,
        )
    )
    if address is not None:
        account = await _account_of(call.rows, home.owner_id)
        await enqueue_account_mail(call, HOME_INVITATION, account, address, code=code, expires_at=member.expires_at)
    return types.HomeInvitation(code=None if address else code, member=queries.listed_member(member, call.rows.now))  # type: ignore[arg-type] # it has the attributes of the type


@operation(
    OperationKind.MUTATION,
    returns=types.HomeMember,
    needs=Permission.HOME_MEMBER_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", "/virtualentity/{veId}/member/{memberId}", Tag.SHARED_HOMES),
    rest_result=account_types.DONE,
)
async def remove_member_from_home(call: Call, *, ve_id: ids.VeId, member_id: ids.MemberId) -> ListedMember:
    """End the access of a member to a home, or withdraw an invitation. All gateways close its connections in 1 second.

    The entry stays in the list of the home, so that its owner sees how the access has ended.
    """
    found = await call.rows.first(models.HomeMember, *_is_open(member_id), col(models.HomeMember.ve_id) == ve_id)
    if found is None:
        raise NotFound(f"Home {ve_id} has no member or invitation with ID {member_id} that has not ended.")
    reason = HomeMemberEnd.WITHDRAWN if found.joined_at is None else HomeMemberEnd.REMOVED
    await end_home_members(call, call.rows, reason, *_is_open(member_id))
    return queries.listed_member(await call.rows.get(models.HomeMember, member_id), call.rows.now)


@operation(
    OperationKind.MUTATION,
    returns=types.SharedHome,
    needs=Permission.SHARED_HOME_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/sharedhome", Tag.SHARED_HOMES, status=201),
    raises=(NotFound, Conflict, QuotaExceeded),
)
async def accept_home_invitation(call: Call, *, code: InvitationCode) -> SharedHome:
    """Accept the invitation with a code, for the user of the calling account. Wrong codes are counted.

    To read the home, send the own credentials with its ID in the header `sharedHomeId`.
    """
    account = await require_account(call)
    invitation = await _find_invitation(call, account, code)
    with call.rows.whole_application() as rows:
        of_user = col(models.HomeMember.member_user_id) == account.user_id, col(models.HomeMember.ended_at).is_(None)
        homes = [member.ve_id for member in await rows.all(models.HomeMember, *of_user)]
        if account.user_id == invitation.user_id:
            raise Conflict(f"Home {invitation.ve_id} is your own. Give the code to another person.")
        if invitation.ve_id in homes:
            raise Conflict(f"You may read home {invitation.ve_id} already. See sharedHomes.")
        if len(homes) >= MAX_SHARED_HOMES:
            raise QuotaExceeded(f"You may read {MAX_SHARED_HOMES} homes of others, which is the maximum. Leave one.")
        is_unused = *_is_open(invitation.member_id), col(models.HomeMember.joined_at).is_(None)
        values = {"member_user_id": account.user_id, "joined_at": rows.now, "digest": None, "email": None}
        if not await rows.update(models.HomeMember, *is_unused, **values):
            raise _unknown_code()  # another call was faster
        for accepted in await queries.shared_homes_of(rows, account.user_id, invitation.ve_id):
            return accepted
    raise Conflict("The owner of the home is suspended or has no open account. Accept the invitation later.")


@operation(
    OperationKind.QUERY,
    returns=list[types.SharedHome],
    needs=Permission.SHARED_HOME_READ,
    rest=RestRoute("GET", "/sharedhome", Tag.SHARED_HOMES),
    sizes=[ListSize(1)],
    in_graphql=("viewer", "sharedHomes"),
)
async def shared_homes(call: Call) -> list[SharedHome]:
    """List the homes of others that the acting user may read, oldest access first."""
    with call.rows.whole_application() as rows:
        return await queries.shared_homes_of(rows, require_user_id(call))


@operation(
    OperationKind.MUTATION,
    returns=types.SharedHome,
    needs=Permission.SHARED_HOME_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", "/sharedhome/{veId}", Tag.SHARED_HOMES),
    rest_result=account_types.DONE,
)
async def leave_shared_home(call: Call, *, ve_id: ids.VeId) -> SharedHome:
    """End the acting user's access to a home of another user. Its owner can invite the user again."""
    user_id = require_user_id(call)
    with call.rows.whole_application() as rows:
        of_user = col(models.HomeMember.member_user_id) == user_id, col(models.HomeMember.ended_at).is_(None)
        left = await rows.first(models.HomeMember, *of_user, col(models.HomeMember.ve_id) == ve_id)
        if left is not None and left.joined_at is not None:
            home = await rows.get(models.VirtualEntity, ve_id)
            await end_home_members(call, rows, HomeMemberEnd.LEFT, *_is_open(left.member_id))
            return SharedHome(left.member_id, home.ve_id, home.name, left.joined_at)
    raise NotFound(f"No home with ID {ve_id} is shared with you.")


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_old_members(call: Call) -> list[str]:
    """Return the applications with invitations or ended accesses that are kept no longer."""
    return await call.rows.application_ids_with(models.HomeMember, _is_old(call.rows))


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def purge_members(call: Call) -> None:
    """Delete the invitations and the ended accesses of the application that are kept no longer."""
    await call.rows.delete(models.HomeMember, _is_old(call.rows))


def _is_old(rows: Rows) -> Condition:
    """Return the condition on invitations that nobody has accepted, and on accesses that ended long ago."""
    is_unused = col(models.HomeMember.joined_at).is_(None)
    has_expired = col(models.HomeMember.expires_at) <= rows.now - INVITATION_LIFETIME
    return (is_unused & has_expired) | (col(models.HomeMember.ended_at) <= rows.now - ENDED_LIFETIME)


async def _make_room(rows: Rows, ve_id: str) -> None:
    """Raise QuotaExceeded if a home has all members and invitations that it may have. Delete the oldest ended ones."""
    of_home = col(models.HomeMember.ve_id) == ve_id
    members = await rows.all(models.HomeMember, of_home, order_by=[models.HomeMember.created_at])
    ended = [one.member_id for one in members if queries.state_of(one, rows.now) not in OPEN_STATES]
    if len(members) - len(ended) >= MAX_MEMBERS:
        raise QuotaExceeded(
            f"Home {ve_id} has {MAX_MEMBERS} members and open invitations, which is the maximum. Remove one first."
        )
    if surplus := ended[: len(ended) - KEPT_ENDED + 1] if len(ended) >= KEPT_ENDED else []:
        await rows.delete(models.HomeMember, col(models.HomeMember.member_id).in_(surplus))


async def _find_invitation(call: Call, account: models.Account, code: str) -> models.HomeMember:
    """Return the open invitation with a code. Count a wrong code against the user, and charge the client's address.

    Raise NotFound with the same message for each code that is unknown, expired, withdrawn, used, or for another e-mail
    address than that of the account, and RateLimited after several wrong codes.
    """
    key = backoff_id(call.rows, None, account.user_id, _BACKOFF_KIND)
    failures, failed_at = await load_failures(call.rows, key)
    enforce_login_backoff(failures, failed_at, call.rows.now, "wrong codes")
    call.charge_address(AddressPolicy.CODE)
    await count_failure(call.rows, key)  # before the look-up, so that guesses at once are counted
    with call.rows.whole_application() as rows:
        invitation = await rows.first(
            models.HomeMember,
            col(models.HomeMember.digest) == _code_digest(rows, code),
            col(models.HomeMember.expires_at) > rows.now,
            col(models.HomeMember.ended_at).is_(None),
        )
    if invitation is None or invitation.email not in (None, (mail_address(account) or "").lower()):
        raise _unknown_code()
    await restore_failures(call.rows, key, failures, failed_at)
    call.refund_address(AddressPolicy.CODE)
    return invitation


def _is_open(member_id: str) -> tuple[Condition, Condition]:
    """Return the conditions on a member or an invitation that has not ended."""
    return col(models.HomeMember.member_id) == member_id, col(models.HomeMember.ended_at).is_(None)


def _unknown_code() -> NotFound:
    """Return the error for every code that cannot be accepted. It does not reveal why."""
    return NotFound(
        "The code is unknown, has expired, was used already, or is for another e-mail address. Check it, or ask for a "
        "new invitation.",
        commits_changes=True,
    )


def _new_code() -> str:
    code = "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_CHARACTERS))
    return f"{code[:4]}-{code[4:8]}-{code[8:]}"


def _code_digest(rows: Rows, code: str) -> bytes:
    """Return the digest of a code in any case and with any separators, for the application."""
    characters = "".join(character for character in code.upper() if character.isalnum())
    return hash_secret(f"{rows.application_id}:home:{characters}")


def _clean_address(email: str) -> str:
    """Return an address in lower case. Raise BadInput if it is none."""
    try:
        return parse_mailbox(email).address.lower()
    except NotMailable as error:
        raise BadInput(str(error), problems=[Problem(("email",), "is not an e-mail address")]) from None


async def _account_of(rows: Rows, user_id: str) -> models.Account:
    """Return the oldest open account of a user, whose mail an invitation is. Raise Conflict if there is none."""
    is_open = col(models.Account.user_id) == user_id, col(models.Account.active).is_(True)
    account = await rows.first(models.Account, *is_open, order_by=[models.Account.created_at])
    if account is None:
        raise Conflict("The owner of the home has no open account. Invite without email, and pass on the code.")
    return account


def _require_name(name: str) -> str:
    """Return a name in one line, without surrounding white space. Raise BadInput if it is empty."""
    cleaned = " ".join(name.split())
    if not cleaned:
        raise BadInput("A member needs a name, such as Grace.", problems=[Problem(("name",), "is empty")])
    return cleaned
