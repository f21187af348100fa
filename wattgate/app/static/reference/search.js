/** The search: ranks operations by the intent of a query. Operations that remove something never come first. */

/** @import { Operation } from "./openapi.js" */

/**
 * The words of an operation by their weight.
 * @typedef {{ operation: Operation, key: string, fields: [weight: number, words: string[]][], bonus: number }} Entry
 */

/** @typedef {{ operation: Operation, score: number }} Match */

/** Words that people use for the words of the interface. Each line has words of one meaning. */
const SYNONYMS = [
  ["home", "homes", "house", "household", "property", "virtualentity", "virtual", "entity", "ve"],
  ["meter", "meters", "resource", "device", "smartmeter"],
  ["mpan", "mprn", "mpxn", "meterpoint", "meter-point"],
  ["login", "signin", "logon", "authenticate", "auth", "session"],
  ["logout", "signout", "deletetoken"],
  ["signup", "register", "registration", "onboard"],
  ["bill", "bills", "cost", "costs", "price", "prices", "rate", "rates", "tariff"],
  ["usage", "consumption", "reading", "readings", "history", "kwh", "measurements"],
  ["live", "now", "power", "current", "realtime"],
  ["upload", "import", "ingest", "record", "push"],
  ["email", "mail"],
  ["password", "passphrase", "credentials"],
  ["mfa", "2fa", "totp", "secondfactor"],
  ["user", "users", "person", "people", "customer", "resident"],
  ["alarm", "alarms", "alert", "alerts"],
  ["rule", "threshold", "alertrule"],
  ["callback", "hook", "webhook"],
  ["message", "notification"],
  ["gdpr", "privacy", "export", "erasure", "accesslog", "consent"],
  ["permission", "consent", "verification"],
  ["help", "support", "faq", "question"],
  ["flexibility", "dfs", "demand"],
  ["ihd", "display"],
  ["terms", "conditions", "legal", "termsconditions"],
  ["find", "discover", "search"],
];
/** The operation that people look for with a word, although its path and summary do not have it. */
const MEANT = /** @type {Record<string, string>} */ ({
  login: "POST /auth",
  signin: "POST /auth",
  logout: "DELETE /auth/deleteToken",
  signup: "POST /register",
  forgot: "POST /user/resetpassword",
  forgotten: "POST /user/resetpassword",
  home: "GET /virtualentity",
  house: "GET /virtualentity",
  meter: "GET /resource",
  bill: "GET /resource/{resourceId}/tariff",
  cost: "GET /resource/{resourceId}/tariff",
  price: "GET /resource/{resourceId}/tariff",
  usage: "GET /resource/{resourceId}/readings",
  consumption: "GET /resource/{resourceId}/readings",
  history: "GET /resource/{resourceId}/readings",
  live: "GET /resource/{resourceId}/current",
  power: "GET /resource/{resourceId}/current",
  now: "GET /resource/{resourceId}/current",
  consent: "GET /user/verification/status",
});
/** Two words that are one. */
const PHRASES = /\b(log|sign)[ -](in|on|out|up)\b/g;
/** Words that change the meaning of a search: who writes one looks for operations that remove something. */
const REMOVAL = /^(delet|remov|revok|deactivat|eras|archiv|cancel)/;
const IGNORED = new Set(["a", "an", "the", "of", "for", "my", "to", "in", "by", "all", "get", "list", "show", "how"]);
const WEIGHTS = { meant: 14, path: 8, field: 7, parameter: 2, area: 3, summary: 4, notes: 1 };
/** Parts of a word's weight: the whole word, its beginning, a part of it, a word of the same meaning. */
const [EXACT, PREFIX, PART, SYNONYM] = [1, 0.6, 0.25, 0.55];

export class SearchIndex {
  /** @type {Entry[]} */
  #entries;

  /**
   * @param {Operation[]} operations
   * @param {(operation: Operation) => string} areaName  Returns the name of an operation's area.
   */
  constructor(operations, areaName) {
    this.#entries = operations.map((operation) => createEntry(operation, areaName(operation)));
  }

  /**
   * Return the operations that match all words of a query, the best first.
   * @param {string} query
   * @returns {Operation[]}
   */
  find(query) {
    const words = queryWords(query);
    if (words.length === 0) return [];
    const asksForRemoval = words.some((word) => REMOVAL.test(word));
    const matches = this.#entries.flatMap((entry) => {
      const score = scoreEntry(entry, words);
      return score > 0 ? [{ operation: entry.operation, score: score + entry.bonus }] : [];
    });
    return matches.sort((a, b) => compare(a, b, asksForRemoval)).map(({ operation }) => operation);
  }
}

