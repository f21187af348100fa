/** A client that @hey-api/openapi-ts generates: log in, read, write, and meet an error. */

import { createClient, createConfig } from "./hey/client/index.js";
import {
  authenticate,
  readings as readReadings,
  resources as listResources,
  resourceTariff,
  updateVirtualEntity,
  virtualEntities,
  virtualEntity,
} from "./hey/index.js";

const [baseUrl = "", username = "", password = "", applicationId = ""] = process.argv.slice(2);
const anonymous = createClient(createConfig({ baseUrl }));

const login = await authenticate({ client: anonymous, headers: { applicationId }, body: { username, password } });
if (!login.data) throw new Error(login.error?.error);
const client = createClient(createConfig({ baseUrl, headers: { token: login.data.token } }));

const homes = await virtualEntities({ client });
const home = homes.data?.[0];
const resourceId = home?.resources[0]?.resourceId;
if (!home || !resourceId) throw new Error("The account has no home with a resource.");

const resources = await listResources({ client });
const readings = await readReadings({
  client,
  path: { resourceId },
  query: { from: "2026-01-05T00:00:00", to: "2026-01-05T01:59:59", period: "PT30M", function: "sum" },
});
const tariff = await resourceTariff({ client, path: { resourceId } });
const details = tariff.data?.data[0]?.plan[0]?.planDetail ?? [];
const written = await updateVirtualEntity({
  client,
  path: { veId: home.veId },
  body: { name: "Written by hey-api" },
});
const missing = await virtualEntity({ client, path: { veId: "nope" } });

console.log(
  JSON.stringify({
    home: home.name,
    resources: resources.data?.length,
    readings: readings.data?.data.map(([, value]) => value),
    units: readings.data?.units,
    standing: details.find((part) => part.standing !== undefined)?.standing,
    written: written.data?.veId === home.veId,
    status: missing.response?.status,
    code: missing.error?.code,
    operation: homes.response?.headers.get("x-graphql-operation"),
  }),
);
