/** The content of a new template. It has only variables that every alert has, and a link to this gateway. */

/** @import { TemplateContent } from "./templates.js" */

export const DEFAULT_NAME = "New template";

/** @type {TemplateContent} */
export const DEFAULT_CONTENT = {
  subject: '{{ alert.name }}: {{ home.name | default: "your home" }}',
  preheader: "Since {{ alert.at | at }}.",
  text: "",
  htmlTemplate: `<!doctype html>
<html lang="en-GB">
  <head>
    <meta charset="utf-8">
    <title>{{ alert.name }}</title>
    <style>
      body { margin: 0; background: #f4f1ea; color: #1a2133; font-family: Arial, sans-serif; }
      .sheet { max-width: 560px; margin: 0 auto; padding: 24px; background: #ffffff; }
      h1 { font-size: 24px; }
      .foot { color: #595f70; font-size: 13px; }
      .button { padding: 12px 20px; background: #a34f00; color: #ffffff; text-decoration: none; }
    </style>
  </head>
  <body>
    <div class="sheet">
      <h1>{{ alert.name }}</h1>
      <p>Hello {{ recipient.name }}, this is about {{ home.name | default: "your home" }} on {{ alert.at | at }}.</p>
      <p><a class="button" href="https://${location.host}/display">See it live</a></p>
      <p class="foot">You receive this mail because of {{ alert.reason }}.
        {% if recipient.unsubscribeUrl %}<br><a href="{{ recipient.unsubscribeUrl }}">Stop these mails</a>{% endif %}
        {% if recipient.preferencesUrl %}<br><a href="{{ recipient.preferencesUrl }}">Choose your alerts</a>{% endif %}
      </p>
    </div>
  </body>
</html>
`,
};