/**
 * @param {Match} a
 * @param {Match} b
 * @param {boolean} asksForRemoval
 */
function compare(a, b, asksForRemoval) {
  const removals = Number(a.operation.isDestructive) - Number(b.operation.isDestructive);
  return (asksForRemoval ? 0 : removals) || b.score - a.score || a.operation.path.length - b.operation.path.length;
}

/**
 * Return the words of a query in lower case. A pasted path is split at its slashes.
 * @param {string} query
 * @returns {string[]}
 */
function queryWords(query) {
  const words = splitWords(query.toLowerCase().replace(PHRASES, "$1$2"));
  const meaningful = words.filter((word) => !IGNORED.has(word));
  return meaningful.length ? meaningful : words;
}

/**
 * @param {Operation} operation
 * @param {string} area
 * @returns {Entry}
 */
function createEntry(operation, area) {
  const { method, path, summary, notes, graphqlField, parameters, isMutation, isDestructive } = operation;
  const segments = path.split("/").filter((segment) => segment && !segment.startsWith("{"));
  const field = graphqlField?.split(" ")[1] ?? "";
  return {
    operation,
    key: `${method} ${path}`,
    fields: [
      [WEIGHTS.path + 2, splitWords(segments.at(-1) ?? "")],
      [WEIGHTS.path, splitWords(segments.join(" "))],
      [WEIGHTS.field, [field.toLowerCase(), operation.id.toLowerCase(), ...splitCamelCase(field)]],
      [WEIGHTS.area, splitWords(area)],
      [WEIGHTS.summary, [method.toLowerCase(), ...splitWords(summary)]],
      [WEIGHTS.parameter, parameters.flatMap(({ name }) => [name.toLowerCase(), ...splitCamelCase(name)])],
      [WEIGHTS.notes, splitWords(notes.join(" "))],
    ],
    // People read more often than they write, and begin with the operations of a collection.
    bonus: (isMutation ? 0 : 2) - (isDestructive ? 2 : 0) - path.split("/").length / 10,
  };
}

/**
 * Return the score of an entry: the sum of its best matches of each word, or 0 if a word has none.
 * @param {Entry} entry
 * @param {string[]} words
 */
function scoreEntry(entry, words) {
  let sum = 0;
  for (const word of words) {
    const own = bestMatch(entry, word, EXACT);
    const others = synonymsOf(word).map((synonym) => bestMatch(entry, synonym, SYNONYM));
    const meant = MEANT[singular(word)] === entry.key ? WEIGHTS.meant : 0;
    const best = Math.max(own, meant, ...others);
    if (best === 0) return 0;
    sum += best;
  }
  return sum;
}

/**
 * @param {Entry} entry
 * @param {string} word
 * @param {number} part  The part of the weight that a match counts.
 */
function bestMatch({ fields }, word, part) {
  let best = 0;
  for (const [weight, words] of fields) {
    for (const candidate of words) best = Math.max(best, weight * part * similarity(candidate, word, part));
  }
  return best;
}

/**
 * @param {string} candidate
 * @param {string} word
 * @param {number} part
 */
function similarity(candidate, word, part) {
  if (candidate === word || singular(candidate) === singular(word)) return EXACT;
  if (part === SYNONYM) return 0; // parts of synonyms are words of other meanings
  if (candidate.startsWith(word)) return PREFIX;
  return word.length > 2 && candidate.includes(word) ? PART : 0;
}

/** @param {string} word */
function synonymsOf(word) {
  const one = singular(word);
  return SYNONYMS.filter((words) => words.some((other) => singular(other) === one)).flat().filter((other) => other !== word);
}

/** @param {string} word */
function singular(word) {
  return word.length > 3 ? word.replace(/ies$/, "y").replace(/([^s])s$/, "$1") : word;
}

/** @param {string} text */
function splitWords(text) {
  return text.toLowerCase().split(/[^\p{L}\p{N}-]+/u).filter(Boolean);
}

/** @param {string} name */
function splitCamelCase(name) {
  return splitWords(name.replace(/([a-z0-9])([A-Z])/g, "$1 $2"));
}
