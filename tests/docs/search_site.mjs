/** Print the pages that the search of a built site finds, best first: node search_site.mjs SITE QUERY... */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";

const [site, ...queries] = process.argv.slice(2);

// The scripts of the search page take these from a browser. They need its elements only to show the results.
const page = createContext({ document: { getElementById: () => null }, SPHINX_HIGHLIGHT_ENABLED: false, _ready: () => {} });
runInContext("globalThis.window = globalThis", page);
for (const name of ["_static/language_data.js", "_static/searchtools.js", "searchindex.js"]) {
  runInContext(readFileSync(join(site, name), "utf8"), page);
}

const search = runInContext("(query) => Search._performSearch(...Search._parseQuery(query))", page);
const found = queries.map((query) => [query, search(query).map(([name]) => name).reverse()]);
console.log(JSON.stringify(Object.fromEntries(found)));
