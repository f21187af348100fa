"""The promises about households in the guides name the tests that prove them: whose data, since when, and what ends.

The ends of credentials are promises too: what a held or a racing request makes falls with them.
"""

import re
from collections.abc import Iterator
from itertools import chain

import pytest

from tests.docs.test_threat_model import ROOT, existing_tests

Promises = dict[str, tuple[str, ...]]

MOVES: Promises = {
    "has always lived there unless you give `movedInAt`": ("test_the_first_household_retrieves_the_whole_history",),
    "The one before moves out at that instant": (
        "test_a_second_household_needs_the_end_of_the_first",
        "test_two_households_at_once_leave_one",
        "test_a_move_that_two_gateways_make_at_once_is_one",
    ),
    "after the one before closed all resources there or was erased": (
        "test_the_next_household_retrieves_nothing_of_the_time_before",
    ),
    "The user continues, with the whole own history": ("test_the_same_household_continues_where_it_closed",),
    "`active: true` opens it again, unless": (
        "test_moved_resource_is_never_opened_again_by_its_old_owner",
        "test_nobody_opens_a_resource_where_another_user_lives",
    ),
    "Where another user has lived meanwhile, only the application or its administrator can open it": (
        "test_an_account_opens_no_resource_of_an_earlier_stay",
        "test_an_account_does_not_return_where_another_user_has_lived",
    ),
    "A closed resource keeps its readings, gets no new ones": (
        "test_closed_resource_keeps_its_readings_and_gets_no_new_ones_until_it_is_open",
    ),
    "nobody retrieves the half hours of that time": ("test_the_time_of_an_erased_household_is_for_nobody_else",),
    "store nothing from before the user moved in": (
        "test_each_way_stores_only_readings_of_the_own_time",
        "test_messages_from_before_the_move_are_not_the_next_owners",
        "test_readings_since_the_move_in_date_are_the_next_households",
        "test_a_walk_fails_when_any_function_does_not_ask",
    ),
    "the readings that the former user has from then on are deleted": (
        "test_a_late_move_withdraws_the_readings_of_the_former_household",
    ),
    "`wattgate move` deletes them in pieces": ("test_a_late_move_deletes_many_readings_in_pieces",),
    "An instant in the future is refused": ("test_moves_that_cannot_be_are_refused",),
    "Until then, the next `movedInAt` replaces it": ("test_a_move_at_a_clock_that_was_ahead_is_corrected",),
    "corrects its start, and deletes its readings from before": (
        "test_readings_from_before_a_corrected_start_are_withdrawn",
    ),
    "Exports with deleted readings are deleted as well": (
        "test_a_late_move_ends_the_export_with_the_withdrawn_readings",
    ),
    "Alerts of rules that report deleted readings are deleted": (
        "test_alerts_that_report_withdrawn_readings_are_deleted",
    ),
    "A client that resumes a subscription from before gets the readings that are stored now": (
        "test_a_client_that_resumes_gets_nothing_that_was_withdrawn",
    ),
    "Clients that poll `revisedSince` get the changed buckets": (
        "test_a_client_learns_of_each_bucket_that_a_withdrawal_changes",
    ),
    "each day has one payer": ("test_each_household_pays_for_its_own_days",),
    "at the meter point pays each day once": (
        "test_each_day_is_charged_once_for_a_resource_and_the_one_that_replaces_it",
    ),
    "pays until then, and for the time between": ("test_a_household_without_a_successor_pays_until_it_leaves",),
    "The number of a meter point is compared, stored and returned": (
        "test_each_spelling_of_a_number_is_the_same_meter_point",
    ),
    "A meter point may be any text with a letter or a digit": (
        "test_each_interface_knows_a_meter_point_that_is_no_number",
    ),
    "A restored backup does not undo a move": ("test_moves_after_a_backup_are_repeated",),
    "lists first what changes hands and what stays": (
        "test_a_dry_run_changes_nothing_and_the_move_does_what_it_lists",
        "test_a_preview_equals_the_effect_and_changes_nothing",
    ),
    "resources | a new resource of each type": (
        "test_every_type_of_the_meter_point_moves_at_once",
        "test_texts_of_the_former_household_are_not_copied",
        "test_a_cost_resource_at_the_meter_point_keeps_no_right",
        "test_old_owner_has_no_access_by_another_resource_at_the_meter_point",
        "test_costs_move_with_the_resource_of_their_energy",
    ),
    "readings, tariffs, alert rules | none": (
        "test_moved_resource_starts_without_history_and_the_old_one_keeps_it",
        "test_rules_and_enrolments_of_a_moved_resource_end",
    ),
    "device | a new device with the same hardware ID": (
        "test_moved_device_shows_its_new_owner_nothing_of_the_old_one",
        "test_published_messages_go_to_the_household_of_their_instant",
        "test_a_sold_display_does_not_bring_the_sellers_messages",
    ),
    "device that was not moved | -": (
        "test_a_display_in_the_home_of_another_cannot_feed_the_own_new_one",
        "test_a_display_that_was_pointed_elsewhere_before_the_move_feeds_nothing",
    ),
    "consent for the meter point | is recorded as provisioned": (
        "test_the_consent_of_a_former_household_ends",
        "test_new_owner_of_a_moved_resource_has_a_consent_of_its_own",
        "test_flexibility_events_that_are_ahead_change_hands",
    ),
    "An application that acts for the previous user reads the own time": (
        "test_an_application_acting_for_a_former_household_needs_a_valid_consent",
    ),
    "names nobody else. A user who closed all resources there gets none": (
        "test_each_address_of_the_former_household_gets_a_mail_without_the_next_one",
        "test_a_household_that_knows_gets_no_mail",
    ),
    "`NETWORK` | The meter network lists the device": (
        "test_device_in_the_inventory_of_a_verified_meter_point_is_claimed_without_a_code",
        "test_a_former_household_neither_claims_nor_lists_devices",
    ),
    "`CODE` | The user has a code": ("test_device_is_claimed_once_with_the_code_that_the_application_registered",),
    "`APPLICATION` | The application acts": ("test_application_needs_no_proof",),
    "The erasure of that user does not delete it": (
        "test_code_for_the_next_owner_survives_the_erasure_of_the_present_one",
    ),
}

