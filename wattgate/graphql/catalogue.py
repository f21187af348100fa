"""Everything the gateway can do, on one page. The uniform kinds of record are declared in `entities`."""

from wattgate.db import models
from wattgate.graphql.connection import paged
from wattgate.graphql.entities import ENTITIES
from wattgate.graphql.entity import operations_of
from wattgate.graphql.operation import Operation
from wattgate.graphql.resolvers import (
    accounts,
    alerts,
    bulk_recording,
    catch_up,
    consent,
    content,
    deliveries,
    devices,
    displays,
    eligibility,
    flexibility,
    freshness,
    homes,
    identity,
    live,
    lookups,
    metering,
    network_registry,
    oauth,
    profiles,
    provisioning,
    raw_readings,
    readings,
    recording,
    registration,
    resources,
    retention,
    tariffs,
    templates,
    users,
    webhooks,
)
from wattgate.graphql.types import alerts as alert_types
from wattgate.graphql.types import content as content_types
from wattgate.graphql.types import homes as home_types
from wattgate.graphql.types import identity as identity_types
from wattgate.graphql.types import prompts as prompt_types
from wattgate.graphql.types import resources as resource_types
from wattgate.graphql.types import webhooks as webhook_types
from wattgate.principal import Permission

OPERATIONS: tuple[Operation, ...] = (
    # Identity
    identity.authenticate,
    identity.token_status,
    identity.new_token,
    identity.delete_token,
    identity.tokens,
    identity.revoke_token,
    # Accounts
    accounts.accounts,
    accounts.account,
    accounts.add_account,
    accounts.update_account,
    accounts.delete_account,
    accounts.account_status,
    accounts.own_account_status,
    accounts.change_email,
    accounts.change_name,
    accounts.change_password,
    accounts.add_mobile_app_token,
    accounts.remove_mobile_app_token,
    # User system
    users.user_by_username,
    users.user,
    users.add_user,
    users.delete_user,
    users.rename_user,
    registration.register,
    registration.request_verification,
    registration.verify_user,
    registration.request_password_reset,
    registration.reset_password,
    profiles.account_profiles,
    profiles.account_profile,
    profiles.set_account_profile,
    profiles.account_session,
    profiles.update_account_session,
    oauth.authorise,
    oauth.oauth_user,
    oauth.grant_oauth_tokens,
    # Virtual entity system
    homes.virtual_entities,
    homes.virtual_entity,
    homes.add_virtual_entity,
    homes.update_virtual_entity,
    homes.deactivate_virtual_entity,
    homes.set_virtual_entity_attributes,
    homes.remove_virtual_entity_attributes,
    homes.virtual_entity_type_resources,
    homes.application_statistics,
    displays.display,
    # Resource system
    resources.add_resource_type,
    retention.set_retention,
    resources.resources,
    resources.resource,
    resources.add_resource,
    readings.readings,
    resources.resource_counts,
    resources.resource_type_resources,
    resources.resource_type_application_resources,
    recording.record_readings,
    recording.record_reading_columns,
    raw_readings.raw_readings,
    raw_readings.meter_read,
    catch_up.catch_up,
    catch_up.catch_ups,
    catch_up.catch_up_state,
    live.readings,
    freshness.freshness,
    # Tariffs
    tariffs.set_tariff,
    tariffs.withdraw_tariff,
    tariffs.set_tariff_prices,
    # Consent
    consent.consents,
    consent.verify_meter_point,
    consent.renew_consents,
    consent.revoke_consents,
    consent.consent_changes,
    # Content system
    content.faqs,
    content.add_faq,
    content.language_contents,
    content.current_terms_conditions,
    content.add_terms_conditions_user,
    # Notification system
    alerts.add_template,
    alerts.template_for,
    alerts.add_template_for,
    templates.preview_template,
    alerts.send_alert,
    alerts.alert,
    alerts.user_alerts,
    alerts.alerts,
    alerts.unread_alerts,
    alerts.mark_alerts_read,
    alerts.notification,
    # Demand flexibility service
    content.dfs_terms_conditions,
    flexibility.dfs_users,
    flexibility.opt_in_to_dfs,
    flexibility.opt_out_of_dfs,
    flexibility.dfs_events,
    flexibility.user_dfs_events,
    flexibility.dfs_event_users,
    flexibility.participate_in_dfs_event,
    flexibility.add_dfs_event,
    flexibility.move_dfs_event,
    flexibility.dfs_event_changes,
    # Device management system
    devices.devices,
    devices.device,
    devices.discover,
    devices.resource_device,
    devices.add_device,
    devices.meter_point_inventory,
    devices.smart_meter_inventory,
    devices.meter_point_resources,
    freshness.device_states,
    # Smart meter eligibility
    eligibility.has_consumer_device,
    eligibility.display_at_postcode,
    eligibility.display_at_meter_point,
    eligibility.meter_point_eligible,
    # Lists that grow, a page at a time
    paged("account", models.Account, identity_types.Account, needs=Permission.ACCOUNT_READ, called="accounts"),
    paged("alert", models.Alert, alert_types.Alert, needs=Permission.NOTIFICATION_READ, called="alerts"),
    paged("webhook", models.Webhook, webhook_types.Webhook, needs=Permission.WEBHOOK_READ, called="webhooks"),
    paged(
        "webhook_error", models.WebhookError, webhook_types.WebhookError, needs=Permission.WEBHOOK_READ, called="errors"
    ),
    paged(
        "user_action", models.UserAction, prompt_types.UserAction, needs=Permission.RESPONSE_READ, called="user actions"
    ),
    paged(
        "prompt_user", models.PromptUser, prompt_types.PromptUser, needs=Permission.RESPONSE_READ, called="prompt users"
    ),
    paged(
        "virtual_entity",
        models.VirtualEntity,
        home_types.VirtualEntity,
        needs=Permission.VIRTUAL_ENTITY_READ,
        called="virtual entities",
    ),
    paged("resource", models.Resource, resource_types.Resource, needs=Permission.RESOURCE_READ, called="resources"),
    paged("device", models.Device, resource_types.Device, needs=Permission.DEVICE_READ, called="devices"),
    paged(
        "terms_conditions_user",
        models.TermsConditionsUser,
        content_types.TermsConditionsUser,
        needs=Permission.RESPONSE_READ,
        called="answers to terms and conditions",
    ),
    # Look-ups by one of several keys
    lookups.find_user,
    lookups.find_device,
    # Uniform records
    *(operation for entity in ENTITIES for operation in operations_of(entity)),
)

SYSTEM_OPERATIONS: tuple[Operation, ...] = (
    provisioning.create_application,
    provisioning.create_user,
    oauth.create_oauth_client,
    network_registry.record_in_registry,
    catch_up.applications_catching_up,
    catch_up.claim_catch_up,
    catch_up.network_readings,
    catch_up.move_catch_up,
    webhooks.record_webhook,
    deliveries.due_deliveries,
    deliveries.claim_deliveries,
    deliveries.give_back_delivery,
    deliveries.settle_notification,
    retention.applications_with_retention,
    retention.forget_readings,
    retention.keep_house,
    bulk_recording.record_reading_arrays,
    metering.record_meter_messages,
    metering.hear_intake,
)
"""What the command line, the intake and the demo do besides; it stands on no door."""
