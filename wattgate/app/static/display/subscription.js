/** The subscription of the display: everything that it shows except the history. */

/** @import { NoValueReason } from "./cost-basis.js" */

/**
 * A decimal number as a string, as the gateway writes amounts of money and energy.
 * @typedef {string} Decimal
 */

/** @typedef {"LIVE" | "DELAYED" | "STALE" | "OFFLINE"} FreshnessState */
/** @typedef {"METER" | "GATEWAY" | "PLATFORM" | "UNKNOWN"} FreshnessCause */

/**
 * @typedef {object} Period
 * @property {string} start
 * @property {string} end
 * @property {string | null} completeTo
 * @property {EnergyAmount | null} electricity
 * @property {EnergyAmount | null} gas
 * @property {EnergyAmount | null} exported
 * @property {Cost | null} cost
 * @property {NoValueReason | null} noCostReason  Why the energy has no known cost.
 */

/** @typedef {"WATT_HOUR" | "KILOWATT_HOUR" | "MEGAWATT_HOUR" | "CUBIC_METRE" | "OTHER"} EnergyUnit */

/**
 * An amount of money or a rate, in the major unit of the home's currency.
 * @typedef {{ amount: Decimal }} Amount
 */

/**
 * The energy of a period. `energy` is null while none is known. It may be partly estimated.
 * @typedef {object} EnergyAmount
 * @property {{ value: Decimal, unit: EnergyUnit } | null} energy
 * @property {boolean} estimated
 * @property {number | null} unknownShare  The share of the time so far in which it is not known.
 * @property {string} completeTo  The instant up to which it is known.
 */

/**
 * The cost of a period, with VAT and standing charges. `unpriced` is energy that the total does not contain, because it
 * has no price.
 * @typedef {{ total: Amount | null, standingChargesWithVat: Amount, unpriced: { value: Decimal }[], estimated: boolean }} Cost
 */

/**
 * The level of the consumption, and the bounds of the medium level: of the power in watts, or of the rate.
 * @typedef {object} Ambient
 * @property {"LOW" | "MEDIUM" | "HIGH"} level
 * @property {"LEARNED" | "BUDGET" | "PRICE"} basis
 * @property {{ lowBelow: { value: number }, highFrom: { value: number } } | null} powerLevels
 * @property {{ lowBelow: Amount, highFrom: Amount } | null} rateLevels
 */

/**
 * @typedef {object} Tariff
 * @property {string} name
 * @property {EnergyUnit} per  The unit of energy that the rates are the price of.
 * @property {Amount | null} rateWithVat
 * @property {Amount} standingChargeWithVat
 * @property {string | null} until
 * @property {{ start: string, rateWithVat: Amount } | null} next
 */

/** @typedef {{ intensity: number, unit: string, at: string, validUntil: string, index: string }} Carbon */

/**
 * A payload of the subscription: the whole state of a home at an instant.
 * @typedef {object} Frame
 * @property {number} frameVersion
 * @property {number} linkTimeoutSeconds  After a silence of so many seconds, the link is lost.
 * @property {string} at
 * @property {string} timeZone
 * @property {string} locale  BCP 47, of the owner.
 * @property {string | null} currency  ISO 4217. Null without a tariff in force.
 * @property {number} unreadAlerts
 * @property {{ net: { value: number }, at: string, validUntil: string } | null} power
 * @property {Period} today
 * @property {Period} month
 * @property {Ambient | null} ambient
 * @property {Tariff | null} tariff
 * @property {{ start: string, end: string, rateWithVat: Amount } | null} [cheapest]
 * @property {Carbon | null} [carbon]  Null or absent where the home has no series of it.
 * @property {FrameFreshness} freshness
 * @property {Withheld[]} withheld
 */

/**
 * A meter whose data the frame leaves out, for want of consent.
 * @typedef {object} Withheld
 * @property {string} resourceId
 * @property {"ELECTRICITY" | "EXPORTED" | "GAS"} kind
 * @property {string | null} meterPointNumber
 * @property {WithheldReason} reason
 */

/** @typedef {"MISSING" | "REVOKED" | "EXPIRED"} WithheldReason */

/**
 * @typedef {object} FrameFreshness
 * @property {FreshnessState} state
 * @property {string | null} asOf
 * @property {number} expectedEverySeconds
 * @property {FreshnessCause | null} cause
 */

/** The newest version of frames that this page understands. */
export const FRAME_VERSION = 1;

export const SUBSCRIPTION = `subscription Display($homeId: ID!) {
  display(homeId: $homeId) {
    frameVersion
    linkTimeoutSeconds
    at
    timeZone
    locale
    currency
    unreadAlerts
    power { net { value } at validUntil }
    today { ...Period }
    month { ...Period }
    ambient {
      level
      basis
      powerLevels { lowBelow { value } highFrom { value } }
      rateLevels { lowBelow { amount } highFrom { amount } }
    }
    tariff {
      name
      per
      rateWithVat { amount }
      standingChargeWithVat { amount }
      until
      next { start rateWithVat { amount } }
    }
    cheapest { start end rateWithVat { amount } }
    carbon { intensity unit at validUntil index }
    freshness { state asOf expectedEverySeconds cause }
    withheld { resourceId kind meterPointNumber reason }
  }
}
fragment Period on DisplayPeriod {
  start
  end
  completeTo
  electricity { ...Energy }
  gas { ...Energy }
  exported { ...Energy }
  cost { total { amount } standingChargesWithVat { amount } unpriced { value } estimated }
  noCostReason
}
fragment Energy on DisplayEnergy { energy { value unit } estimated unknownShare completeTo }`;
