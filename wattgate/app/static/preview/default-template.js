/** What a new template begins with. */

export const DEFAULT_TEMPLATE = {
  name: "New template",
  subject: "High use at {{ home.name }}",
  preheader: "{{ power }} W now; your usual is less.",
  text: "",
  htmlTemplate: `<!doctype html>
<html lang="en-GB">
  <head>
    <meta charset="utf-8">
    <title>High use</title>
    <style>
      body { margin: 0; background: #f4f1ea; color: #1a2133; font-family: Arial, sans-serif; }
      .sheet { max-width: 560px; margin: 0 auto; padding: 24px; background: #ffffff; }
      h1 { font-size: 24px; }
      .button { padding: 12px 20px; background: #a34f00; color: #ffffff; text-decoration: none; }
    </style>
  </head>
  <body>
    <div class="sheet">
      <h1>High use at {{ home.name }}</h1>
      <p>Hello {{ user.name }}, your home is using {{ power }} W.</p>
      <p><a class="button" href="https://wattgate.example/display">See it live</a></p>
    </div>
  </body>
</html>
`,
};
