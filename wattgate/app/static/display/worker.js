/**
 * Shows the home display while the gateway cannot be reached. Online, page and files come from the gateway. Offline, both
 * come from one version of it. Answers of the API are never stored.
 *
 * The gateway serves this script with `self.SHELL` before it. A gateway of another version serves other bytes, so
 * browsers install its shell in place of this one.
 */

/** @typedef {Event & { waitUntil(work: Promise<unknown>): void }} WorkEvent */
/** @typedef {{ request: Request, clientId: string, resultingClientId: string }} FetchDetails */
/** @typedef {WorkEvent & FetchDetails & { respondWith(answer: Promise<Response>): void }} FetchWorkEvent */
/** @typedef {{ includeUncontrolled: boolean, type: "window" }} ClientFilter */

/**
 * The members of a service worker's global scope that this script uses. Their own types conflict with those of pages.
 * @typedef {object} Scope
 * @property {{ version: string, files: string[] }} SHELL
 * @property {{ claim(): Promise<void>, matchAll(filter: ClientFilter): Promise<{ url: string }[]> }} clients
 * @property {() => Promise<void>} skipWaiting
 * @property {(type: string, listener: (event: any) => void) => void} addEventListener
 */

const worker = /** @type {Scope} */ (/** @type {unknown} */ (self));
const { version, files } = worker.SHELL;

const PAGE_PATH = "/display";
/** These parameters change the page that the gateway sends. The others are for its script. */
const PAGE_PARAMETERS = ["application", "applicationId"];
const CACHE_PREFIX = "wattgate-display-";
const CACHE_NAME = CACHE_PREFIX + version;
/** Pages of different applications that a browser keeps. */
const MAX_PAGES = 8;
/** Milliseconds for the gateway to answer. */
const PATIENCE = 5_000;

/** The clients whose page came from the cache. Their files come from it too, so that page and files fit together. */
const cachedClients = new Set();

worker.addEventListener("install", (/** @type {WorkEvent} */ event) => event.waitUntil(install()));
worker.addEventListener("activate", (/** @type {WorkEvent} */ event) => event.waitUntil(activate()));
worker.addEventListener("fetch", (/** @type {FetchWorkEvent} */ event) => {
  const { request, clientId, resultingClientId } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate") {
    if (pathname === PAGE_PATH) event.respondWith(answerPage(request, resultingClientId));
  } else if (files.includes(pathname)) event.respondWith(answerFile(request, clientId));
});

/** Store all files, and the pages that this browser has open or has stored before. */
async function install() {
  const cache = await caches.open(CACHE_NAME);
  await cache.addAll(files.map((path) => new Request(path, { cache: "no-cache" })));
  for (const key of await knownPages()) await storePage(key, await fetch(key, { cache: "no-cache" }));
  await worker.skipWaiting();
}

/** Remove the shells of other versions. */
async function activate() {
  for (const name of await caches.keys()) {
    if (name.startsWith(CACHE_PREFIX) && name !== CACHE_NAME) await caches.delete(name);
  }
  await worker.clients.claim();
}

/**
 * @param {Request} request
 * @param {string} clientId
 */
async function answerPage(request, clientId) {
  const key = pageKey(request.url);
  const cache = await caches.open(CACHE_NAME);
  const answer = await fetchSoon(request);
  if (answer && answer.status < 500) {
    await storePage(key, answer.clone());
    return answer;
  }
  const stored = await cache.match(key);
  if (stored) cachedClients.add(clientId);
  return stored ?? answer ?? Response.error();
}

/**
 * @param {Request} request
 * @param {string} clientId
 */
async function answerFile(request, clientId) {
  const cache = await caches.open(CACHE_NAME);
  const stored = await cache.match(new URL(request.url).pathname);
  if (stored && cachedClients.has(clientId)) return stored;
  const answer = await fetchSoon(request);
  return answer && answer.status < 500 ? answer : (stored ?? answer ?? Response.error());
}

/**
 * Store a page if it is of this version and has a log-in. Another version stores its own.
 * @param {string} key
 * @param {Response} page
 */
async function storePage(key, page) {
  if (!page.ok) return;
  const content = await page.clone().text();
  if (!content.includes(`data-shell="${version}"`) || content.includes("login-notice")) return;
  const cache = await caches.open(CACHE_NAME);
  const stored = (await cache.keys()).filter(({ url }) => new URL(url).pathname === PAGE_PATH);
  if (stored.length < MAX_PAGES || (await cache.match(key))) await cache.put(key, page);
}

/** Return the keys of the pages that are open or stored. */
async function knownPages() {
  const open = await worker.clients.matchAll({ includeUncontrolled: true, type: "window" });
  const addresses = open.map(({ url }) => url);
  for (const name of await caches.keys()) {
    if (!name.startsWith(CACHE_PREFIX)) continue;
    const cache = await caches.open(name);
    addresses.push(...(await cache.keys()).map(({ url }) => url));
  }
  const pages = addresses.filter((address) => new URL(address).pathname === PAGE_PATH);
  return new Set([PAGE_PATH, ...pages.map(pageKey)]);
}

/**
 * Return the path of a page with the parameters that change it.
 * @param {string} address
 */
function pageKey(address) {
  const given = new URL(address).searchParams;
  const kept = PAGE_PARAMETERS.flatMap((name) => given.getAll(name).map((value) => [name, value]));
  return kept.length ? `${PAGE_PATH}?${new URLSearchParams(kept)}` : PAGE_PATH;
}

/**
 * Return the gateway's answer. Null if there is none in time.
 * @param {Request} request
 * @returns {Promise<Response | null>}
 */
function fetchSoon(request) {
  return new Promise((resolve) => {
    setTimeout(() => resolve(null), PATIENCE);
    fetch(request).then(resolve, () => resolve(null));
  });
}
