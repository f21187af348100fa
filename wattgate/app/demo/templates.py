"""Mail templates of the demonstration's alert type, in two cultures. They use the variables of rules."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoTemplate:
    name: str
    culture_code: str
    subject: str
    preheader: str
    html: str


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
      <div class="top">wattgate</div>
      <div class="body">
        <h1>{title}</h1>
        <p>{greeting}</p>
        <div class="value"><strong>{{{{ value | quantity: unit }}}}</strong><br>{{{{ rule }}}}</div>
        <p>{advice}</p>
        <p style="margin: 28px 0 12px"><a class="button" href="https://wattgate.example/display">{link}</a></p>
      </div>
      <div class="foot">{foot}</div>
    </div>
  </body>
</html>
"""

TEMPLATES = (
    DemoTemplate(
        "High consumption",
        "en-GB",
        '{{ home.name | default: "Your home" }} has used {{ value | quantity: unit }}',
        "That is more than the limit of your rule, {{ threshold | quantity: unit }}.",
        _PAGE.format(
            language="en-GB",
            title="More energy than usual",
            greeting="Hello {{ recipient.name }}, your home has used more than {{ threshold | quantity: unit }}. "
            "The rule was evaluated on {{ at | at }}.",
            advice="Is a heater or the oven on for long? If so, all is well.",
            link="See it live",
            foot="You receive this mail because you turned on alerts for high consumption.",
        ),
    ),
    DemoTemplate(
        "Forte consommation",
        "fr-FR",
        "{{ home.name | default: 'Votre logement' }} a consommé {{ value | quantity: unit }}",
        "C'est plus que la limite de votre règle, {{ threshold | quantity: unit }}.",
        _PAGE.format(
            language="fr-FR",
            title="Plus d'énergie que d'habitude",
            greeting="Bonjour {{ recipient.name }}, votre logement a dépassé {{ threshold | quantity: unit }}. "
            "La règle a été évaluée le {{ at | at }}.",
            advice="Le four ou un chauffage reste allumé longtemps ? Alors tout va bien.",
            link="Voir en direct",
            foot="Vous recevez ce message car vous avez demandé à être averti.",
        ),
    ),
)
"""A template in the application's default culture, and a French one."""