CONSENT: Promises = {
    "That is its own choice, and `renewConsents` takes it back": (
        "test_a_household_that_moved_out_takes_its_revocation_back",
    ),
    "before the first consent, since the household moved in": (
        "test_late_readings_are_stored_by_the_consent_at_their_instant",
        "test_the_next_household_does_not_inherit_the_revocation",
    ),
    "while the consent is valid | yes": ("test_late_readings_are_stored_by_the_consent_at_their_instant",),
    "from the revocation or the expiry to the renewal | no": (
        "test_late_readings_are_stored_by_the_consent_at_their_instant",
        "test_nothing_is_stored_after_the_consent_has_expired",
    ),
    "any, while no consent is recorded": ("test_settings_decide_whether_readings_without_a_consent_are_stored",),
    "`recordReadings`, `POST /resource": ("test_late_readings_are_stored_by_the_consent_at_their_instant",),
    "`recordReadingColumns`, `POST /readings`": ("test_late_readings_are_stored_by_the_consent_at_their_instant",),
    "display (MQTT) | the message is acknowledged": (
        "test_a_display_goes_on_sending_and_nothing_is_stored_while_the_consent_is_revoked",
    ),
    "catch-up | fails with the reason": ("test_late_readings_are_stored_by_the_consent_at_their_instant",),
    "An alert of a rule that waits in the outbox when the consent ends is not sent": (
        "test_mail_and_push_that_wait_need_the_consent_and_the_account_of_the_moment",
    ),
    "Alert rules, comparisons and the usual power of the display never use them": (
        "test_rules_use_no_reading_of_a_time_without_consent",
        "test_comparisons_use_no_reading_of_a_time_without_consent",
    ),
    "They are withheld if all resources of the device are": (
        "test_times_of_readings_devices_and_catch_ups_are_withheld_as_readings_are",
        "test_live_freshness_of_a_withheld_resource_is_null",
    ),
    "Lists of homes and resources are complete": (
        "test_rest_shows_the_other_meter_points_and_refuses_only_the_withheld_data",
    ),
    "It also counts reads of the meter network's records": (
        "test_household_sees_who_read_the_records_of_the_meter_network",
        "test_a_former_household_neither_claims_nor_lists_devices",
    ),
    "Each grant, renewal and revocation leaves a receipt": (
        "test_each_change_of_a_consent_has_a_receipt_on_both_interfaces",
    ),
}

