"""Consent to the data of a meter point, compared with a model after each step."""

from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from tests.support.house import Tenant
from tests.support.machines import GatewayMachine, run_machine
from tests.support.refusals import refusal_of, refusals
from tests.support.residents import resident
from tests.support.timed import RECORD, Timed
from wattgate.operations.consent.consent_records import MAX_CONSENT_PERIOD

HALF_HOUR, HOUR, DAY = timedelta(minutes=30), timedelta(hours=1), timedelta(days=1)

ADD = "mutation ($input: NewResource!) { createResource(input: $input) { ... on Resource { resourceId } ...Refused } }"
VERIFY = (
    "mutation ($mpxn: MeterPointNumber!, $until: DateTime) { verifyMeterPoint(meterPointNumber:"
    " $mpxn, validUntil: $until) {"
    " ... on MeterPointConsent { state } ...Refused } }"
)
RENEW = (
    "mutation ($mpxn: MeterPointNumber!, $until: DateTime) { renewConsents(meterPointNumbers:"
    " [$mpxn], validUntil: $until) {"
    " ... on ConsentChanges { items { kind } } ...Refused } }"
)
REVOKE = (
    "mutation ($mpxn: MeterPointNumber!) { revokeConsents(meterPointNumbers: [$mpxn]) {"
    " ... on ConsentChanges { items { kind } } ...Refused } }"
)
READ = "query ($id: ID!) { resource(resourceId: $id) { rawReadings { at } } }"
CHANGES = """query ($mpxn: MeterPointNumber!) {
  viewer { consents { edges { node { meterPointNumber state verified } } } }
  consentChanges(meterPointNumber: $mpxn) { kind }
}"""

days = st.one_of(st.none(), st.integers(-3, 800))
"""The days from now until which a consent is requested. None requests the default."""


@dataclass
class Model:
    """A consent, with the instants whose readings are stored."""

    valid_until: datetime
    is_revoked: bool = False
    is_verified: bool = False
    changes: list[str] = field(default_factory=lambda: ["GRANT"])
    stored: set[datetime] = field(default_factory=set)

    def state(self, now: datetime) -> str:
        if self.is_revoked:
            return "REVOKED"
        return "VALID" if self.valid_until > now else "EXPIRED"


class ConsentMachine(GatewayMachine):
    """A user whose consent is granted, verified, renewed and revoked, and expires. Each change is an hour apart."""

    def __init__(self, timed: Timed, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.timed = timed
        self.user: Tenant = self.wait_for(resident(timed.house.one))
        self.mpxn = str(uuid4().int)[:13]
        self.resource_id = ""
        self.model = Model(self.now + MAX_CONSENT_PERIOD)

    @property
    def now(self) -> datetime:
        return self.timed.clock.now

    @property
    def state(self) -> str:
        return self.model.state(self.now)

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """Return the answer to a request of the application that acts for the user."""
        request: Coroutine[Any, Any, dict[str, Any]]
        request = self.timed.house.graphql(query, self.user.headers["acting"], **variables)
        return self.wait_for(request)

    @initialize()
    def provision(self) -> None:
        values = {
            "resourceTypeId": self.user.ids["resource_type"],
            "name": "provisioned",
            "meterPointNumber": self.mpxn,
        }
        self.resource_id = self.ask(ADD, input=values)["data"]["createResource"]["resourceId"]
        self.timed.pass_time(HOUR)

    @rule(count=days, verifies=st.booleans())
    def consent(self, count: int | None, verifies: bool) -> None:
        """Verify the meter point, or renew the consent."""
        until = None if count is None else self.now + count * DAY
        answer = self.ask(VERIFY if verifies else RENEW, mpxn=self.mpxn, until=until and until.isoformat())
        if until is not None and until <= self.now:
            assert refusal_of(answer)["code"] == "BAD_INPUT"
            return
        assert not refusals(answer)
        latest = self.now + MAX_CONSENT_PERIOD
        self.model.valid_until, self.model.is_revoked = min(until or latest, latest), False
        self.model.changes.append("GRANT" if verifies and not self.model.is_verified else "RENEWAL")
        self.model.is_verified |= verifies
        self.timed.pass_time(HOUR)

    @rule()
    def revoke(self) -> None:
        assert not refusals(self.ask(REVOKE, mpxn=self.mpxn))
        self.model.is_revoked = True
        self.model.changes.append("REVOCATION")
        self.timed.pass_time(HOUR)

    @precondition(lambda self: abs(self.model.valid_until - self.now) > 2 * HOUR)
    @rule()
    def record(self) -> None:
        """Record a reading of a half hour since the last change. Near the end of a consent, its half hours decide."""
        at = self.now.replace(minute=0, second=0, microsecond=0)
        series = [{"resourceId": self.resource_id, "readings": [{"at": at.isoformat(), "value": 0.5}]}]
        answer = self.ask(RECORD.replace("recorded", "recorded withoutConsent"), series=series)
        is_stored = self.state == "VALID"
        assert answer["data"]["recordReadings"] == {"recorded": int(is_stored), "withoutConsent": int(not is_stored)}
        if is_stored:
            self.model.stored.add(at)

    @rule(span=st.sampled_from([HOUR, DAY, 100 * DAY, 600 * DAY]))
    def pass_time(self, span: timedelta) -> None:
        self.timed.pass_time(span)

    @invariant()
    def consent_and_data_are_those_of_the_model(self) -> None:
        answer = self.ask(CHANGES, mpxn=self.mpxn)["data"]
        assert [edge["node"] for edge in answer["viewer"]["consents"]["edges"]] == [
            {"meterPointNumber": self.mpxn, "state": self.state, "verified": self.model.is_verified}
        ]
        assert [change["kind"] for change in answer["consentChanges"]] == self.model.changes
        read = self.ask(READ, id=self.resource_id)
        if self.state == "VALID":
            stored = read["data"]["resource"]["rawReadings"]["at"]
            assert {datetime.fromisoformat(at) for at in stored} == self.model.stored
        else:
            extensions = refusal_of(read)
            assert (extensions["code"], extensions["reason"]) == ("CONSENT_REVOKED", self.state)


async def test_consent_is_as_the_model_says(timed: Timed) -> None:
    await run_machine(partial(ConsentMachine, timed), runs=4, steps=15)
