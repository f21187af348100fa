"""The test of each row in the registry of capabilities, and the places that hold no capability, with the reasons."""

from collections.abc import Mapping
from types import MappingProxyType

TESTS: Mapping[str, str] = MappingProxyType(
    {
        "WebSocket": "tests/credentials/test_sockets.py::test_socket_ends_with_its_credential_at_every_gateway",
        "Event stream with one operation": (
            "tests/credentials/test_event_streams.py::test_distinct_stream_ends_with_its_credential_at_every_gateway"
        ),
        "Reserved event stream": (
            "tests/credentials/test_event_streams.py::test_reservation_ends_with_its_credential_at_every_gateway"
        ),
        "Open event stream for several operations": (
            "tests/credentials/test_event_streams.py::test_open_stream_ends_with_its_credential_at_every_gateway"
        ),
        "Streamed upload or download over REST": (
            "tests/credentials/test_other_capabilities.py::test_upload_ends_with_its_credential"
        ),
        "Resume position": (
            "tests/credentials/test_other_capabilities.py::test_resume_position_serves_nobody_without_valid_credentials"
        ),
        "Persisted document (APQ)": (
            "tests/credentials/test_other_capabilities.py::"
            "test_persisted_document_serves_nobody_without_valid_credentials"
        ),
        "Trusted document": (
            "tests/graphql/test_trusted_documents.py::"
            "test_removed_document_is_not_found_by_any_id_after_the_cache_expires"
        ),
        "Secret of an application": (
            "tests/credentials/test_sockets.py::"
            "test_socket_of_an_application_ends_with_its_secret_or_the_user_it_acts_for"
        ),
        "Remembered application of callers without credentials": (
            "tests/credentials/test_other_processes.py::"
            "test_callers_without_credentials_learn_that_their_application_requires_documents"
        ),
        "Log-in token": (
            "tests/credentials/test_other_capabilities.py::"
            "test_token_is_rejected_at_once_where_it_ends_and_soon_at_the_other_gateway"
        ),
        "OAuth authorization code": (
            "tests/credentials/test_other_capabilities.py::test_tokens_and_codes_of_an_oauth_client_end_with_the_account"
        ),
        "OAuth access token": (
            "tests/credentials/test_other_capabilities.py::test_access_and_refresh_tokens_end_with_their_grant"
        ),
        "OAuth refresh token": (
            "tests/credentials/test_other_capabilities.py::test_access_and_refresh_tokens_end_with_their_grant"
        ),
        "Pairing of a display": (
            "tests/graphql/test_paired_displays.py::test_codes_end_with_the_home_and_the_account_that_approved_them"
        ),
        "Token of a paired display": (
            "tests/credentials/test_paired_displays.py::test_everything_of_a_display_ends_with_its_credential"
        ),
        "Invitation to a home, and the access of a member": (
            "tests/graphql/test_shared_homes.py::test_access_ends_at_once_for_requests_and_open_connections"
        ),
        "Token of an external directory": (
            "tests/graphql/test_directories.py::test_stored_token_ends_with_the_account_and_its_directory"
        ),
        "Secret of a second factor that is not confirmed": (
            "tests/graphql/test_second_factor.py::test_unconfirmed_secret_ends_with_a_log_out_and_a_new_password"
        ),
        "Recovery code of a second factor": (
            "tests/graphql/test_second_factor.py::test_recovery_codes_end_with_the_second_factor"
        ),
        "Push token": "tests/credentials/test_push_tokens.py::test_push_token_ends_with_the_log_in_that_added_it",
        "Verification code or password reset token": (
            "tests/credentials/test_other_capabilities.py::"
            "test_password_reset_token_ends_with_the_account_its_password_and_its_address"
        ),
        "Code that confirms an e-mail address": (
            "tests/graphql/test_email_changes.py::test_change_of_the_password_cancels_a_requested_address"
        ),
        "Claim code of a device": (
            "tests/graphql/test_device_claims.py::"
            "test_device_is_claimed_once_with_the_code_that_the_application_registered"
        ),
        "Known device or address of an account": (
            "tests/graphql/test_login_abuse.py::test_change_of_the_password_forgets_other_sources"
        ),
        "Unsubscribe link in a mail": (
            "tests/credentials/test_other_capabilities.py::test_unsubscribe_link_ends_with_the_link_key"
        ),
        "Link to the preview of a template": "tests/app/test_shared_previews.py::test_link_ends_at_its_expiry",
        "Signing secret of a webhook endpoint": (
            "tests/delivery/webhooks/test_deliveries.py::"
            "test_rotated_secret_signs_with_the_old_one_until_the_overlap_ends"
        ),
        "Live readings of a meter point": (
            "tests/credentials/test_other_processes.py::"
            "test_revocation_of_a_consent_in_another_process_ends_the_live_readings"
        ),
        "Retrieval of readings (catch-up)": "tests/graphql/test_catch_ups.py::test_revoked_consent_fails_the_catch_up",
        "Export and its archive": (
            "tests/app/test_user_jobs.py::test_erasure_deletes_the_archive_and_stops_its_worker"
        ),
        "Waiting mail to a user": (
            "tests/delivery/mail/test_rule_mail.py::"
            "test_mail_and_push_that_wait_need_the_consent_and_the_account_of_the_moment"
        ),
        "Waiting notice about an account": (
            "tests/delivery/mail/test_waiting_account_mails.py::"
            "test_a_mail_that_waits_is_sent_only_while_its_reason_and_its_recipient_last"
        ),
        "Waiting push or web push": "tests/graphql/test_push.py::test_token_removed_before_delivery_receives_no_push",
        "Waiting event of a webhook": (
            "tests/delivery/webhooks/test_deliveries.py::test_waiting_delivery_to_a_deleted_endpoint_fails"
        ),
    }
)
"""The test that ends what a capability depends on and sees the capability end, by the name of the capability."""

