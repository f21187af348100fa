/** Numbers, money, ages and times as the display writes them. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  NOTHING,
  WallClock,
  formatAge,
  formatAxisMoney,
  formatAxisNumber,
  formatEnergy,
  formatMoney,
  formatMoneyShort,
  formatPower,
  formatRate,
  setCurrency,
} from "../../wattgate/app/static/display/format.js";
import { DEFAULT_LOCALE, setLocale } from "../../wattgate/app/static/display/texts.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test("money has no symbol before its currency is known", () => {
  assert.equal(formatMoney(1234.5), "1,234.50");
  assert.equal(formatMoneyShort(0.5), "0.50");
  assert.equal(formatRate("0.2456"), "0.2456");
  assert.equal(formatAxisMoney(2), "2");
  assert.equal(setCurrency("GBP"), true);
  assert.equal(setCurrency("GBP"), false);
});

/** Run a function on each input and compare the results with the expected ones. */
function check(format, cases) {
  for (const [input, expected] of cases) {
    test(`${format.name}(${input})`, () => assert.deepEqual(format(input), expected));
  }
}

describe("power", () => {
  check((watts) => Object.values(formatPower(watts)).join(" "), [
    [0, "0 W"],
    [-0.4, "0 W"],
    [999.4, "999 W"],
    [999.5, "1.00 kW"],
    [-1234, "1.23 kW"],
    [9994.4, "9.99 kW"],
    [9994.5, "10.0 kW"],
    [12_345, "12.3 kW"],
  ]);
});

describe("energy", () => {
  check(formatEnergy, [
    [null, NOTHING],
    [0, "0.00 kWh"],
    [9.994, "9.99 kWh"],
    [9.995, "10.0 kWh"],
    [99.94, "99.9 kWh"],
    [99.95, "100 kWh"],
    [-1.5, "-1.50 kWh"],
    [1234.5, "1,235 kWh"],
  ]);

  test("uses the unit of the meter", () => assert.equal(formatEnergy(1.5, "m³"), "1.50 m³"));
});

describe("money", () => {
  check(formatMoney, [
    [null, NOTHING],
    [0, "£0.00"],
    [1234.5, "£1,234.50"],
    [-2.345, "-£2.35"],
  ]);
  check(formatMoneyShort, [
    [0, "0p"],
    [0.534, "53p"],
    [0.994, "99p"],
    [0.995, "£1.00"],
    [-0.2, "-20p"],
    [12.5, "£12.50"],
  ]);
  check(formatRate, [
    [null, NOTHING],
    ["0.245000", "24.5p"],
    ["0.2496", "24.96p"],
    [0.07, "7p"],
    ["-0.0125", "-1.25p"],
  ]);
});

describe("axis", () => {
  check(formatAxisNumber, [
    [0, "0"],
    [0.25, "0.25"],
    [1500, "1,500"],
  ]);
  check(formatAxisMoney, [
    [0, "£0"],
    [0.5, "50p"],
    [2, "£2"],
    [2.5, "£2.50"],
  ]);
});

describe("age", () => {
  check(formatAge, [
    [0, "0 s"],
    [499, "0 s"],
    [119_499, "119 s"],
    [119_500, "2 min"],
    [7_199_000, "119 min"],
    [7_200_000, "2 hours"],
    [172_799_000, "47 hours"],
    [172_800_000, "2 days"],
    [86_400_000 * 1500, "1,500 days"],
  ]);
});

