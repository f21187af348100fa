"""The notification system, as the legacy interface has it."""

from collections.abc import Mapping
from typing import Any

from wattgate.clock import iso
from wattgate.db import models
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import Shape
from wattgate.rest_compat.legacy_request import Answer, Exchange

_SWITCHES = {"EMAIL": ("email", "send2Email"), "PUSH": ("push", "send2Push"), "INBOX": ("inbox", "send2Inbox")}
"""The legacy members that switch a channel on, by GraphQL's name of the channel."""


def _alert_given(exchange: Exchange) -> RawArguments:
    """The legacy body of an alert: a yes or no for each channel, Priority with a capital P, and dataToFill."""
    body = exchange.members
    channels = [
        channel
        for channel, switches in _SWITCHES.items()
        if any(str(body.get(switch, "no")).lower() in ("yes", "true", "1") for switch in switches)
    ]
    given = {name: body[name] for name in ("userId", "alertTypeId", "callbackUrl") if name in body}
    if "dataToFill" in body:
        given["data"] = body["dataToFill"]
    if "Priority" in body:
        given["priority"] = str(body["Priority"]).upper()
    return RawArguments({"input": {**given, "channels": channels}})


def _alert_told(alert: models.Alert) -> dict[str, Any]:
    switches = {
        switch: "yes" if channel.lower() in alert.channels else "no"
        for channel, names in _SWITCHES.items()
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
        "createdAt": iso(alert.created_at),
    }


def _notification_told(answer: Answer) -> dict[str, Any]:
    one: models.Notification = answer.result
    return {
        "notificationid": one.notification_id,
        "ns_alert_id": one.alert_id,
        "received_dtm": iso(one.created_at),
        "Status": one.status,
        "status_at": iso(one.status_at),
        "channel": one.channel,
        "userid": one.user_id,
        "alertData": one.data,
    }


def _log_told(answer: Answer) -> list[dict[str, Any]]:
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
            "status_at": iso(step.status_at),
        }
        for step in answer.edges["log"][0]
    ]


def _channel_upper(exchange: Exchange) -> Mapping[str, str]:
    return {**exchange.path, "channelType": exchange.path["channelType"].upper()}


def _template_given(exchange: Exchange) -> RawArguments:
    body = exchange.body
    if isinstance(body, dict) and isinstance(body.get("channelType"), str):
        body = {**body, "channelType": body["channelType"].upper()}
    return RawArguments({"input": body})


ALERTS: Mapping[str, Shape] = {
    "POST /alert": Shape(
        given=_alert_given,
        places={("input", "data"): ("dataToFill",), ("input", "priority"): ("Priority",)},
        body=lambda answer: {"ns_alert_id": answer.result.alert_id, "status": "OK"},
    ),
    "GET /alert/{alertId}": Shape(body=lambda answer: _alert_told(answer.result)),
    "GET /alert/user": Shape(body=lambda answer: [_alert_told(alert) for alert in answer.result]),
    "GET /notification/{notificationId}": Shape(body=_notification_told),
    "GET /notification/{notificationId}/log": Shape(body=_log_told),
    "POST /template": Shape(given=_template_given),
    "GET /template/{alertTypeId}/{channelType}/{cultureCode}": Shape(
        given=lambda exchange: RawArguments(_channel_upper(exchange))
    ),
    "POST /template/{alertTypeId}/{channelType}/{cultureCode}": Shape(
        given=lambda exchange: RawArguments({**_channel_upper(exchange), "input": exchange.body})
    ),
}
