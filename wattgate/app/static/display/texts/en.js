/**
 * The texts of the home display in English. The other languages have the same keys with the same placeholders.
 *
 * A key is `group.name`. A text has placeholders such as `{amount}`. A text that depends on `count` has one form for
 * each plural category of the language. Words that are also parts of sentences are in lower case.
 */

import login from "../../shared/login-texts/en.js";

/** @import { Text } from "../../shared/catalogue.js" */

export default /** @satisfies {Record<string, Text>} */ ({
  ...login,

  "page.title": "Home display · wattgate",
  "page.home": "Home",
  "page.logOut": "Log out",
  "page.localTime": "Local time of the home:",
  "page.sessionEnded": "Your session has ended. Please log in again.",

  "status.connecting": "Connecting",
  "status.reconnecting": "Reconnecting",
  "status.offline": "No network",
  "status.displaced": "Too many screens, waiting",
  "status.outdated": "Updating this page",
  "status.withheld": "No consent",
  "status.LIVE": "Live",
  "status.DELAYED": "Delayed",
  "status.STALE": "Not up to date",
  "status.OFFLINE": "No readings",
  "status.newest": "Newest reading {age} ago",
  "status.unread": { one: "unread", other: "unread" },

  "noHomes.title": "No home yet",
  "noHomes.ask":
    "This account has no home with a meter. Ask the provider of your app to add your home to it, or log out and use " +
    "another account.",
  "noHomes.operator": "If you operate this gateway, this command shows how to set up a home:",
  "noHomes.retry": "This page looks for a home every minute.",

  "power.title": "Power now",
  "power.waiting": "Waiting for a reading",
  "power.importing": "Importing",
  "power.exporting": "Exporting",
  "power.none": "No live power",
  "power.noneBecause": "No live power. {reason}",
  "power.hourly": "{amount} an hour",
  "power.lastReading": "Last reading {time}, {age} ago. {reason}",
  "power.noReading": "There has been no reading yet.",
  "power.notSent": "The meter of this home does not send its power.",
  "power.old": "This reading is {age} old.",
  "power.oldBecause": "This reading is {age} old. {reason}",
  "power.announced": "{direction}: {power}",
  "power.announcedWithLevel": "{direction}: {power}, {level}",

  "level.LOW": "low",
  "level.MEDIUM": "medium",
  "level.HIGH": "high",
  "level.LEARNED": "Compared with your usual use: low under {low}, high from {high}",
  "level.BUDGET": "Compared with your budget: low under {low}, high from {high}",
  "level.PRICE": "Based on the current price of electricity: low under {low}, high from {high}",

  "cause.METER": "The meter has stopped sending.",
  "cause.GATEWAY": "The device that sends the readings has stopped sending.",
  "cause.PLATFORM": "The energy service is not accepting readings at the moment.",
  "cause.UNKNOWN": "No newer reading has arrived.",
  "cause.CONNECTION": "This screen has lost its connection.",

  "period.today": "Today",
  "period.month": "This month",
  "period.completeTo": "Complete up to {time}",

  "energy.electricity": "electricity",
  "energy.gas": "gas",
  "energy.exported": "exported",
  "energy.standing": "standing charge",

  "cost.chargeAndVat": "incl. standing charge and VAT",
  "cost.chargeOfAndVat": "incl. {amount} standing charge and VAT",
  "cost.charge": "incl. standing charge, without VAT",
  "cost.chargeOf": "incl. {amount} standing charge, without VAT",
  "cost.vat": "incl. VAT, without standing charge",
  "cost.bare": "without standing charge and VAT",
  "cost.unpriced": "partly without a price",
  "cost.estimated": "partly estimated",
  "cost.NO_READINGS": "No readings",
  "cost.NO_POWER": "No power",
  "cost.NO_TARIFF": "No tariff",
  "cost.NO_PRICE": "No price",

  "tariff.title": "Price now",
  "tariff.per": "a {unit}",
  "tariff.perUntil": "a {unit} until {time}",
  "tariff.standing": "{name} · {amount} a day standing charge",
  "tariff.dearer": "{rate} from {time}, dearer",
  "tariff.cheaper": "{rate} from {time}, cheaper",

  "history.title": "History",
  "history.range": "Time range",
  "history.measure": "Measure",
  "history.legend": "Legend",
  "history.failed": "The history cannot be read. Trying again soon.",
  "history.costs": "Costs {basis}",
  "history.bar": "{name}: {details}",

  "view.hours": "hours",
  "view.days": "days",
  "view.weeks": "weeks",
  "view.months": "months",
  "view.hoursName": "24 hours",
  "view.daysName": "8 days",
  "view.weeksName": "5 weeks",
  "view.monthsName": "13 months",
  "view.hoursTitle": "Last 24 hours",
  "view.daysTitle": "Last 8 days",
  "view.weeksTitle": "Last 5 weeks",
  "view.monthsTitle": "Last 13 months",
  "view.hoursMean": "{amount} an hour on average",
  "view.daysMean": "{amount} a day on average",
  "view.weeksMean": "{amount} a week on average",
  "view.monthsMean": "{amount} a month on average",
  "view.currentDay": "Today",
  "view.currentWeek": "This week",

  // The end of a name is hidden where there is little room for it.
  "measure.cost": "Cost",
  "measure.electricity": "Electricity",
  "measure.electricityStart": "Elec",
  "measure.electricityEnd": "tricity",
  "measure.gas": "Gas",
  "measure.exported": "Exported",
  "measure.exportedStart": "Export",
  "measure.exportedEnd": "ed",

  "mark.running": "so far",
  "mark.late": "not all readings received",
  "mark.estimated": "partly estimated",
  "mark.gaps": "some readings missing",
  "mark.missing": "no readings",
  "mark.unpriced": "partly without a price",
  "mark.noTariff": "no tariff",
  "mark.noPrice": "no price",

  "withheld.all":
    "The data of this home is withheld, because there is no valid consent. Renew the consent in your app.",
  "withheld.REVOKED":
    "{meter} is not shown: consent was revoked. To show it again, renew the consent in your app.",
  "withheld.EXPIRED":
    "{meter} is not shown: consent has expired. To show it again, renew the consent in your app.",
  "withheld.MISSING":
    "{meter} is not shown: no consent is recorded. Ask the provider of your app to record it.",
  "withheld.ELECTRICITY": "Electricity",
  "withheld.EXPORTED": "Exported electricity",
  "withheld.GAS": "Gas",
  "withheld.meterPoint": "{kind} (meter point {mpxn})",

  "age.seconds": "{count} s",
  "age.minutes": "{count} min",
  "age.hours": { one: "{count} hour", other: "{count} hours" },
  "age.days": { one: "{count} day", other: "{count} days" },

  "time.dayAndTime": "{day}, {time}",
  "time.endOf": "the end of {day}",
  "time.hourRange": "{start} to {end}",
  "time.dayRange": "{start} to {end}",

  "money.pence": "{amount}p",
  "money.cents": "{amount}c",

  "kiosk.fullScreen": "Full screen",
  "kiosk.leaveFullScreen": "Leave full screen",
  "kiosk.close": "Close",
  "kiosk.badValue":
    "The address of this page has “{value}” as {name}, which is not known. Possible: {allowed}.",
  "kiosk.badHome": "The address of this page names the home “{value}”, which this account does not have.",
});
