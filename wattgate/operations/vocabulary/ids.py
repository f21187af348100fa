"""IDs in arguments and fields that several declarations share, with their descriptions."""

from typing import Annotated

import strawberry

from wattgate.values.annotations import Described

AccountId = Annotated[strawberry.ID, Described("ID of the account.")]
AlertId = Annotated[strawberry.ID, Described("ID of the alert.")]
AlertTypeId = Annotated[
    strawberry.ID, Described("ID of the alert type. Inputs also take its short code, such as CM01.")
]
ApplicationId = Annotated[strawberry.ID, Described("ID of the application that the record belongs to.")]
ContentId = Annotated[strawberry.ID, Described("ID of the content object.")]
DeviceId = Annotated[strawberry.ID, Described("ID of the device.")]
DeviceTypeId = Annotated[strawberry.ID, Described("ID of the device type.")]
DfsEventId = Annotated[strawberry.ID, Described("ID of the demand flexibility event.")]
DirectoryId = Annotated[strawberry.ID, Described("ID of the directory that holds the account.")]
DisplayId = Annotated[strawberry.ID, Described("ID of the paired display.")]
EndpointId = Annotated[strawberry.ID, Described("ID of the webhook endpoint.")]
Eui = Annotated[
    strawberry.ID,
    Described("EUI-64 of the device on the smart-meter network: 16 hexadecimal digits, with or without separators."),
]
ExportId = Annotated[strawberry.ID, Described("ID of the export.")]
LoginApplicationId = Annotated[
    strawberry.ID, Described("ID of the application. Required unless the header `applicationId` has it.")
]
LoginDirectoryId = Annotated[
    strawberry.ID, Described("ID of the directory that holds the account. Default: the application's own.")
]
MemberId = Annotated[strawberry.ID, Described("ID of the access of another person to a home.")]
Mpxn = Annotated[strawberry.ID, Described("Number of the meter point: an MPAN (electricity) or an MPRN (gas).")]
NewOwnerId = Annotated[strawberry.ID, Described("ID of the new owner.")]
NotificationId = Annotated[strawberry.ID, Described("ID of the notification.")]
PromptId = Annotated[strawberry.ID, Described("ID of the prompt.")]
PromptTypeId = Annotated[strawberry.ID, Described("ID of the prompt type.")]
RegistrationDirectoryId = Annotated[
    strawberry.ID, Described("ID of the application's own directory, which is the default and the only valid one.")
]
ResourceId = Annotated[strawberry.ID, Described("ID of the resource.")]
ResourceIds = Annotated[list[strawberry.ID], Described("IDs of the resources to follow.")]
ResourceTypeId = Annotated[strawberry.ID, Described("ID of the resource type.")]
RuleId = Annotated[strawberry.ID, Described("ID of the alert rule.")]
TariffId = Annotated[strawberry.ID, Described("ID of the tariff.")]
TcId = Annotated[strawberry.ID, Described("ID of the version of terms and conditions.")]
TemplateId = Annotated[strawberry.ID, Described("ID of the template.")]
TestMailId = Annotated[strawberry.ID, Described("ID of the test mail.")]
TokenId = Annotated[strawberry.ID, Described("ID of the token record. It is not the token itself.")]
UserActionTypeId = Annotated[strawberry.ID, Described("ID of the user action type.")]
UserId = Annotated[strawberry.ID, Described("ID of the user.")]
VeId = Annotated[strawberry.ID, Described("ID of the virtual entity.")]
VeTypeId = Annotated[strawberry.ID, Described("ID of the virtual entity type.")]
WebhookId = Annotated[strawberry.ID, Described("ID of the webhook.")]
