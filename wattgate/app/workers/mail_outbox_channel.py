"""The mail channel without an SMTP server: store mails in the database instead of sending them."""

import asyncio

from wattgate.delivery.channels.channel import OutboundMessage, Outcome, PermanentFailure, Sent
from wattgate.delivery.channels.mail import SenderProfile, build_and_encode_mail
from wattgate.operations.core.runner import Runner
from wattgate.operations.messages import mail
from wattgate.principal import Principal, Role


class OutboxChannel:
    """A mail channel that stores mails for the outbox page."""

    def __init__(self, runner: Runner, sender_profile: SenderProfile) -> None:
        self._runner = runner
        self._sender_profile = sender_profile

    async def send(self, outgoing: OutboundMessage) -> Outcome:
        """Store a mail exactly as SMTP would send it."""
        result = await asyncio.to_thread(build_and_encode_mail, outgoing, self._sender_profile)
        if isinstance(result, PermanentFailure):
            return result
        message, content = result
        arguments = {
            "delivery_id": outgoing.delivery_id,
            "recipient": message.recipient.address,
            "subject": message.subject,
            "content": content,
        }
        await self._runner.run(
            mail.store_kept_mail, Principal(Role.SYSTEM, application_id=outgoing.application_id), arguments
        )
        return Sent("stored in the outbox")
