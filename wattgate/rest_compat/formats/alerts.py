"""Legacy formats of alerts, notifications and templates."""

from collections.abc import Mapping
from typing import Any

from wattgate.clock import format_iso
from wattgate.db import models
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.wire import alerts as wire
from wattgate.rest_compat.wire.shapes import ListOf

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
        "alertTypeId": alert.system_alert_type_id,
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
        request_paths={("input", "data"): ("dataToFill",), ("input", "priority"): ("Priority",)},
        render_body=lambda result: {"ns_alert_id": result.result.alert_id, "status": "OK"},
        body=wire.AlertToSend,
        response=wire.SentAlert,
        body_example=wire.ALERT_TO_SEND_EXAMPLE,
        response_example=wire.SENT_ALERT_EXAMPLE,
    ),
    "GET /alert/{alertId}": LegacyFormat(
        render_body=lambda result: _alert_json(result.result),
        response=wire.LegacyAlert,
        response_example=wire.ALERT_EXAMPLE,
    ),
    "GET /alert/user": LegacyFormat(
        render_body=lambda result: [_alert_json(alert) for alert in result.result],
        response=ListOf(wire.LegacyAlert),
        response_example=[wire.ALERT_EXAMPLE],
    ),
    "GET /notification/{notificationId}": LegacyFormat(
        render_body=_notification_body, response=wire.LegacyNotification, response_example=wire.NOTIFICATION_EXAMPLE
    ),
    "GET /notification/{notificationId}/log": LegacyFormat(
        render_body=_notification_log_body,
        response=ListOf(wire.NotificationStep),
        response_example=[wire.NOTIFICATION_STEP_EXAMPLE],
    ),
    "POST /template": LegacyFormat(parse_arguments=_parse_template_arguments, body_example=wire.TEMPLATE_EXAMPLE),
    "GET /template/{alertTypeId}/{channelType}/{cultureCode}": LegacyFormat(
        parse_arguments=lambda request: RawArguments(_path_with_upper_channel(request))
    ),
    "POST /template/{alertTypeId}/{channelType}/{cultureCode}": LegacyFormat(
        parse_arguments=lambda request: RawArguments({**_path_with_upper_channel(request), "input": request.body}),
        body_example=wire.TEMPLATE_CHANGE_EXAMPLE,
    ),
}