NO_CAPABILITY: Mapping[str, str] = MappingProxyType(
    {
        "account.password_hash": "A password is a credential itself.",
        "oauth_client.secret_digest": "The secret of a client is a credential itself. It gives access to no account.",
        "directory.client_secret": "The credential of the gateway at a directory. It gives access to no account.",
        "directory.token_check": "The name of a check.",
        "mobile_app_token.digest": "It finds the accounts with the same push token, and gives access to nothing.",
        "directory.session_seconds": "A number.",
        "account_profile.account_id": "Data of the account. Its row grants nothing.",
        "account_mail.account_id": "A mail to the holder of the account. Its code has a row of its own.",
        "account_session.account_id": "Data of the account. Its row grants nothing.",
        "kept_mail.content": "A mail that the development outbox shows.",
        "audit_entry.digest": "A checksum of an entry of the audit log.",
        "audit_entry.previous_digest": "A checksum of an entry of the audit log.",
        "audit_head.digest": "A checksum of an entry of the audit log.",
        "secret_key.key_id": "The name of a key. The key itself is in the settings.",
        "class CallCharge": "Lives as long as a REST call.",
        "class StrangerCharge": "Lives as long as a REST call.",
        "class BodyCharge": "Lives as long as a request over HTTP.",
        "class HomeTable": "Lives as long as the command of an operator.",
        "class AccessRecorder": "Lives as long as an operation.",
        "class OperationCharge": "Lives as long as an operation.",
        "class _Run": "Lives as long as an operation.",
        "class _Verified": "Lives as long as the check of a password.",
        "class Preparation": "Lives as long as an operation.",
        "class Call": "Lives as long as an operation.",
        "class ClientConnection": "The protocol of the kinds of connections.",
        "class GraphQLContext": "Lives as long as an operation, or the subscription of a connection.",
        "class MqttIntake": "The gateway itself. The broker authenticates it.",
        "class _TariffImport": "A command of an operator, who has the database.",
        "class _Builder": "Part of a command of an operator, who has the database.",
        "delivery test-mail": "It has sample data. The operator lists its addresses.",
        "job erasure": "It only removes.",
        "{wattgate}:once": "The mark of a publication, so that its retry adds no event twice.",
        "{wattgate}:run": "The run of Redis.",
        "{wattgate}:budget": "A budget only takes away.",
    }
)
"""Columns, classes and Redis keys that could hold a capability and hold none."""