ERASURES: Promises = {
    "The archive names no other household": ("test_the_export_of_a_former_household_names_nothing_of_the_next",),
    "also needs a valid consent for each meter point": (
        "test_only_the_household_downloads_the_archive_while_a_consent_is_revoked",
    ),
    "Nothing can be added to the user or changed": (
        "test_application_changes_nothing_of_an_erased_user",
        "test_change_of_an_application_that_begins_during_an_erasure_is_refused",
    ),
    "An address that another user has as well": (
        "test_erasure_leaves_the_suppression_of_an_address_that_another_user_has",
        "test_erasure_leaves_the_kept_mails_of_another_user_with_the_address",
    ),
    "They stay after the records for billing are erased": ("test_the_time_of_an_erased_household_is_for_nobody_else",),
    "So `state` is not `DONE` before": ("test_erasure_waits_until_the_list_outside_the_database_has_it",),
    "do not start on a database that still has a user of the list": (
        "test_a_restored_user_is_erased_again_before_anything_starts",
        "test_an_erased_user_does_not_come_back_with_a_backup",
    ),
}

MAILS: Promises = dict.fromkeys(
    (
        "the user was erased | any",
        "the account was closed | mails with codes",
        "the password was changed | mails with codes",
        "the account has another address, also by a new username |",
        "the user lives at the meter point again |",
        "go to the address of their time in each case except an erasure",
    ),
    ("test_a_mail_that_waits_is_sent_only_while_its_reason_and_its_recipient_last",),
)
MAILS["A code that was sent to the old address before is invalid"] = (
    "test_a_code_of_the_old_address_is_invalid_after_the_application_renames_the_user",
    "test_password_reset_token_ends_with_the_account_its_password_and_its_address",
)

