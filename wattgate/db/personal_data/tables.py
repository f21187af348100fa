"""The treatment of each table by an erasure. A test fails if a table, or a column of rows that stay, is missing.

The order is that of the erasure: rows that refer to others come before them.
"""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sqlalchemy import func, literal

from wattgate.db import models
from wattgate.db.personal_data.rules import (
    OfAddresses,
    OfRecords,
    OfResources,
    OfUser,
    TableRule,
    constant,
    each,
    erased,
    kept,
    replaced,
)
from wattgate.enums import ErasureAction

ERASED_NAME = "erased-"
"""The start of the username of an erased account. Its account ID follows."""

_SUBJECT = OfUser("subject_id")
_OWN = OfUser("user_id")
_DEVICES = OfUser("owner_id")

_PSEUDONYM = "The identifier is the pseudonym of a person whose data is erased."
_NO_DATA = "It says nothing about a person."
_BILLED = "Billing needs the consumption and the rates of the meter point."
_CLOCK = "created_at updated_at"

_ACCOUNT_RULES = (
    erased(models.AccountMail, "Mails of the gateway about your accounts."),
    erased(models.AccountProfile, "Objects that your apps have stored."),
    erased(models.AccountSession, "State that your apps share."),
    erased(models.OneTimeCode, "Codes that were sent to you, without the codes."),
    erased(models.EmailChange, "E-mail addresses that were not confirmed yet."),
    erased(models.MobileAppToken, "Apps that receive pushes, without their tokens."),
    erased(models.ExternalAccount, "Your accounts in external directories, without the tokens."),
    erased(models.RecoveryCode, "Codes that replace your second factor, without the codes."),
    erased(models.SecondFactor, "Your second factor, without its secret."),
    erased(models.LoginSource, "Devices and networks from which you have logged in, without their identifiers."),
    erased(models.AuthorizationCode, "Authorizations of other software that were not used yet, without their codes."),
    erased(models.RefreshToken, "Access of other software to your data, without the tokens."),
    erased(models.DisplayPairing, "", OfUser("user_id")),
    erased(models.PairedDisplay, "Displays that are paired with your homes, without their credentials."),
    erased(models.Token, "Log-ins that are still valid, without the tokens."),
)
_APP_RULES = (
    erased(models.UserAction, "Your actions in apps."),
    erased(models.PromptUser, "Your responses to prompts."),
    erased(models.TermsConditionsUser, "Your responses to terms and conditions."),
    erased(models.DfsParticipation, "Flexibility events in which you take part."),
    erased(models.DfsUser, "Your enrolments in the flexibility service."),
    erased(models.AlertRule, "Your alert rules."),
)
_MESSAGE_RULES = (
    erased(models.NotificationLog, "Steps of the delivery of your notifications."),
    erased(models.Notification, "Notifications that were sent to you, with their content."),
    erased(
        models.KeptMail,
        "Mails that were kept because no mail server is configured.",
        OfUser("user_id"),
        OfAddresses("recipient"),
    ),
    erased(models.TestMail, "", OfAddresses("address")),
    erased(
        models.MailSuppression,
        "Addresses of yours that get no more mail.",
        OfRecords("delivery_id", models.Delivery, "delivery_id", _OWN),
        OfAddresses("address"),
    ),
    erased(
        models.WebhookError,
        "Failed messages about you to other systems.",
        OfRecords("webhook_id", models.Webhook, "webhook_id", _SUBJECT),
        OfUser("user_id"),
    ),
    erased(
        models.Delivery,
        "Messages to you or about you, and their delivery.",
        OfUser("user_id"),
        OfRecords("target_id", models.Webhook, "webhook_id", _SUBJECT),
    ),
    erased(models.Webhook, "Messages about you to other systems.", _SUBJECT, OfUser("user_id")),
    erased(models.WebhookEvent, "Events about you."),
    erased(models.Alert, "Alerts that were sent to you."),
)
_HOME_RULES = (
    erased(models.CatchUp, "Retrievals of readings from the meter network."),
    erased(models.DeviceClaim, "", OfRecords("hardware_key", models.Device, "hardware_key", _DEVICES, True)),
    erased(
        models.DeviceSensor,
        "Sensors of your devices.",
        OfRecords("device_id", models.Device, "device_id", _DEVICES),
    ),
    erased(models.Device, "Your devices."),
    erased(
        models.VirtualEntityResource,
        "Resources of your homes.",
        OfRecords("ve_id", models.VirtualEntity, "ve_id", _DEVICES),
    ),
    erased(
        models.HomeMember,
        "People whom you have invited to your homes, and homes of others that you may read, without codes.",
        OfUser("user_id"),
        OfUser("member_user_id"),
        OfAddresses("email"),
    ),
    erased(models.VirtualEntity, "Your homes."),
)
_EXPORT_RULES = (erased(models.DataExportPart, ""), erased(models.DataExport, ""))


