/** The catalogue of texts: the same in all languages, and complete. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { afterEach, describe, test } from "node:test";

import dataEn from "../../wattgate/app/static/add-data/texts/en.js";
import dataFr from "../../wattgate/app/static/add-data/texts/fr.js";
import ownEn from "../../wattgate/app/static/your-data/texts/en.js";
import ownFr from "../../wattgate/app/static/your-data/texts/fr.js";
import { loginText } from "../../wattgate/app/static/shared/login-texts.js";
import {
  CATALOGUES,
  DEFAULT_LOCALE,
  addTexts,
  capitalise,
  chooseLocale,
  currentLocale,
  setLocale,
  supportedLocale,
  text,
} from "../../wattgate/app/static/display/texts.js";

addTexts({ en: dataEn, fr: dataFr });
addTexts({ en: ownEn, fr: ownFr });

const FOLDER = new URL("../../wattgate/app/static/display/", import.meta.url);
const [english, ...translations] = Object.entries(CATALOGUES);
/** A word may be the same in two languages. A longer text is not. */
const MAX_SAME_LENGTH = 20;

/** The files of the log-in form, which other pages have too, in English. */
const LOGIN = ["login.html", "login-fields.html", "application-choice.html"].map((name) => `../shared/${name}`);

const forms = (entry) => (typeof entry === "string" ? [entry] : Object.values(entry));
const placeholders = (form) => [...form.matchAll(/{(\w+)}/g)].map(([, name]) => name).toSorted();

afterEach(() => setLocale(DEFAULT_LOCALE));

describe("catalogues", () => {
  test("English is the first, and there is another one", () => {
    assert.equal(english[0], "en");
    assert.ok(translations.length > 0);
  });

  for (const [language, catalogue] of translations) {
    test(`${language} has the keys of English in the same order`, () => {
      assert.deepEqual(Object.keys(catalogue), Object.keys(english[1]));
    });

    test(`${language} has the placeholders of English in each form`, () => {
      for (const [key, entry] of Object.entries(english[1])) {
        const expected = placeholders(forms(entry)[0]);
        for (const form of [...forms(entry), ...forms(catalogue[key])]) {
          assert.deepEqual(placeholders(form), expected, key);
        }
      }
    });

    test(`${language} is translated`, () => {
      for (const [key, entry] of Object.entries(english[1])) {
        const [first] = forms(entry);
        if (first.length > MAX_SAME_LENGTH) assert.notEqual(forms(catalogue[key])[0], first, key);
      }
    });
  }

  for (const [language, catalogue] of Object.entries(CATALOGUES)) {
    test(`${language} has no empty text, and the plural forms of its language`, () => {
      const categories = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
      for (const [key, entry] of Object.entries(catalogue)) {
        assert.match(key, /^[a-z]\w*\.\w+$/i);
        for (const form of forms(entry)) assert.equal(form, form.trim(), key);
        for (const form of forms(entry)) assert.notEqual(form, "", key);
        if (typeof entry === "string") continue;
        assert.ok(Object.keys(entry).every((form) => categories.includes(form)), key);
        assert.ok(entry.one && entry.other, key);
      }
    });
  }
});

