"""The cause of each error code and what to do about it: one table for the error page, the documentation and clients.

`GET /errors` and docs/reference/errors.md are generated from it. The texts are Markdown with inline code and links.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from wattgate.errors import METHOD_NOT_ALLOWED, all_error_kinds

METHOD_NOT_ALLOWED_STATUS = 405


@dataclass(frozen=True, slots=True)
class ErrorGuide:
    """The cause of an error and what to do, in a sentence or two each, with the message of an example.

    `steps` says how to find and correct the cause, one sentence for each step.
    """

    cause: str
    action: str
    steps: tuple[str, ...]
    example: str


ERROR_GUIDE: Mapping[str, ErrorGuide] = MappingProxyType(
    {
        "BAD_INPUT": ErrorGuide(
            "The request is malformed, a value is invalid, or the document does not fit the schema or the "
            "[limits](limits.md#limits-on-documents).",
            "Correct the request. Show `problems` beside the form fields.",
            (
                "Read `param`: it names the first wrong or missing value. `problems` lists all of them.",
                "If there is no `param`, the document itself is wrong. Check it against the schema.",
                "Do not repeat the same request. It fails in the same way.",
            ),
            "the record refers to records that do not exist",
        ),
        "PERSISTED_QUERY_NOT_FOUND": ErrorGuide(
            "The gateway does not know the text of a persisted query.",
            "Send the same request with the text in `query`. Apollo and urql do this automatically.",
            (
                "Send the text with its digest once. The gateway then knows it.",
                "If the application accepts only registered documents, the text then fails with `FORBIDDEN`: "
                "register the document.",
                "An unknown `documentId` fails with `BAD_INPUT`.",
            ),
            "PersistedQueryNotFound",
        ),
        "COST_TOO_HIGH": ErrorGuide(
            "The operation costs more than an operation may cost, or more than the budget holds when it is full.",
            "Request less at once: a shorter range, a smaller page, fewer fields.",
            (
                "Send the request with `extensions: {dryRun: true}`. The response has the cost, and nothing runs.",
                "Divide the range or the list into several requests. See [costs](limits.md#cost-of-an-operation).",
            ),
            "the operation costs 64,120 and the maximum is 20,000; request less data at once",
        ),
        "SECOND_FACTOR_REQUIRED": ErrorGuide(
            "The password is right. A code of the second factor is missing, wrong or used.",
            "Ask for the code, and log in with `code`.",
            (
                "Keep the username and the password, and ask for the code of the authenticator app.",
                "A recovery code works in its place, once.",
            ),
            "The account has a second factor. Send a code of its app as code.",
        ),
        "REAUTHENTICATION_REQUIRED": ErrorGuide(
            "The token is valid, but its log-in is too old for a change of the username or the e-mail address.",
            "Log in again and repeat the request with the new token, or send `password`.",
            (
                "Ask for the password before the change, and send it as `password`, with a second factor also `code`.",
                "`createToken` does not help: its token has the log-in of the former one.",
                "The token stays valid for everything else.",
            ),
            "The log-in of this token is more than 10 minutes old. Log in again and use the new token, or send the "
            "password of the account as password, with a second factor also its code.",
        ),
        "UNAUTHENTICATED": ErrorGuide(
            "The credentials are missing, wrong, expired or revoked.",
            "Log in again.",
            (
                "With status 401, the gateway has executed nothing. Log in once, then repeat the request.",
                "If the log-in itself fails, do not repeat it by program: ask for the password.",
            ),
            "The token is unknown, revoked or expired. Log in again.",
        ),
        "FORBIDDEN": ErrorGuide(
            "The credentials do not allow the operation, or the application accepts only "
            "[registered documents](../how-to/trusted-documents.md).",
            "Leave the operation out, or use other credentials.",
            (
                "Do not log in again with the same account. The result is the same.",
                "The description of the operation says which callers may use it.",
            ),
            "these credentials do not allow statistics read",
        ),
        "CONSENT_REVOKED": ErrorGuide(
            "The meter point has no valid consent, so its data is withheld. `reason` says why: `REVOKED`, `EXPIRED` or "
            "`MISSING`.",
            "Ask the owner to renew the consent. For `MISSING`, the application records it with `verifyMeterPoint`.",
            (
                "Show the other resources: only the data of this meter point is withheld.",
                (
                    "`meterPointNumber` (in REST `mpxn`) names the meter point, and `resourceId` the resource if"
                    " the error is about one."
                ),
                "The owner renews the consent with `renewConsents`.",
            ),
            "The consent for meter point 2000000000006 was revoked. Renew it to access this data.",
        ),
        "NOT_FOUND": ErrorGuide(
            "The application of the caller has no such record.",
            "Remove the record from your screen or cache.",
            (
                "Check the ID, and that the token belongs to the owner of the record.",
                "Records of other users and other applications are not found, too.",
            ),
            "No resource with ID 7f0c.",
        ),
        "NOT_SUPPORTED": ErrorGuide(
            "The record exists, but its kind does not have the requested data, such as a register of a computed cost.",
            "Leave the field out for records of this kind.",
            ("Look at the classifier of the resource before you request the data.",),
            "The meter network has no register for resource 7f0c, and no display has sent one.",
        ),
        "CONFLICT": ErrorGuide(
            "The record already exists, other records reference it, or its state does not allow the change.",
            "Read the record again, then decide.",
            (
                "Query the record. Another client may have made the same change.",
                "Repeat the mutation only if the new state still needs it.",
            ),
            "The record already exists, or other records refer to it.",
        ),
        "QUOTA_EXCEEDED": ErrorGuide(
            "A user, an application or a record has as many records of a kind as its "
            "[quota](limits.md#quotas-of-stored-records) allows.",
            "Change or remove an existing record, or ask the operator.",
            ("The message names the quota.", "Existing records stay readable and can be changed."),
            "The user has 50 accounts, which is the quota for each user.",
        ),
        "TOO_LARGE": ErrorGuide(
            "The request is larger than a [limit](limits.md#limits-on-requests), or a stored object would be larger "
            "than its limit.",
            "Send less at once.",
            (
                "Divide a list of readings into several requests.",
                "Send many readings as a stream to `/readings`: it has no limit of size.",
            ),
            "The request body is larger than 4194304 bytes.",
        ),
        "UNSUPPORTED_MEDIA_TYPE": ErrorGuide(
            "The body of a request has a content type that the path does not accept, has none, or is compressed.",
            "Send JSON in UTF-8, or another type that the header `Accept` of the response names.",
            (
                "Set the header `Content-Type: application/json`, and encode the body as UTF-8.",
                "Do not compress the body.",
            ),
            "This path does not accept the content type 'text/plain'. Send application/json, in UTF-8.",
        ),
        "RATE_LIMITED": ErrorGuide(
            "A [budget](limits.md#budgets-of-callers) is empty, too many passwords were wrong, a "
            "[network address](limits.md#limits-of-network-addresses) did too much without credentials, the connection "
            "runs too many operations, or too many new documents of callers without credentials wait.",
            "Wait for `retryAfter` seconds.",
            (
                "Wait for `retryAfter` seconds and a random part of a second, then send the same request.",
                "Send requests one after another, and look at the header `RateLimit` for the rest of the budget.",
                "Subscribe to changes instead of polling.",
            ),
            "This request costs 127, but the budget 'login' has 28 of 250,000 left. Retry in 1 s.",
        ),
        "INTERNAL": ErrorGuide(
            "The gateway has failed unexpectedly.",
            "Report the `traceId` to the operator.",
            (
                "The log of the gateway has the cause under the trace ID.",
                "The changes of the operation are undone.",
            ),
            "An error has occurred",
        ),
        "TIMED_OUT": ErrorGuide(
            "The operation took longer than `WATTGATE_OPERATION_SECONDS`.",
            "Request less at once.",
            (
                "Use a shorter range or longer buckets.",
                "A mutation may have been executed. Query its result before you repeat it.",
            ),
            "the operation took more than 30 seconds",
        ),
        "UNAVAILABLE": ErrorGuide(
            "The database, Redis or another part of the gateway does not respond at the moment.",
            "Wait for `retryAfter` seconds, then repeat a query. Check a mutation before you repeat it.",
            (
                "Repeat queries after `retryAfter` seconds, with a longer pause after each failure.",
                "A mutation may have been executed. Query its result before you repeat it.",
            ),
            "The database is unavailable.",
        ),
        METHOD_NOT_ALLOWED: ErrorGuide(
            "A REST path does not have the method of the request.",
            "Use a method that the header `Allow` lists.",
            ("The reference of the REST interface lists the methods of each path.",),
            "Method not allowed",
        ),
    }
)
"""The guide of each error code."""


def status_and_retryable(code: str) -> tuple[int, bool]:
    """Return the HTTP status of an error code, and whether the same request can succeed later."""
    if code == METHOD_NOT_ALLOWED:
        return METHOD_NOT_ALLOWED_STATUS, False
    kind = next(kind for kind in all_error_kinds() if kind.code == code)
    return kind.status, kind.retryable