def _erased_username(columns: Any, now: Any) -> Any:
    return literal(ERASED_NAME) + columns["account_id"]


_TARIFF = replaced(
    models.Tariff,
    "Tariffs of your resources.",
    _BILLED,
    {"name": constant("Tariff")},
    {
        _PSEUDONYM: "application_id tariff_id resource_id",
        _BILLED: "kind rate bands blocks block_period price_period price_formula standing_charge components vat_rate "
        "time_zone source valid_from version superseded_at created_at",
    },
)
_BILLING_RULES = (
    TableRule(models.Tariff, ErasureAction.ERASED, "The resource has no meter point.", (OfResources(billed=False),)),
    replace(_TARIFF, selections=(OfResources(billed=True),), billing=True),
    replace(
        replaced(
            models.MeterPointConsent,
            "Consents to the use of the data of your meter points.",
            "It proves that the kept readings were permitted. The consent is revoked.",
            {"revoked_at": lambda columns, now: func.coalesce(columns["revoked_at"], now)},
            {
                _PSEUDONYM: "application_id consent_id user_id",
                "It is the record of the consent.": "mpxn verified valid_until ended_at gaps created_at updated_at",
            },
        ),
        billing=True,
    ),
    replace(
        replaced(
            models.ConsentChange,
            "Renewals and revocations of your consents.",
            "It proves that the kept readings were permitted.",
            {"purpose": constant("")},  # a free text
            {
                _PSEUDONYM: "application_id change_id user_id",
                "It is the record of the consent.": "mpxn kind valid_until basis recorded_by created_at",
            },
        ),
        billing=True,
    ),
    replaced(  # also without records for billing: the network has the half hours of this time, for nobody else
        models.MeterPointTenancy,
        "The times in which you lived at your meter points.",
        "It keeps the readings of this time, which the meter network still has, from other households.",
        {"ended_at": lambda columns, now: func.coalesce(columns["ended_at"], now)},
        {
            _PSEUDONYM: "application_id tenancy_id user_id",
            "It is the record of the tenancy.": "mpxn began_at proof created_at updated_at listed_change",
        },
    ),
    replace(
        replaced(
            models.AccessRecord,
            "Reads of the data of your meters, with the readers.",
            "It proves who read the kept readings. Its identifiers are pseudonyms.",
            {"purpose": constant("")},  # a text of the caller
            {
                _PSEUDONYM: "application_id access_id user_id resource_id reader reader_user_id",
                _NO_DATA: "operation role own count hour last_at created_at",
            },
        ),
        billing=True,
    ),
    replace(
        replaced(
            models.Resource,
            "Your resources, which are series of readings.",
            _BILLED,
            {
                "name": lambda columns, now: columns["classifier"],
                **dict(each("", "description label")),
                **dict(each(None, "data_source_resource_type_info data_source_unit_info")),
                **dict(each(False, "active watched")),
            },
            {
                _PSEUDONYM: "application_id number resource_id owner_id resource_type_id cost_of successor_id",
                _BILLED: "mpxn classifier base_unit storage data_source_type owned_from consent_gaps withdrawals "
                + _CLOCK,
            },
        ),
        billing_replaced=MappingProxyType(dict(each(None, "mpxn"))),
    ),
)
_IDENTITY_RULES = (
    replaced(
        models.Account,
        "Your accounts, without the passwords.",
        _PSEUDONYM,
        {
            "username": _erased_username,
            **dict(each("", "name email")),
            **dict(each(None, "password_hash failed_at")),
            **dict(each(False, "administrator template_editor second_factor active mails_username")),
            "status": constant("inactive"),
            "failures": constant(0),
        },
        {_PSEUDONYM: "application_id account_id user_id directory_id created_at updated_at"},
    ),
    replaced(
        models.User,
        "The record that everything else belongs to.",
        _PSEUDONYM,
        {
            "status": constant("inactive"),
            "active": constant(False),
            "culture_code": constant(None),
            "erased_at": lambda columns, now: func.coalesce(columns["erased_at"], now),
        },
        {_PSEUDONYM: "application_id user_id created_at updated_at"},
    ),
)