ENDS: Promises = {
    "what its account has requested and nobody has confirmed": (
        "test_log_outs_cancel_a_requested_address",
        "test_pairing_that_a_revoked_token_has_approved_gives_no_display",
    ),
    "the second use of an authorization code or a refresh token": (
        "test_refresh_token_rotates_and_its_second_use_invalidates_the_family",
        "test_operation_that_begins_during_the_act_waits_for_it_and_is_refused",
        "test_act_ends_what_an_operation_makes_that_began_before_it",
    ),
    "everything that depends on the account, except the token of the request": (
        "test_no_operation_runs_after_the_end_of_its_credential",
        "test_operation_that_waits_in_its_preparation_is_refused",
        "test_act_ends_what_an_operation_makes_that_began_before_it",
        "test_operation_that_begins_during_the_act_waits_for_it_and_is_refused",
        "test_log_in_that_waits_for_the_hash_of_its_password_gives_no_token_that_lives",
        "test_act_ends_the_password_of_a_change_that_waited_for_its_hash",
    ),
    "everything that depends on the account, and the codes in mails": (
        "test_every_end_in_another_process_ends_connections_and_requests",
        "test_account_that_is_closed_during_a_claim_leaves_no_display",
        "test_closed_account_has_no_new_username",
        "test_mail_that_waits_goes_only_to_the_accounts_that_are_left",
    ),
    "the codes that were sent to the old address, also those in mails": (
        "test_a_code_of_the_old_address_is_invalid_after_the_application_renames_the_user",
        "test_password_reset_token_ends_with_the_account_its_password_and_its_address",
        "test_a_mail_that_waits_is_sent_only_while_its_reason_and_its_recipient_last",
    ),
    "all verification codes of the account": ("test_code_works_once",),
    "they can no longer act for it": (
        "test_application_acts_for_no_user_whose_accounts_are_all_closed",
        "test_application_acts_for_a_user_who_never_had_an_account",
    ),
    "connections that were opened with the password alone, or with the lost role": (
        "test_socket_that_was_opened_with_the_password_ends_with_a_second_factor",
        "test_socket_of_an_administrator_ends_with_the_second_factor_that_administrators_need",
        "test_password_alone_is_no_credential_after_a_second_factor",
        "test_socket_of_an_administrator_ends_with_the_role",
    ),
    "everything that depends on the accounts of the user, and connections of applications": (
        "test_every_end_in_another_process_ends_connections_and_requests",
        "test_every_end_in_another_process_reaches_a_gateway_by_redis",
        "test_erasure_removes_the_changes_of_an_application_that_began_before_it",
    ),
    "the same as `DELETE /user/{userId}`, until the user is reopened": (
        "test_a_suspended_user_is_refused_until_it_is_reopened",
        "test_every_end_in_another_process_ends_connections_and_requests",
    ),
    "the second use of a device code | the token": (
        "test_display_is_paired_listed_renamed_and_revoked",
        "test_second_use_of_a_device_code_ends_the_credential",
    ),
    "the access of a [member]": (
        "test_access_ends_at_once_for_requests_and_open_connections",
        "test_every_end_in_another_process_ends_connections_and_requests",
    ),
    "the access of its members": ("test_access_does_not_return_when_its_home_is_opened_again",),
    "codes that were approved for it": ("test_codes_end_with_the_home_and_the_account_that_approved_them",),
    "connections and reservations that were made with the old secret": (
        "test_commands_end_the_credentials_of_a_running_gateway",
    ),
    "the tokens of the accounts of the directory": ("test_session_ends_with_its_directory_and_is_not_extended",),
    "the oldest token of the account": ("test_tokens_of_an_account_are_bounded_and_the_oldest_end",),
    "`createToken` renews a token until its log-in": ("test_renewals_end_with_the_session",),
}

PAGES = {
    "how-to/change-homes-and-devices": MOVES,
    "how-to/consent-and-access-log": CONSENT,
    "how-to/erase-and-export": ERASURES,
    "how-to/accounts-and-mails": MAILS,
    "reference/credentials": ENDS,
}
TABLES = {
    "how-to/change-homes-and-devices": ("Let users claim", "When people move", "Move resources and devices"),
    "how-to/consent-and-access-log": ("Readings of a time without consent",),
    "reference/credentials": ("Acts that end a credential",),
}
"""The sections whose tables consist of promises."""


def plain(text: str) -> str:
    """Return a text without its line ends, so that a promise may go over several lines."""
    return " ".join(text.split()).lower()


def table_rows(page: str, heading: str) -> Iterator[str]:
    """Yield the rows of the tables of a section, without their heads."""
    (section,) = re.findall(rf"^##+ {heading}[^\n]*\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE)
    for table in re.findall(r"(?:^\|[^\n]*\n)+", section, re.MULTILINE):
        yield from table.splitlines()[2:]


def test_each_promise_about_households_names_tests_that_exist(subtests: pytest.Subtests) -> None:
    existing = existing_tests()
    for name, promises in PAGES.items():
        page = (ROOT / "docs" / f"{name}.md").read_text()
        with subtests.test(name):
            assert [promise for promise in promises if plain(promise) not in plain(page)] == []
            assert sorted(set(chain.from_iterable(promises.values())) - existing) == []
            rows = [row for heading in TABLES.get(name, ()) for row in table_rows(page, heading)]
            assert [row for row in rows if not any(plain(promise) in plain(row) for promise in promises)] == []
