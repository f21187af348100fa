"""The built-in texts of the gateway's own mails, for applications without templates of their own.

They are template sources with the variables of `templates.contract`. They contain no words of callers, such as names,
because the address may belong to a stranger whom a caller wants to send an advertisement.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from wattgate.delivery import account_mails
from wattgate.delivery.templates.language.cultures import culture_fallbacks
from wattgate.delivery.templates.rendering import TemplateSource

DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class NoticeText:
    """A mail that reports an event. Each paragraph is a template source without markup."""

    subject: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodeText:
    """A mail with a code.

    `open_page` introduces the link, and `button` is its text in HTML. `beside_link` introduces the code after a link,
    and `enter_code` introduces it if there is no link. Without `button`, there never is one.
    """

    subject: str
    reason: str
    open_page: str
    button: str
    beside_link: str
    enter_code: str
    otherwise: str


def _without_link(subject: str, reason: str, enter_code: str, otherwise: str) -> CodeText:
    """Return the text of a mail with a code that no page takes."""
    return CodeText(subject, reason, "", "", "", enter_code, otherwise)


_HOURS = "{{ minutes | divided_by: 60 }}"
_DAYS = "{{ minutes | divided_by: 1440 }}"

TEXTS: Mapping[str, Mapping[str, NoticeText | CodeText]] = MappingProxyType(
    {
        "en": {
            account_mails.VERIFY: CodeText(
                "Confirm your registration",
                "Somebody registered an account of {{ application.name }} with this e-mail address.",
                "To confirm it, open this page within {{ minutes }} minutes:",
                "Confirm the registration",
                "If the page asks for a code, enter this one:",
                "To confirm it, enter this code within {{ minutes }} minutes:",
                "If you did not register, ignore this mail. The account stays closed.",
            ),
            account_mails.RESET: CodeText(
                "Set a new password",
                "Somebody requested a new password for your account of {{ application.name }}, or tried to register "
                "with its address. You have an account already.",
                "To choose one, open this page within {{ minutes }} minutes:",
                "Choose a new password",
                "If the page asks for a code, enter this one:",
                "To choose one, enter this code within {{ minutes }} minutes:",
                "If you did not request this, ignore this mail. Your password stays the same.",
            ),
            account_mails.CONFIRM_EMAIL: CodeText(
                "Confirm your e-mail address",
                "Somebody wants to use this e-mail address for an account of {{ application.name }}.",
                f"To confirm it, open this page within {_HOURS} hours:",
                "Confirm the address",
                "If the page asks for a code, enter this one:",
                f"To confirm it, enter this code within {_HOURS} hours:",
                "If you did not request this, ignore this mail. You will then get no mail for that account.",
            ),
            account_mails.EMAIL_CHANGE_REQUESTED: NoticeText(
                "A new e-mail address was requested for your account",
                (
                    "Somebody requested to replace the e-mail address of your account of {{ application.name }}. The "
                    "change takes effect after it is confirmed at the new address.",
                    "If you did not request this, change your password. This also cancels the request.",
                ),
            ),
            account_mails.EMAIL_CHANGED: NoticeText(
                "The e-mail address of your account was changed",
                (
                    "The e-mail address of your account of {{ application.name }} was replaced and confirmed at the "
                    "new address. This address gets no more mails for the account.",
                    "If you did not request this, contact your provider.",
                ),
            ),
            account_mails.PASSWORD_CHANGED: NoticeText(
                "The password of your account was changed",
                (
                    "The password of your account of {{ application.name }} was changed. All other devices are "
                    "logged out.",
                    "If you did not do this, reset your password now, and check your e-mail account.",
                ),
            ),
            account_mails.HOME_INVITATION: _without_link(
                "You are invited to see a home",
                "A customer of {{ application.name }} wants to share the energy data of a home with you.",
                "To accept, log in to {{ application.name }} with this e-mail address, and enter this code within "
                f"{_DAYS} days:",
                "If you do not know who invites you, ignore this mail. Nobody gets your data.",
            ),
            account_mails.TENANCY_ENDED: NoticeText(
                "Your time at a meter point has ended",
                (
                    "{{ application.name }} has recorded that you moved out at meter point {{ meterPoint }} on "
                    "{{ endedAt | at }}.",
                    "You keep your readings, costs and tariffs from before, and can still read and export them. "
                    "Readings from then on are not yours. Your consent for the meter point has ended, and your alert "
                    "rules there are disabled.",
                    "If you have not moved out, or the time is wrong, contact {{ application.name }} now.",
                ),
            ),
        },
        "fr": {
            account_mails.VERIFY: CodeText(
                "Confirmez votre inscription",
                "Quelqu'un a créé un compte {{ application.name }} avec cette adresse e-mail.",
                "Pour le confirmer, ouvrez cette page dans les {{ minutes }} minutes :",
                "Confirmer l'inscription",
                "Si la page demande un code, saisissez celui-ci :",
                "Pour le confirmer, saisissez ce code dans les {{ minutes }} minutes :",
                "Si vous n'avez pas créé de compte, ignorez ce message. Le compte reste fermé.",
            ),
            account_mails.RESET: CodeText(
                "Choisissez un nouveau mot de passe",
                "Quelqu'un a demandé un nouveau mot de passe pour votre compte {{ application.name }}, ou a essayé de "
                "s'inscrire avec son adresse. Vous avez déjà un compte.",
                "Pour le choisir, ouvrez cette page dans les {{ minutes }} minutes :",
                "Choisir un nouveau mot de passe",
                "Si la page demande un code, saisissez celui-ci :",
                "Pour le choisir, saisissez ce code dans les {{ minutes }} minutes :",
                "Si vous n'êtes pas à l'origine de cette demande, ignorez ce message. Votre mot de passe ne change "
                "pas.",
            ),
            account_mails.CONFIRM_EMAIL: CodeText(
                "Confirmez votre adresse e-mail",
                "Quelqu'un a demandé d'utiliser cette adresse e-mail pour un compte {{ application.name }}.",
                f"Pour la confirmer, ouvrez cette page dans les {_HOURS} heures :",
                "Confirmer l'adresse",
                "Si la page demande un code, saisissez celui-ci :",
                f"Pour la confirmer, saisissez ce code dans les {_HOURS} heures :",
                "Si vous n'êtes pas à l'origine de cette demande, ignorez ce message. Vous ne recevrez alors aucun "
                "message pour ce compte.",
            ),
            account_mails.EMAIL_CHANGE_REQUESTED: NoticeText(
                "Une nouvelle adresse e-mail a été demandée pour votre compte",
                (
                    "Quelqu'un a demandé de remplacer l'adresse e-mail de votre compte {{ application.name }}. Le "
                    "changement prend effet après sa confirmation à la nouvelle adresse.",
                    "Si vous n'êtes pas à l'origine de cette demande, changez votre mot de passe. La demande est "
                    "alors annulée.",
                ),
            ),
            account_mails.EMAIL_CHANGED: NoticeText(
                "L'adresse e-mail de votre compte a changé",
                (
                    "L'adresse e-mail de votre compte {{ application.name }} a été remplacée et confirmée à la "
                    "nouvelle adresse. Cette adresse ne reçoit plus de messages pour ce compte.",
                    "Si vous n'êtes pas à l'origine de ce changement, contactez votre fournisseur.",
                ),
            ),
            account_mails.PASSWORD_CHANGED: NoticeText(
                "Le mot de passe de votre compte a changé",
                (
                    "Le mot de passe de votre compte {{ application.name }} a changé. Tous les autres appareils sont "
                    "déconnectés.",
                    "Si vous n'êtes pas à l'origine de ce changement, réinitialisez votre mot de passe maintenant et "
                    "vérifiez votre messagerie.",
                ),
            ),
            account_mails.HOME_INVITATION: _without_link(
                "Vous êtes invité à consulter un logement",
                "Un client de {{ application.name }} souhaite partager avec vous les données d'énergie d'un logement.",
                "Pour accepter, connectez-vous à {{ application.name }} avec cette adresse e-mail, et saisissez ce "
                f"code dans les {_DAYS} jours :",
                "Si vous ne savez pas qui vous invite, ignorez ce message. Personne ne reçoit vos données.",
            ),
            account_mails.TENANCY_ENDED: NoticeText(
                "Votre période à un point de comptage est terminée",
                (
                    "{{ application.name }} a enregistré que vous avez quitté le point de comptage {{ meterPoint }} le "
                    "{{ endedAt | at }}.",
                    "Vous conservez vos relevés, coûts et tarifs antérieurs, et vous pouvez toujours les consulter et "
                    "les exporter. Les relevés ultérieurs ne sont pas les vôtres. Votre consentement pour ce point de "
                    "comptage a pris fin, et vos règles d'alerte y sont désactivées.",
                    "Si vous n'avez pas déménagé, ou si l'heure est fausse, contactez {{ application.name }} "
                    "maintenant.",
                ),
            ),
        },
    }
)
"""The texts by language and short code. Every language has all of them."""

_PAGE = """\
<!doctype html>
<html lang="%(language)s">
  <head>
    <meta charset="utf-8">
    <title>%(subject)s</title>
    <style>
      body { margin: 0; padding: 24px 12px; background-color: #f4f1ea; font-family: Arial, sans-serif; }
      .sheet { max-width: 528px; margin: 0 auto; padding: 28px; background-color: #ffffff; color: #1a2133; }
      h1 { margin: 0 0 12px; font-size: 22px; line-height: 28px; }
      p { margin: 0 0 16px; font-size: 16px; line-height: 24px; }
      .code { padding: 16px; background-color: #f4f1ea; font-family: monospace; font-size: 20px; text-align: center; }
      .button { padding: 12px 22px; background-color: #8a4300; color: #ffffff; text-decoration: none; }
    </style>
  </head>
  <body>
    <div class="sheet">
      <h1>%(subject)s</h1>
      %(body)s
    </div>
  </body>
</html>
"""


def builtin_source(short_code: str, culture: str) -> TemplateSource:
    """Return the built-in template of a mail in the language of a culture, or in English if there is none."""
    language = builtin_language(culture)
    text = TEXTS[language][short_code]
    body, plain = _code_parts(text) if isinstance(text, CodeText) else _notice_parts(text)
    page = _PAGE % {"language": language, "subject": text.subject, "body": body}
    return TemplateSource(html=page, subject=text.subject, preheader="", text=plain)


def builtin_language(culture: str) -> str:
    """Return the language of the built-in texts for a culture."""
    return next(code for code in culture_fallbacks(culture.lower(), DEFAULT_LANGUAGE) if code in TEXTS)


def _notice_parts(text: NoticeText) -> tuple[str, str]:
    return _paragraphs(*text.paragraphs), "\n\n".join(text.paragraphs) + "\n"


def _code_parts(text: CodeText) -> tuple[str, str]:
    """Return the HTML and the plain text of a mail with a code, as template sources."""
    code = '<p class="code">{{ code }}</p>'
    if not text.button:
        body = f"{_paragraphs(text.reason, text.enter_code)}{code}{_paragraphs(text.otherwise)}"
        return body, f"{text.reason}\n\n{text.enter_code}\n\n{{{{ code }}}}\n\n{text.otherwise}\n"
    button = f'<p><a class="button" href="{{{{ link }}}}">{text.button}</a></p>'
    body = (
        f"{_paragraphs(text.reason)}\n"
        f"{{% if link %}}{_paragraphs(text.open_page)}{button}{_paragraphs(text.beside_link)}"
        f"{{% else %}}{_paragraphs(text.enter_code)}{{% endif %}}\n"
        f"{code}\n{_paragraphs(text.otherwise)}"
    )
    plain = (
        f"{text.reason}\n\n"
        f"{{% if link %}}{text.open_page}\n\n{{{{ link }}}}\n\n{text.beside_link}"
        f"{{% else %}}{text.enter_code}{{% endif %}}\n\n"
        f"{{{{ code }}}}\n\n{text.otherwise}\n"
    )
    return body, plain


def _paragraphs(*texts: str) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)
