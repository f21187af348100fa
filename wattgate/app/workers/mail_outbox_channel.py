"""The mail channel without an SMTP server: mails are stored in the database instead of sent."""

from wattgate.delivery.channels.channel import OutboundMessage, Outcome, PermanentFailure, Sent
from wattgate.delivery.channels.mail import SenderProfile, build_and_encode_mail
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import mail
from wattgate.principal import Principal, Role


class OutboxChannel:
    """Keeps mails instead of sending them."""

    def __init__(self, runner: Runner, letterhead: SenderProfile) -> None:
        self._runner = runner
        self._letterhead = letterhead

    async def send(self, outgoing: OutboundMessage) -> Outcome:
        """Keep a mail as it would have been sent."""
        made = build_and_encode_mail(outgoing, self._letterhead)
        if isinstance(made, PermanentFailure):
            return made
        letter, written = made
        kept = {
            "delivery_id": outgoing.delivery_id,
            "recipient": letter.recipient.address,
            "subject": letter.subject,
            "content": written,
        }
        await self._runner.run(
            mail.store_kept_mail, Principal(Role.SYSTEM, application_id=outgoing.application_id), kept
        )
        return Sent("kept in the outbox")
