"""The walk through the purposes of SPEC.md: each call, and its effect as the other interface shows it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support import people
from tests.support.house import House, Tenant
from tests.support.interfaces import by_graphql, read_columns, to_rest_values
from tests.support.refusals import refusal_of, refusals
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import OperationKind
from wattgate.operations.readings.raw_readings import ARROW
from wattgate.operations.vocabulary.node import encode_global_id

Headers = dict[str, str]
QUERIES = {found.name: found for found in OPERATIONS if found.kind is OperationKind.QUERY}


@dataclass(frozen=True)
class Person:
    """A new user: the IDs, the headers of an application that acts for the user, and those of the user's token."""

    username: str
    user_id: str
    account_id: str
    acting: Headers
    token: Headers


@dataclass
class Walk:
    """A served gateway, and the purposes that the walk has reached."""

    house: House
    tested: Callable[[str], AbstractContextManager[Any]]
    names: list[str] = field(default_factory=list)

    @property
    def tenant(self) -> Tenant:
        return self.house.one

    @property
    def application(self) -> Headers:
        return self.tenant.headers["application"]

    @contextmanager
    def purpose(self, path: str, *clauses: str) -> Iterator[None]:
        """Surround the call and the check of purposes. A failure is one of theirs."""
        names = [f"{path}: {clause}" for clause in clauses]
        self.names += names
        with self.tested(" and ".join(names)):
            yield

    async def rest(self, method: str, path: str, headers: Headers, **options: Any) -> Any:
        """Return the answer of a REST request that succeeds."""
        answer = await self.house.call(method, path, headers, **options)
        assert answer.is_success, answer.text
        return answer.json()

    async def refused(self, method: str, path: str, headers: Headers, **options: Any) -> int:
        """Return the status of a REST request that fails."""
        answer = await self.house.call(method, path, headers, **options)
        assert answer.is_error, answer.text
        return answer.status_code

    async def graphql(self, document: str, headers: Headers, **variables: Any) -> Any:
        """Return the only field of a GraphQL response without errors."""
        answer = await self.house.graphql(document, headers, **variables)
        assert not refusals(answer), answer
        (value,) = answer["data"].values()
        return value

    async def code(self, document: str, headers: Headers, **variables: Any) -> str:
        """Return the code of the only refusal or error of a GraphQL response."""
        answer = await self.house.graphql(document, headers, **variables)
        return str(refusal_of(answer)["code"])

    async def node(self, type_name: str, record_id: str, fields: str, headers: Headers) -> Any:
        """Return fields of a record by its ID over GraphQL."""
        document = f"query ($id: ID!) {{ node(id: $id) {{ ... on {type_name} {{ {fields} }} }} }}"
        return await self.graphql(document, headers, id=encode_global_id(type_name, record_id))

    async def query(self, name: str, headers: Headers, **arguments: Any) -> Any:
        """Return all plain fields of a query of the catalogue over GraphQL, with the values that REST has."""
        result = await by_graphql(self.house, QUERIES[name], arguments, headers)
        assert result.code is None, result.body
        return to_rest_values(QUERIES[name], result.value)

    async def columns(self, path: str, headers: Headers, **options: Any) -> dict[str, Any]:
        """Return the columns of a REST answer in Arrow."""
        answer = await self.house.call("GET", path, {**headers, "Accept": ARROW}, **options)
        assert answer.is_success, answer.text
        return read_columns(answer.content)

    async def person(self) -> Person:
        """Add a user and log in."""
        who = await people.active(self.tenant)
        body = {
            "username": who["username"],
            "password": people.PASSWORD,
            "applicationId": self.tenant.application_id,
        }
        token = (await self.rest("POST", "/auth", {}, json=body))["token"]
        acting = {**self.application, "userId": who["userId"]}
        return Person(who["username"], who["userId"], who["accountId"], acting, {"token": token})


def nodes(connection: dict[str, Any]) -> list[Any]:
    """Return the records of a connection."""
    return [edge["node"] for edge in connection["edges"]]
