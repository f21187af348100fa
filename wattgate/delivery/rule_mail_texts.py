"""The built-in texts of the alerts of rules: template sources for each kind of rule, in English and French.

`wattgate home create` and the demonstration store them as templates, which editors then change. An application without
a template for an alert sends the built-in text. Each states the value, the limit, the home, the time and the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from types import MappingProxyType

from wattgate.delivery.templates.language.cultures import culture_fallbacks
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.enums import RuleKind

DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class RuleText:
    """The text of a mail about a rule that fired. All parts but `name` and `title` are template sources.

    `reached` introduces the value, `limit` states what the rule allows, and `advice` says what to do.
    """

    name: str
    title: str
    subject: str
    reached: str
    limit: str
    advice: str


@dataclass(frozen=True, slots=True)
class MailLanguage:
    """The built-in texts of a language: the parts that all mails share, and the text of each kind of rule.

    `culture` formats them for a recipient whose language has no text. A kind without a text is an error when the module
    is imported.
    """

    culture: str
    home: str
    greeting: str
    button: str
    why: str
    unsubscribe: str
    preferences: str
    texts: Mapping[RuleKind, RuleText]

    def __post_init__(self) -> None:
        if missing := [kind.name for kind in RuleKind if kind not in self.texts]:
            raise ValueError(f"The mails of rules have no text for {', '.join(missing)}.")


_WINDOW = '{{ windowMinutes | times: 60 | quantity: "s" }}'
_VALUE, _LIMIT = "{{ value | quantity: unit }}", "{{ threshold | quantity: unit }}"
_HOME = '{{ home.name | default: "Your home" }}'
_HOME_IN_FRENCH = '{{ home.name | default: "Votre logement" }}'
_PREHEADER = "{{ rule }}. {{ at | at }}"

_PERIOD = "{% case period %}{% when 'P1D' %}day{% when 'P1W' %}week{% else %}month{% endcase %}"
_THIS_PERIOD = "{% case period %}{% when 'P1D' %}ce jour{% when 'P1W' %}cette semaine{% else %}ce mois{% endcase %}"

MAILS: Mapping[str, MailLanguage] = MappingProxyType(
    {
        "en": MailLanguage(
            culture="en-GB",
            home=_HOME,
            greeting="Hello {{ recipient.name }},",
            button="Open the display",
            why="You receive this mail because of your alert rule “{{ rule }}”. Change it or turn it off under Rules "
            "on your display.",
            unsubscribe="Stop these mails",
            preferences="Choose your alerts",
            texts={
                RuleKind.THRESHOLD: RuleText(
                    name="High consumption",
                    title="A limit is reached",
                    subject=f"{_HOME}: {_VALUE}, limit {_LIMIT}",
                    reached="{{ resource }} in " + _WINDOW,
                    limit=f"The limit of your rule is {_LIMIT}.",
                    advice="Is a heater or the oven on for long? If so, all is well.",
                ),
                RuleKind.NO_DATA: RuleText(
                    name="No readings",
                    title="No readings arrive",
                    subject=f"{_HOME}: no readings for {_VALUE}",
                    reached="without a reading of {{ resource }}",
                    limit=f"Your rule allows {_WINDOW}.",
                    advice="Import newer readings, or look whether the meter and its display are on.",
                ),
                RuleKind.PACE: RuleText(
                    name="Budget",
                    title="More than the budget is expected",
                    subject=f"{_HOME}: {_VALUE} expected, budget {_LIMIT}",
                    reached="{{ resource }} expected in the " + _PERIOD,
                    limit=f"At the present pace, the {_PERIOD} ends above your budget of {_LIMIT}.",
                    advice="The display compares the days, so that you see which of them were high.",
                ),
            },
        ),
        "fr": MailLanguage(
            culture="fr-FR",
            home=_HOME_IN_FRENCH,
            greeting="Bonjour {{ recipient.name }},",
            button="Ouvrir l'afficheur",
            why="Vous recevez ce message en raison de votre règle « {{ rule }} ». Modifiez-la ou désactivez-la sous "
            "Règles sur votre afficheur.",
            unsubscribe="Ne plus recevoir ces messages",
            preferences="Choisir vos alertes",
            texts={
                RuleKind.THRESHOLD: RuleText(
                    name="Forte consommation",
                    title="Une limite est atteinte",
                    subject=f"{_HOME_IN_FRENCH} : {_VALUE}, limite {_LIMIT}",
                    reached="{{ resource }} en " + _WINDOW,
                    limit=f"La limite de votre règle est de {_LIMIT}.",
                    advice="Le four ou un chauffage reste allumé longtemps ? Alors tout va bien.",
                ),
                RuleKind.NO_DATA: RuleText(
                    name="Aucun relevé",
                    title="Aucun relevé n'arrive",
                    subject=f"{_HOME_IN_FRENCH} : aucun relevé depuis {_VALUE}",
                    reached="sans relevé de {{ resource }}",
                    limit=f"Votre règle admet {_WINDOW}.",
                    advice="Importez de nouveaux relevés, ou vérifiez que le compteur et son afficheur sont allumés.",
                ),
                RuleKind.PACE: RuleText(
                    name="Budget",
                    title="Le budget sera dépassé",
                    subject=f"{_HOME_IN_FRENCH} : {_VALUE} prévus, budget {_LIMIT}",
                    reached="{{ resource }} prévus pour " + _THIS_PERIOD,
                    limit=f"À ce rythme, {_THIS_PERIOD} dépassera votre budget de {_LIMIT}.",
                    advice="L'afficheur compare les jours : vous y voyez lesquels étaient élevés.",
                ),
            },
        ),
    }
)

LANGUAGES = tuple(MAILS)

CULTURES: Mapping[str, str] = MappingProxyType({language: mail.culture for language, mail in MAILS.items()})
"""The culture in which a text is formatted for a recipient whose language has none."""


def builtin_language(culture: str) -> str:
    """Return the language of the built-in texts for a culture: its own, or else English."""
    return next(code for code in culture_fallbacks(culture.lower(), DEFAULT_LANGUAGE) if code in MAILS)


def rule_mail(kind: RuleKind, language: str, display_url: str | None = None) -> TemplateSource:
    """Return the mail of a kind of rule in a language. With a URL of the display, it has a button that opens it."""
    common = MAILS[language]
    text = common.texts[kind]
    button = "" if display_url is None else _BUTTON.format(url=escape(display_url), label=common.button)
    html = _PAGE.format(
        language=language,
        title=text.title,
        home=common.home,
        greeting=common.greeting,
        value=_VALUE,
        reached=text.reached,
        limit=text.limit,
        advice=text.advice,
        button=button,
        why=common.why,
        unsubscribe=common.unsubscribe,
        preferences=common.preferences,
    )
    return TemplateSource(html, text.subject, _PREHEADER)


_BUTTON = """
        <p style="margin: 28px 0 12px"><a class="button" href="{url}">{label}</a></p>"""

_PAGE = """\
<!doctype html>
<html lang="{language}">
  <head>
    <meta charset="utf-8">
    <title>{title}</title>
    <style>
      body {{ margin: 0; padding: 24px 12px; background-color: #f4f1ea; font-family: Arial, sans-serif; }}
      .sheet {{ max-width: 528px; margin: 0 auto; background-color: #ffffff; }}
      .top {{ padding: 20px 28px; background-color: #1a2133; color: #ffffff; font-size: 18px; font-weight: bold; }}
      .body {{ padding: 28px; color: #1a2133; font-size: 16px; line-height: 24px; }}
      h1 {{ margin: 0 0 12px; font-size: 26px; line-height: 32px; }}
      .value {{ margin: 20px 0; padding: 20px; background-color: #fdf0df; color: #a34f00; text-align: center; }}
      .value strong {{ font-size: 40px; line-height: 48px; }}
      .button {{ padding: 12px 22px; background-color: #a34f00; color: #ffffff; text-decoration: none; }}
      .foot {{ padding: 18px 28px; background-color: #ebe5d9; color: #595f70; font-size: 13px; line-height: 20px; }}
    </style>
  </head>
  <body>
    <div class="sheet">
      <div class="top">{home}</div>
      <div class="body">
        <h1>{title}</h1>
        <p>{greeting}</p>
        <div class="value"><strong>{value}</strong><br>{reached}<br>{{{{ at | at }}}}</div>
        <p>{limit} {advice}</p>{button}
      </div>
      <div class="foot">
        {why}
      {{% if recipient.unsubscribeUrl %}}<br><a href="{{{{ recipient.unsubscribeUrl }}}}">{unsubscribe}</a>{{% endif %}}
      {{% if recipient.preferencesUrl %}}<br><a href="{{{{ recipient.preferencesUrl }}}}">{preferences}</a>{{% endif %}}
      </div>
    </div>
  </body>
</html>
"""
