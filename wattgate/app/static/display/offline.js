/** Installs the worker that shows this page without a network. */

const WORKER = "/display/worker.js";
const SCOPE = "/display";
/** Milliseconds between two searches for a new version. */
const SEARCH_INTERVAL = 3_600_000;

let searched = 0;

/** Install the worker, in browsers that have workers. They need https, or a gateway on the same machine. */
export async function installWorker() {
  searched = performance.now();
  try {
    await navigator.serviceWorker?.register(WORKER, { scope: SCOPE });
  } catch (error) {
    console.warn(error);
  }
}

/** Search for a new version of the worker, at most once an hour. A page that is open for weeks has an old one. */
export async function searchNewVersion() {
  if (performance.now() - searched < SEARCH_INTERVAL) return;
  searched = performance.now();
  const registration = await navigator.serviceWorker?.getRegistration(SCOPE);
  await registration?.update().catch(() => {});
}