_READING = "resource_number field at"
_ROLLUP = f"{_READING} count sum min max first_at last_at estimated revision received_at"
READING_RULES = (
    TableRule(
        models.Reading,
        ErasureAction.KEPT,
        _BILLED,
        columns=MappingProxyType({_BILLED: f"{_READING} value quality revision received_at"}),
        billing=True,
        exported="Readings.",
    ),
    *(
        TableRule(model, ErasureAction.KEPT, _BILLED, columns=MappingProxyType({_BILLED: _ROLLUP}), billing=True)
        for model in (models.ReadingHour, models.ReadingDay)
    ),
    TableRule(
        models.TariffPrice,
        ErasureAction.KEPT,
        _BILLED,
        columns=MappingProxyType({_BILLED: "tariff_id at rate"}),
        billing=True,
        exported="Prices of tariffs.",
    ),
)
"""The tables without an owner. Their rows belong to resources and tariffs, and are erased with these."""

_APPLICATION_CONTENT = "It is content of the application."
_OF_APPLICATION = "It belongs to the application."
_REGISTRY = "The registry of the meter network belongs to no application and names no person."
KEPT_RULES = (
    kept(
        models.AuditEntry,
        "The log proves administrative acts. It has identifiers, and neither names nor addresses of erased users.",
        "application_id audit_entry_id sequence operation actor target changes trace_id client_address previous_digest "
        "digest created_at",
    ),
    kept(models.AuditHead, _NO_DATA, "application_id sequence digest"),
    kept(
        models.Erasure,
        "It is the receipt of the erasure, without personal data.",
        "application_id erasure_id user_id state stage step cursor retention_days counts created_at started_at due_at "
        "finished_at kept_until billing_erased_at listed_at",
    ),
    kept(
        models.LoginBackoff,
        "It counts attempts by a digest of the username, which the start of the erasure deletes.",
        "application_id backoff_id failures failed_at",
    ),
    kept(
        models.Application,
        _OF_APPLICATION,
        f"application_id name culture_code directory_id trusted_only {_CLOCK}",
    ),
    kept(models.ApplicationCredential, _OF_APPLICATION, "username application_id secret_digest active created_at"),
    kept(
        models.OAuthClient,
        _OF_APPLICATION,
        "application_id client_id name secret_digest redirect_uris scope active created_at",
    ),
    kept(
        models.Directory,
        _OF_APPLICATION,
        "application_id directory_id name issuer audiences algorithms account_rule token_check clock_skew_seconds "
        f"session_seconds client_id client_secret active {_CLOCK}",
    ),
    kept(models.StoredEvent, _PSEUDONYM, "number origin topic content created_at"),
    kept(models.SecretKey, _NO_DATA, "key_id sample created_at"),
    kept(
        models.TrustedDocument, _OF_APPLICATION, "application_id trusted_document_id document_id text name created_at"
    ),
    kept(models.Intake, _OF_APPLICATION, "application_id intake_id name connected heard_at"),
    kept(
        models.WebhookEndpoint,
        _OF_APPLICATION,
        "application_id endpoint_id url events description enabled disabled_reason ordered secret old_secrets "
        f"secret_expires_at {_CLOCK} failures failing_since paused_until",
    ),
    kept(
        models.AlertType,
        _APPLICATION_CONTENT,
        "application_id alert_type_id name system_alert_type_id description variables rule_kind active",
    ),
    kept(
        models.Template,
        _APPLICATION_CONTENT,
        "application_id template_id alert_type_id name system_alert_type_id description channel_type culture_code "
        f"html_template version active archived_at {_CLOCK}",
    ),
    kept(
        models.TemplateVersion,
        "It is content of the application. Its authors are identifiers.",
        "application_id version_id template_id version subject preheader html_template text created_at created_by "
        "published_at published_by",
    ),
    kept(
        models.Content,
        _APPLICATION_CONTENT,
        f"application_id content_id reference name description data active {_CLOCK}",
    ),
    kept(
        models.LanguageContent,
        _APPLICATION_CONTENT,
        f"application_id language_content_id content_id culture_code data active {_CLOCK}",
    ),
    kept(
        models.Faq,
        _APPLICATION_CONTENT,
        f"application_id faq_id reference version minimum_version country status data {_CLOCK}",
    ),
    kept(
        models.Prompt,
        _APPLICATION_CONTENT,
        f"application_id prompt_id prompt_type_id name message data active {_CLOCK}",
    ),
    kept(models.PromptType, _APPLICATION_CONTENT, f"application_id prompt_type_id name description active {_CLOCK}"),
    kept(
        models.SupportDetails,
        _APPLICATION_CONTENT,
        f"application_id support_details_id reference country email telephone url data active {_CLOCK}",
    ),
    kept(
        models.TermsConditions,
        _APPLICATION_CONTENT,
        f"application_id tc_id reference version title data valid_from active {_CLOCK}",
    ),
    kept(
        models.UserActionType,
        _APPLICATION_CONTENT,
        f"application_id user_action_type_id name description active {_CLOCK}",
    ),
    kept(models.DfsEvent, _OF_APPLICATION, f"application_id dfs_event_id name state starts_at ends_at reward {_CLOCK}"),
    kept(models.DeviceType, _OF_APPLICATION, f"application_id device_type_id description active protocol {_CLOCK}"),
    kept(
        models.ResourceType,
        _OF_APPLICATION,
        "application_id resource_type_id name classifier storage description data_source_type "
        f"data_source_resource_type_info label base_unit retention_days active {_CLOCK}",
    ),
    kept(
        models.VirtualEntityType,
        _OF_APPLICATION,
        f"application_id ve_type_id name description active resources {_CLOCK}",
    ),
    kept(models.NetworkMeterPoint, _REGISTRY, "mpxn postcode smets_version eligible"),
    kept(
        models.NetworkDevice,
        _REGISTRY,
        "eui mpxn device_type manufacturer model firmware_version status commissioned_at",
    ),
    kept(models.NetworkReading, _REGISTRY, "mpxn classifier at value quality"),
    kept(models.NetworkRegister, _REGISTRY, "mpxn classifier at value unit"),
)

USER_RULES = (
    *_ACCOUNT_RULES,
    *_APP_RULES,
    *_MESSAGE_RULES,
    *_HOME_RULES,
    *_EXPORT_RULES,
    *_BILLING_RULES,
    *_IDENTITY_RULES,
)
"""The rules of tables with rows of users, in the order of the erasure."""

RULES = (*USER_RULES, *READING_RULES, *KEPT_RULES)
"""The rules of all tables."""
