"""Pairing of displays, compared with a model after each step."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, initialize, invariant, multiple, precondition, rule

from tests.support.house import Tenant
from tests.support.machines import GatewayMachine, run_machine
from tests.support.pairing import Interface, Refusal
from tests.support.residents import resident
from tests.support.timed import Timed
from wattgate.db.identity.login_backoff import FREE_ATTEMPTS
from wattgate.operations.homes.display_pairing import MAX_POLL_SECONDS, PAIRING_LIFETIME, POLL_SECONDS, POLL_TOLERANCE


@dataclass(eq=False)
class Home:
    """A home, as the model sees it."""

    ve_id: str
    is_open: bool = True


@dataclass(eq=False)
class Pairing:
    """A pairing, as the model sees it. `state` is the answer of the user, and `token` the credential of the display."""

    started: dict[str, Any]
    expires_at: datetime
    state: str = "PENDING"
    home: Home | None = None
    token: str = ""
    display_id: str = ""
    is_ended: bool = False
    interval: int = POLL_SECONDS
    polled_at: datetime | None = None

    @property
    def is_display(self) -> bool:
        """Whether its display has a valid credential."""
        return bool(self.token) and not self.is_ended and self.home is not None and self.home.is_open


@dataclass
class Model:
    """The pairings and homes of a user, and the number of wrong codes that the user has sent."""

    owner: Tenant
    homes: list[Home] = field(default_factory=list)
    pairings: list[Pairing] = field(default_factory=list)
    wrong_codes: int = 0


class PairingMachine(GatewayMachine):
    """Displays of a user that start, poll and claim, and the user that answers and revokes, on both interfaces."""

    pairings = Bundle("pairings")
    homes = Bundle("homes")

    def __init__(self, timed: Timed, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.timed = timed
        self.model = Model(self.wait_for(resident(timed.house.one)))

    @property
    def now(self) -> datetime:
        return self.timed.clock.now

    @property
    def mine(self) -> dict[str, str]:
        return self.model.owner.headers["account"]

    def interface(self, is_rest: bool) -> Interface:
        return Interface(self.timed.house, is_rest)

    def outcome(self, request: Any) -> Any:
        """Return the result of a request, or its error."""
        try:
            return self.wait_for(request)
        except Refusal as refusal:
            return refusal

    @initialize(target=homes, count=st.integers(1, 2))
    def add_homes(self, count: int) -> Any:
        self.model.homes = [Home(self.wait_for(self.model.owner.add_home())) for _ in range(count)]
        return multiple(*self.model.homes)

    @rule(target=pairings, is_rest=st.booleans())
    def start(self, is_rest: bool) -> Pairing:
        started = self.wait_for(self.interface(is_rest).start(self.model.owner, "Hall"))
        pairing = Pairing(started, self.now + PAIRING_LIFETIME)
        self.model.pairings.append(pairing)
        return pairing

    def is_open(self, pairing: Pairing) -> bool:
        return pairing.state == "PENDING" and pairing.expires_at > self.now

    def has_answered(self, pairing: Pairing, answer: Any) -> bool:
        """Compare the answer to a user code with the model, and return whether the code was valid."""
        if self.is_open(pairing):
            return not isinstance(answer, Refusal) or answer.code == "CONFLICT"
        self.model.wrong_codes += 1
        assert isinstance(answer, Refusal)
        assert answer.code == "NOT_FOUND"
        return False

    @precondition(lambda self: self.model.wrong_codes < FREE_ATTEMPTS - 1)
    @rule(pairing=pairings, is_rest=st.booleans(), answer=st.sampled_from(["check", "deny"]))
    def check_or_deny(self, pairing: Pairing, is_rest: bool, answer: str) -> None:
        send = getattr(self.interface(is_rest), answer)
        code = pairing.started["userCode"]
        if self.has_answered(pairing, self.outcome(send(self.mine, code))) and answer == "deny":
            pairing.state = "DENIED"

    @precondition(lambda self: self.model.wrong_codes < FREE_ATTEMPTS - 1)
    @rule(pairing=pairings, home=homes, is_rest=st.booleans())
    def approve(self, pairing: Pairing, home: Home, is_rest: bool) -> None:
        send = self.interface(is_rest).approve(self.mine, pairing.started["userCode"], home.ve_id, name="Kitchen")
        answer = self.outcome(send)
        if self.has_answered(pairing, answer):
            assert isinstance(answer, Refusal) is not home.is_open
            if home.is_open:
                pairing.state, pairing.home = "APPROVED", home

    @rule(pairing=pairings, is_rest=st.booleans())
    def claim(self, pairing: Pairing, is_rest: bool) -> None:
        answer = self.outcome(self.interface(is_rest).claim(self.model.owner, pairing.started["deviceCode"]))
        if pairing.token or pairing.expires_at <= self.now:
            assert isinstance(answer, Refusal)
            reason = "invalid_grant" if pairing.token else "expired_token"
            assert (answer.code, answer.extensions["reason"]) == ("BAD_INPUT", reason)
            pairing.is_ended = bool(pairing.token)
            return
        if pairing.state == "PENDING":
            self.poll(pairing)
        state = "DENIED" if pairing.home and not pairing.home.is_open else pairing.state
        assert (answer["state"], answer["interval"]) == (state, pairing.interval)
        assert bool(answer["token"]) is (state == "APPROVED")
        if state == "APPROVED":
            pairing.token, pairing.display_id = answer["token"], answer["display"]["displayId"]

    def poll(self, pairing: Pairing) -> None:
        """Change the model as a call of a display that waits changes the gateway."""
        polled_at, pairing.polled_at = pairing.polled_at, self.now
        if polled_at and self.now < polled_at + timedelta(seconds=pairing.interval) - POLL_TOLERANCE:
            pairing.interval = min(pairing.interval + POLL_SECONDS, MAX_POLL_SECONDS)

    @rule(pairing=pairings, is_rest=st.booleans(), by_display=st.booleans())
    def end(self, pairing: Pairing, is_rest: bool, by_display: bool) -> None:
        """Let a display end its credential, or let the user revoke it."""
        interface = self.interface(is_rest)
        if pairing.token:
            headers = {"token": pairing.token}
            request = interface.end(headers) if by_display else interface.revoke(self.mine, pairing.display_id)
            assert isinstance(self.outcome(request), Refusal) is not pairing.is_display
            pairing.is_ended = True

    @rule(home=consumes(homes))
    def close_home(self, home: Home) -> None:
        self.wait_for(self.model.owner.run("deactivate_virtual_entity", ve_id=home.ve_id))
        home.is_open = False

    @rule(seconds=st.sampled_from([1, 5, 300, 600]))
    def pass_time(self, seconds: int) -> None:
        self.timed.pass_time(timedelta(seconds=seconds))

    @invariant()
    def displays_are_those_of_the_model(self) -> None:
        valid = {pairing.display_id for pairing in self.model.pairings if pairing.is_display}
        listed = self.wait_for(self.interface(False).listed(self.mine))
        assert {display["displayId"] for display in listed} == valid
        for pairing in self.model.pairings:
            if pairing.token:
                own = self.outcome(self.interface(False).own({"token": pairing.token}))
                assert isinstance(own, Refusal) is not pairing.is_display


async def test_displays_are_paired_as_the_model_says(timed: Timed) -> None:
    await run_machine(partial(PairingMachine, timed), runs=10, steps=20)
