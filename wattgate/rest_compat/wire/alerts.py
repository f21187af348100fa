"""Types of alerts, notifications and templates in legacy formats."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from wattgate.operations.types.messages.alerts import Channel
from wattgate.operations.types.messages.alerts import Priority as AlertPriority
from wattgate.rest_compat.wire.shapes import EXAMPLE_TIME, EXAMPLE_UUID, Instant, Ok, Uuid
from wattgate.values.annotations import Described

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
    alertTypeId: Annotated[str, Meta(description="Short code of the alert type, such as CM01.")]
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
    Pipeline: Annotated[None, Meta(description="Always null. Legacy clients read it.")]
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