describe("wall clock", () => {
  const london = new WallClock("Europe/London");
  const noon = Date.UTC(2026, 0, 15, 12);

  test("writes times in its zone", () => {
    const summer = Date.UTC(2026, 6, 1, 12, 5, 9);
    assert.equal(london.format("minutes", summer), "13:05");
    assert.equal(london.format("seconds", summer), "13:05:09");
    assert.equal(new WallClock("America/New_York").format("minutes", summer), "08:05");
  });

  test("an hour is missing when clocks go forward", () => {
    const change = Date.UTC(2026, 2, 29, 1);
    assert.equal(london.format("minutes", change - MINUTE), "00:59");
    assert.equal(london.format("minutes", change), "02:00");
  });

  test("an hour is repeated when clocks go back", () => {
    const change = Date.UTC(2026, 9, 25, 1);
    assert.equal(london.format("minutes", change - HOUR), "01:00");
    assert.equal(london.format("minutes", change), "01:00");
  });

  test("a moment of today has no date", () => {
    assert.equal(london.moment(noon + HOUR, noon), "13:00");
    assert.equal(london.moment(noon + 24 * HOUR, noon), "Fri 16 Jan, 12:00");
  });

  test("today is that of the zone", () => {
    const night = Date.UTC(2026, 6, 1, 23, 30); // half past midnight on 2 July in London
    assert.equal(london.moment(Date.UTC(2026, 6, 2, 8), night), "09:00");
    assert.equal(london.moment(Date.UTC(2026, 6, 1, 8), night), "Wed 1 Jul, 09:00");
  });

  test("midnight ends the day before", () => {
    assert.equal(london.endMoment(Date.UTC(2026, 0, 15), noon), "the end of Wed 14 Jan");
    assert.equal(london.endMoment(Date.UTC(2026, 0, 15, 0, 30), noon), "00:30");
  });

  test("the day on which clocks go forward ends at midnight too", () => {
    assert.equal(london.endMoment(Date.UTC(2026, 2, 29, 23), noon), "the end of Sun 29 Mar");
  });
});

describe("notation of a locale", () => {
  const NARROW = "\u202f"; // the space that French writes between thousands
  const FIXED = "\u00a0"; // the space before units and symbols
  const noon = Date.UTC(2026, 0, 15, 12, 5);

  /** Run a function with another locale and currency. */
  function using(locale, code, run) {
    setLocale(locale);
    setCurrency(code);
    try {
      run();
    } finally {
      setLocale(DEFAULT_LOCALE);
      setCurrency("GBP");
    }
  }

  test("French numbers have a comma, and money has its symbol at the end", () => using("fr-FR", "EUR", () => {
    assert.equal(formatEnergy(1234.5), `1${NARROW}235 kWh`);
    assert.equal(formatPower(1234).number, "1,23");
    assert.equal(formatMoney(1234.5), `1${NARROW}234,50${FIXED}€`);
    assert.equal(formatMoneyShort(0.534), `53${FIXED}ct`);
    assert.equal(formatRate("0.2456"), `24,56${FIXED}ct`);
    assert.equal(formatAxisMoney(2), `2${FIXED}€`);
    assert.equal(formatAge(3 * HOUR), `3${FIXED}heures`);
  }));

  test("pounds stay pounds in French", () => using("fr-FR", "GBP", () => {
    assert.equal(formatMoney(1.5), `1,50${FIXED}£`);
    assert.equal(formatMoneyShort(0.534), `53${FIXED}p`);
  }));

  test("a currency whose hundredths have no name has decimals", () => using("en-GB", "CHF", () => {
    assert.equal(formatMoneyShort(0.534), `CHF${FIXED}0.53`);
    assert.equal(formatRate("0.2456"), `CHF${FIXED}0.2456`);
  }));

  test("an existing clock follows the locale", () => {
    const paris = new WallClock("Europe/Paris");
    assert.equal(paris.format("date", noon), "Thursday 15 January");
    using("fr-FR", "EUR", () => {
      assert.equal(paris.format("date", noon), "jeudi 15 janvier");
      assert.equal(paris.moment(noon + 24 * HOUR, noon), "ven. 16 janv., 13:05");
      assert.equal(paris.endMoment(Date.UTC(2026, 0, 14, 23), noon), "la fin du mer. 14 janv.");
    });
  });

  test("a locale with a clock of twelve hours has it, and its midnight is the end of a day too", () => using("en-US", "USD", () => {
    const eastern = new WallClock("America/New_York");
    assert.match(eastern.format("minutes", noon + 6 * HOUR), /^01:05\sPM$/);
    assert.equal(eastern.endMoment(Date.UTC(2026, 0, 15, 5), noon), "the end of Wed, Jan 14");
    assert.deepEqual(eastern.numbers(Date.UTC(2026, 0, 15, 5)), { month: 1, hour: 0, minute: 0 });
  }));
});