describe("keys", () => {
  const modules = ["", "../pair/", "../add-data/", "../your-data/"].flatMap((folder) => {
    const names = readdirSync(new URL(folder, FOLDER)).filter((name) => name.endsWith(".js") && name !== "texts.js");
    return names.map((name) => folder + name);
  });
  const loginFiles = ["../shared/login-form.js", "../../server/pages/login_page.py", ...LOGIN];
  const sources = [...modules, ...loginFiles].map((name) => readFileSync(new URL(name, FOLDER), "utf8"));
  const pages = ["index.html", "../pair/index.html", "../add-data/index.html", "../your-data/index.html"];
  const page = pages.map((name) => readFileSync(new URL(name, FOLDER), "utf8")).join("\n");
  const code = [...sources, page].join("\n");

  test("each is used by a module or by the page", () => {
    const patterns = [...code.matchAll(/`(\w+\.[^`]*\$\{[^`]*)`/g)].map(([, template]) => {
      return new RegExp(`^${template.replaceAll(".", "\\.").replace(/\$\{[^}]*\}/g, "\\w+")}$`);
    });
    const unused = Object.keys(english[1]).filter((key) => {
      return !code.includes(`"${key}"`) && !patterns.some((pattern) => pattern.test(key));
    });
    assert.deepEqual(unused, []);
  });

  test("of the page exist", () => {
    const named = [...page.matchAll(/data-text(?:-\w+)?="([^"]*)"/g)].map(([, key]) => key);
    assert.ok(named.length > 30);
    assert.deepEqual(named.filter((key) => !Object.hasOwn(english[1], key)), []);
  });

  test("that a page adds are on this page alone, because the others do not load them", () => {
    const pagesOfPrefix = { data: "../add-data/", own: "../your-data/" };
    for (const file of [...modules, ...pages, ...LOGIN]) {
      const source = readFileSync(new URL(file, FOLDER), "utf8");
      const used = [...source.matchAll(/["`](data|own)\.(?:\w+["`]|\$\{)/g)].map(([, prefix]) => prefix);
      assert.deepEqual(used.filter((prefix) => !file.startsWith(pagesOfPrefix[prefix])), [], file);
    }
  });
});

describe("the page", () => {
  const page = readFileSync(new URL("index.html", FOLDER), "utf8");
  const body = page
    .slice(page.indexOf("<body>"))
    .replace(/<noscript>.*?<\/noscript>/gs, "")
    .replace(/<code>.*?<\/code>/gs, "")
    .replaceAll("$login", "");

  test("has no text of its own", () => {
    const texts = [...body.matchAll(/>([^<]+)</g)].map(([, content]) => content.trim());
    assert.deepEqual(texts.filter((content) => /\p{L}/u.test(content)), []);
  });

  test("has no label and no title of its own", () => {
    assert.doesNotMatch(body, /\s(aria-label|title|placeholder|alt)="[^"]/);
  });

  test("has the texts of the catalogue in its log-in form", () => {
    const form = LOGIN.map((name) => readFileSync(new URL(name, FOLDER), "utf8")).join("").replace(/<!--.*?-->/gs, "");
    const texts = [...form.matchAll(/<(\w+)([^>]*)>([^<]+)(?=<)/g)].filter(([, , , content]) => /\p{L}/u.test(content));
    const own = texts.filter(([, , , content]) => !/^\s*(\$\w+|wattgate)\s*$/.test(content));
    assert.ok(own.length > 8);
    for (const [whole, , attributes, content] of own) {
      const [, key] = attributes.match(/data-text="([^"]+)"/) ?? assert.fail(whole);
      assert.equal(content, english[1][key]);
    }
  });

  test("has the title of the catalogue before its script runs", () => {
    assert.ok(page.includes(`<title data-text="page.title">${english[1]["page.title"]}</title>`));
  });
});

describe("a text", () => {
  test("has its values, and numbers as the locale writes them", () => {
    assert.equal(text("status.newest", { age: "5 s" }), "Newest reading 5 s ago");
    assert.equal(text("age.days", { count: 1500 }), "1,500 days");
    setLocale("fr-FR");
    assert.equal(text("age.days", { count: 1500 }), "1\u202f500\u00a0jours");
  });

  test("has the plural form of the language", () => {
    assert.deepEqual([0, 1, 2].map((count) => text("age.hours", { count })), ["0 hours", "1 hour", "2 hours"]);
    setLocale("fr");
    const french = [0, 1, 2, 1_000_000].map((count) => text("age.hours", { count }).replace(/^.*\u00a0/, ""));
    assert.deepEqual(french, ["heure", "heure", "heures", "heures"]);
  });

  test("does not expand its values", () => {
    assert.equal(text("cost.chargeOfAndVat", { amount: "{amount}" }), "incl. {amount} standing charge and VAT");
    assert.equal(text("cost.chargeOfAndVat", { amount: "$&" }), "incl. $& standing charge and VAT");
  });

  test("begins with a capital letter where it begins a line", () => {
    assert.equal(capitalise(text("energy.electricity")), "Electricity");
    setLocale("fr-FR");
    assert.equal(capitalise(text("energy.electricity")), "Électricité");
    assert.equal(capitalise(""), "");
  });
});

describe("a message of the log-in form", () => {
  test("is in the language of the page, else in English", () => {
    assert.equal(loginText("login.minutes", { count: 2 }, "fr-CA"), "2\u00a0minutes");
    assert.equal(loginText("login.wrong", {}, "fr"), "Le nom d’utilisateur ou le mot de passe est faux.");
    assert.equal(loginText("login.wrong", {}, "de-DE"), "The username or the password is wrong.");
    assert.equal(loginText("login.wrong"), "The username or the password is wrong.");
  });
});

describe("the locale", () => {
  for (const [tag, expected] of [
    ["fr", "fr"],
    ["FR-ca", "fr-CA"],
    ["en", "en-GB"],
    ["en-US", "en-US"],
    ["fr-FR-u-nu-arab", "fr-FR"],
    ["de-DE", null],
    ["english", null],
    ["fr_FR", null],
    ["constructor", null],
    ["<script>", null],
    ["", null],
    [null, null],
  ]) {
    test(`${tag} is ${expected}`, () => assert.equal(supportedLocale(tag), expected));
  }

  test("is the one of the address, of the home, or of the browser", () => {
    const browser = ["de-DE", "fr-BE", "en-US"];
    assert.equal(chooseLocale({ asked: "fr", home: "en-GB", browser }), "fr");
    assert.equal(chooseLocale({ asked: "fr", home: "fr-CA", browser }), "fr-CA");
    assert.equal(chooseLocale({ asked: "xx", home: "en-GB", browser }), "en-GB");
    assert.equal(chooseLocale({ home: "fr-FR", browser }), "fr-FR");
    assert.equal(chooseLocale({ browser }), "fr-BE");
    assert.equal(chooseLocale({ home: "de-DE" }), DEFAULT_LOCALE);
    assert.equal(chooseLocale({}), DEFAULT_LOCALE);
  });

  test("changes once, and falls back to the default", () => {
    assert.equal(setLocale("fr"), true);
    assert.equal(setLocale("fr"), false);
    assert.equal(currentLocale(), "fr");
    assert.equal(setLocale("xx"), true);
    assert.equal(currentLocale(), DEFAULT_LOCALE);
  });
});
