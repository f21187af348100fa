"""Legacy formats of alerts, notifications and templates."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from wattgate.clock import format_iso
from wattgate.db import models
from wattgate.enums import Channel
from wattgate.enums import Priority as AlertPriority
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.wire_shapes import EXAMPLE_TIME, EXAMPLE_UUID, Instant, ListOf, Ok, Uuid
from wattgate.values.annotations import Described

# Types of alerts, notifications and templates in legacy formats.

Switch = Annotated[Literal["yes", "no"], Meta(description="Whether the alert uses this channel.")]


class AlertToSend(TypedDict):
    """Alert to send to a user."""

    userId: Annotated[str, Meta(max_length=200, description="ID of the user.")]
    alertTypeId: Annotated[
        str, Meta(max_length=200, description="ID of the alert type, or its short code, such as CM01.")
    ]
    email: NotRequired[Switch]
    push: NotRequired[Switch]
    inbox: NotRequired[Switch]
    send2Email: NotRequired[Switch]
    send2Push: NotRequired[Switch]
    send2Inbox: NotRequired[Switch]
    Priority: NotRequired[Annotated[AlertPriority, Meta(description="Priority. Default: Low.")]]
    callbackUrl: NotRequired[
        Annotated[str | None, Meta(max_length=2048, description="URL that receives the webhooks of the alert.")]
    ]
    dataToFill: NotRequired[
        Annotated[dict[str, Any] | None, Meta(description="Variables of the alert type, which fill the templates.")]
    ]
    veId: NotRequired[
        Annotated[str | None, Meta(max_length=200, description="ID of the home that the alert is about.")]
    ]


ALERT_TO_SEND_EXAMPLE = {
    "userId": EXAMPLE_UUID,
    "alertTypeId": "CM01",
    "email": "yes",
    "send2Push": "no",
    "send2Inbox": "yes",
    "Priority": "High",
    "callbackUrl": "https://example.org/hook",
    "dataToFill": {"name": "Ada"},
}


class SentAlert(TypedDict):
    """Acknowledgement that an alert is accepted."""

    ns_alert_id: Annotated[Uuid, Meta(description="ID of the alert.")]
    status: Ok


SENT_ALERT_EXAMPLE: SentAlert = {"ns_alert_id": EXAMPLE_UUID, "status": "OK"}


class LegacyAlert(TypedDict):
    """Alert that was sent to a user."""

    ns_alert_id: Annotated[Uuid, Meta(description="ID of the alert.")]
    applicationId: Annotated[str, Described("ID of the application that the record belongs to.")]
    userId: Annotated[Uuid, Described("ID of the user.")]
    alertTypeId: Annotated[Uuid, Meta(description="ID of the alert type.")]
    systemAlertTypeId: Annotated[str, Meta(description="Short code of the alert type, such as CM01.")]
    email: Switch
    push: Switch
    inbox: Switch
    send2Email: Switch
    send2Push: Switch
    send2Inbox: Switch
    Priority: Annotated[AlertPriority, Meta(description="Priority of the alert.")]
    callbackUrl: Annotated[str | None, Meta(description="URL that receives the webhooks of the alert.")]
    dataToFill: Annotated[dict[str, Any] | None, Meta(description="Variables that fill the templates.")]
    createdAt: Annotated[Instant, Described("When the record was created.")]


ALERT_EXAMPLE = {
    "ns_alert_id": EXAMPLE_UUID,
    "applicationId": EXAMPLE_UUID,
    **ALERT_TO_SEND_EXAMPLE,
    "alertTypeId": EXAMPLE_UUID,
    "systemAlertTypeId": "CM01",
    "send2Email": "yes",
    "push": "no",
    "inbox": "yes",
    "createdAt": EXAMPLE_TIME,
}


class LegacyNotification(TypedDict):
    """Notification: the message of an alert on one channel."""

    notificationid: Annotated[Uuid, Meta(description="ID of the notification.")]
    ns_alert_id: Annotated[Uuid, Meta(description="ID of the alert.")]
    received_dtm: Annotated[Instant, Meta(description="When the gateway accepted it.")]
    Status: Annotated[str, Meta(description="Status of the delivery.")]
    status_at: Annotated[Instant, Meta(description="When the status was set.")]
    channel: Annotated[Channel, Described("Channel of delivery: email, push or inbox.")]
    userid: Annotated[Uuid, Meta(description="ID of the user.")]
    alertData: Annotated[dict[str, Any] | None, Meta(description="Variables that fill the template.")]


NOTIFICATION_EXAMPLE = {
    "notificationid": EXAMPLE_UUID,
    "ns_alert_id": EXAMPLE_UUID,
    "received_dtm": EXAMPLE_TIME,
    "Status": "OK",
    "status_at": EXAMPLE_TIME,
    "channel": "email",
    "userid": EXAMPLE_UUID,
    "alertData": None,
}


class NotificationStep(TypedDict):
    """Step in the delivery of a notification."""

    notificationid: Annotated[Uuid, Meta(description="ID of the notification.")]
    Pipeline: Annotated[str | None, Meta(description="Always null. Legacy clients read it.")]
    ns_alert_id: Annotated[Uuid, Meta(description="ID of the alert.")]
    channel: Annotated[Channel, Described("Channel of delivery: email, push or inbox.")]
    userid: Annotated[Uuid, Meta(description="ID of the user.")]
    Stage: Annotated[str, Meta(description="Name of the step.")]
    workflowStepNum: Annotated[int, Meta(description="Number of the step, from 1.")]
    Status: Annotated[str, Meta(description="Status after the step.")]
    status_at: Annotated[Instant, Meta(description="When the step ended.")]


NOTIFICATION_STEP_EXAMPLE = {
    "notificationid": EXAMPLE_UUID,
    "Pipeline": None,
    "ns_alert_id": EXAMPLE_UUID,
    "channel": "email",
    "userid": EXAMPLE_UUID,
    "Stage": "Added Notification Record",
    "workflowStepNum": 1,
    "Status": "OK",
    "status_at": EXAMPLE_TIME,
}

TEMPLATE_CHANGE_EXAMPLE = {
    "name": "High use",
    "htmlTemplate": "<p>Dear {{name}}</p>",
    "description": "",
    "active": True,
}
TEMPLATE_EXAMPLE = {
    "alertTypeId": EXAMPLE_UUID,
    "channelType": "email",
    "cultureCode": "en-GB",
    **TEMPLATE_CHANGE_EXAMPLE,
}


# Legacy formats of alerts, notifications and templates.


_CHANNEL_SWITCHES = {"EMAIL": ("email", "send2Email"), "PUSH": ("push", "send2Push"), "INBOX": ("inbox", "send2Inbox")}
"""The legacy members that enable a channel, by the GraphQL name of the channel."""


def _parse_alert_arguments(request: LegacyRequest) -> RawArguments:
    """Convert the legacy body of an alert: `yes` or `no` for each channel, `Priority` and `dataToFill`."""
    body = request.body_members
    channels = [
        channel
        for channel, switches in _CHANNEL_SWITCHES.items()
        if any(str(body.get(switch, "no")).lower() in ("yes", "true", "1") for switch in switches)
    ]
    alert_input = {name: body[name] for name in ("userId", "alertTypeId", "callbackUrl", "veId") if name in body}
    if "dataToFill" in body:
        alert_input["data"] = body["dataToFill"]
    if "Priority" in body:
        alert_input["priority"] = str(body["Priority"]).upper()
    return RawArguments({"input": {**alert_input, "channels": channels}})


def _alert_json(alert: models.Alert) -> dict[str, Any]:
    switches = {
        switch: "yes" if channel.lower() in alert.channels else "no"
        for channel, names in _CHANNEL_SWITCHES.items()
        for switch in names
    }
    return {
        "ns_alert_id": alert.alert_id,
        "applicationId": alert.application_id,
        "userId": alert.user_id,
        "alertTypeId": alert.alert_type_id,
        "systemAlertTypeId": alert.system_alert_type_id,
        **switches,
        "Priority": alert.priority,
        "callbackUrl": alert.callback_url,
        "dataToFill": alert.data,
        "createdAt": format_iso(alert.created_at),
    }


def _notification_body(result: RestResult) -> dict[str, Any]:
    notification: models.Notification = result.result
    return {
        "notificationid": notification.notification_id,
        "ns_alert_id": notification.alert_id,
        "received_dtm": format_iso(notification.created_at),
        "Status": notification.status,
        "status_at": format_iso(notification.status_at),
        "channel": notification.channel,
        "userid": notification.user_id,
        "alertData": notification.data,
    }


def _notification_log_body(result: RestResult) -> list[dict[str, Any]]:
    return [
        {
            "notificationid": step.notification_id,
            "Pipeline": None,
            "ns_alert_id": step.alert_id,
            "channel": step.channel,
            "userid": step.user_id,
            "Stage": step.stage,
            "workflowStepNum": step.step,
            "Status": step.status,
            "status_at": format_iso(step.status_at),
        }
        for step in result.edges["log"][0]
    ]


def _path_with_upper_channel(request: LegacyRequest) -> Mapping[str, str]:
    return {**request.path, "channelType": request.path["channelType"].upper()}


def _parse_template_arguments(request: LegacyRequest) -> RawArguments:
    body = request.body
    if isinstance(body, dict) and isinstance(body.get("channelType"), str):
        body = {**body, "channelType": body["channelType"].upper()}
    return RawArguments({"input": body})


ALERT_FORMATS: Mapping[str, LegacyFormat] = {
    "POST /alert": LegacyFormat(
        parse_arguments=_parse_alert_arguments,
        request_paths={
            ("input", "data"): ("dataToFill",),
            ("input", "priority"): ("Priority",),
            ("input", "channels"): ("email",),
        },
        render_body=lambda result: {"ns_alert_id": result.result.alert_id, "status": "OK"},
        body=AlertToSend,
        response=SentAlert,
        body_example=ALERT_TO_SEND_EXAMPLE,
        response_example=SENT_ALERT_EXAMPLE,
    ),
    "GET /alert/{alertId}": LegacyFormat(
        render_body=lambda result: _alert_json(result.result),
        response=LegacyAlert,
        response_example=ALERT_EXAMPLE,
    ),
    "GET /alert/user": LegacyFormat(
        render_body=lambda result: [_alert_json(alert) for alert in result.result],
        response=ListOf(LegacyAlert),
        response_example=[ALERT_EXAMPLE],
    ),
    "GET /notification/{notificationId}": LegacyFormat(
        render_body=_notification_body, response=LegacyNotification, response_example=NOTIFICATION_EXAMPLE
    ),
    "GET /notification/{notificationId}/log": LegacyFormat(
        render_body=_notification_log_body,
        response=ListOf(NotificationStep),
        response_example=[NOTIFICATION_STEP_EXAMPLE],
    ),
    "POST /template": LegacyFormat(parse_arguments=_parse_template_arguments, body_example=TEMPLATE_EXAMPLE),
    "GET /template/{alertTypeId}/{channelType}/{cultureCode}": LegacyFormat(
        parse_arguments=lambda request: RawArguments(_path_with_upper_channel(request))
    ),
    "POST /template/{alertTypeId}/{channelType}/{cultureCode}": LegacyFormat(
        parse_arguments=lambda request: RawArguments({**_path_with_upper_channel(request), "input": request.body}),
        body_example=TEMPLATE_CHANGE_EXAMPLE,
    ),
}
