"""A random walk over accounts and credentials, compared with a model of the valid ones."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
from strawberry import ID

from tests.support.chance import examples, fuzzing
from tests.support.endings import (
    Act,
    Authenticate,
    Caller,
    change_password,
    close_account,
    close_home,
    confirm_second_factor,
    erase_user,
    log_out,
    reset_password,
    revoke_token,
    rotate_secret,
)
from tests.support.house import House, house
from tests.support.refusals import refusals
from tests.support.servers import Databases
from tests.support.socket import Socket, socket
from wattgate.operations.credentials import second_factor
from wattgate.principal import Principal

pytestmark = pytest.mark.both_databases("processes learn of changes from the database")

FORBIDDEN = 4403

NEW_TOKEN = "mutation { createToken { ... on IssuedToken { token } ...Refused } }"

MAX_STEPS_OF_A_PERSON = 12
"""A person with more steps would reach the bounds of mails and codes."""

PEOPLE = 2
"""The number of people whose accounts are open at the same time."""

STEPS = 50
SEED = 1_865
"""SQLite has this seed, and PostgreSQL the next one.

With both, the steps add each kind of credential, and each act ends each kind that it can end. One pair is left to
`test_held_operations.py`: a new password ends the token of an OAuth client.
"""

KINDS: tuple[Authenticate, ...] = (
    Caller.by_token,
    Caller.by_password,
    Caller.by_oauth_client,
    Caller.by_display,
    Caller.by_acting_application,
    Caller.by_application,
)

OF_ACCOUNT = (Caller.by_token, Caller.by_password, Caller.by_oauth_client, Caller.by_display)
"""The kinds that end with their account."""


@dataclass
class Person:
    """A user with an account, as the model sees it."""

    caller: Caller
    steps: int = 0
    is_open: bool = True
    has_factor: bool = False


@dataclass
class Credential:
    """A credential with its connection, as the model sees it."""

    person: Person
    kind: Authenticate
    principal: Principal
    headers: dict[str, str]
    client: Socket
    password: str
    secret: str
    is_ended: bool = False
    refusals: int = 0

    @property
    def max_refusals(self) -> int:
        """After how many checks an ended credential is left out. Wrong passwords would delay the right one."""
        return 1 if self.password_alone else 3

    @property
    def password_alone(self) -> bool:
        return self.kind is Caller.by_password

    def may_act(self, secret: str) -> bool:
        """Return whether requests with it succeed. `secret` is that of the application now."""
        if self.kind in (Caller.by_application, Caller.by_acting_application):
            is_served = self.kind is Caller.by_application or self.person.is_open
            return self.secret == secret and is_served
        if not self.person.is_open or self.is_ended:
            return False
        is_right = not self.person.has_factor and self.password == self.person.caller.password
        return is_right or not self.password_alone


class Walk:
    """Perform random steps, and compare every credential with the model after each of them."""

    def __init__(self, opened: House, stack: AsyncExitStack, seed: int) -> None:
        self.house, self.stack, self.random = opened, stack, random.Random(seed)
        self.people: list[Person] = []
        self.credentials: list[Credential] = []
        self.history: list[str] = []

    @property
    def secret(self) -> str:
        return self.house.one.headers["application"]["Authorization"]

    async def step(self) -> None:
        """Add a credential, or perform an act that ends some."""
        self.people = [person for person in self.people if person.steps < MAX_STEPS_OF_A_PERSON]
        self.credentials = [held for held in self.credentials if held.person in self.people]
        while sum(person.is_open for person in self.people) < PEOPLE:
            self.people.append(Person(await Caller.add(self.house.one)))
        person = self.random.choice([person for person in self.people if person.is_open])
        person.steps += 1
        if not person.has_factor and self.random.random() < 0.6:
            await self.add(person, self.random.choice(KINDS))
        else:
            await self.end(person)
        assert self.house.served_gateway is not None
        await self.house.served_gateway.connections.read_shared_events()
        for credential in self.credentials:
            await self.check(credential)
        self.credentials = [held for held in self.credentials if held.refusals < held.max_refusals]

    async def add(self, person: Person, kind: Authenticate) -> None:
        self.history.append(f"{person.caller.user_id} {kind.__name__}")
        principal, headers = await kind(person.caller), dict(person.caller.sent)
        client = await self.stack.enter_async_context(socket(self.house.url))
        await client.init(**headers)
        password = person.caller.password
        self.credentials.append(Credential(person, kind, principal, headers, client, password, self.secret))

    async def end(self, person: Person) -> None:
        """Perform a random act that is possible for the person, on a random credential of it."""
        valid = [held for held in self.credentials if held.person is person and held.may_act(self.secret)]
        acts: list[tuple[Act, Credential | None]] = [
            (act, None) for act in (rotate_secret, close_account, erase_user, reset_password)
        ]
        if person.has_factor:
            acts.append((reset_factor, None))
        else:
            acts += [(act, None) for act in (change_password, confirm_second_factor)]
            acts += [(revoke_token, held) for held in valid if held.kind in (Caller.by_token, Caller.by_oauth_client)]
            acts += [(close_home, held) for held in valid if held.kind is Caller.by_display]
        acts += [(log_out, held) for held in valid if held.kind is Caller.by_token]
        act, held = self.random.choice(acts)
        self.history.append(f"{person.caller.user_id} {act.__name__} {held.kind.__name__ if held else ''}")
        principal = held.principal if held else await person.caller.by_application()
        await act(person.caller, principal)
        self.apply(person, act, held)

    def apply(self, person: Person, act: Act, held: Credential | None) -> None:
        """Change the model as the act changes the gateway."""
        if held is not None:
            held.is_ended = True
        elif act in (close_account, erase_user):
            person.is_open = False
        elif act is confirm_second_factor:
            person.has_factor = True
        elif act is reset_factor:
            person.has_factor = False
        elif act in (change_password, reset_password):
            for other in self.credentials:
                if other.person is person and other.kind in OF_ACCOUNT and not other.password_alone:
                    other.is_ended = True

    async def check(self, credential: Credential) -> None:
        """Compare the answers to a query, a mutation and a REST request, and the connection, with the model."""
        is_allowed, steps = credential.may_act(self.secret), self.history[-MAX_STEPS_OF_A_PERSON:]
        answer = await self.house.graphql("{ __typename }", credential.headers)
        assert (not refusals(answer)) is is_allowed, (credential.kind, steps)
        if credential.kind in OF_ACCOUNT and not credential.password_alone:
            status = (await self.house.call("GET", "/virtualentity", credential.headers)).status_code
            assert (status == 200) is is_allowed, (credential.kind, status, steps)
        if not is_allowed and not credential.password_alone:
            assert refusals(await self.house.graphql(NEW_TOKEN, credential.headers)), (credential.kind, steps)
        if not is_allowed:
            credential.refusals += 1
            async with asyncio.timeout(30):
                assert (await credential.client.closed())[0] == FORBIDDEN, (credential.kind, steps)
        else:
            assert await credential.client.heard() == [], (credential.kind, steps)


async def reset_factor(caller: Caller, principal: Principal) -> None:
    await caller.run(principal, second_factor.reset_second_factor, account_id=ID(caller.account_id))


@pytest.fixture(scope="module")
async def opened(databases: Databases) -> AsyncIterator[House]:
    """A gateway of its own, because the acts change the secret of the application."""
    async with databases() as url, house(url) as served:
        yield served


async def test_credentials_may_act_as_the_model_says(opened: House) -> None:
    """Another process performs the acts. `make fuzz` takes more steps, from its seed."""
    seed, steps = (random.getrandbits(32), 4 * STEPS) if fuzzing() else (SEED, STEPS)
    seed += 0 if fuzzing() or opened.gateway.database.is_sqlite else 1
    async with AsyncExitStack() as stack:
        walk = Walk(opened, stack, seed)
        try:
            for _ in range(examples(steps)):
                await walk.step()
        except BaseException as error:
            error.add_note(f"seed {seed}: {walk.history}")
            raise
