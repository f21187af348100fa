/** A client with openapi-fetch and the types of openapi-typescript: log in, read, write, and meet an error. */

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const [baseUrl = "", username = "", password = "", applicationId = ""] = process.argv.slice(2);
const client = createClient<paths, "application/json">({ baseUrl });

const login = await client.POST("/auth", { params: { header: { applicationId } }, body: { username, password } });
if (!login.data) throw new Error(login.error.error);
client.use({
  onRequest({ request }) {
    request.headers.set("token", login.data.token);
  },
});

const homes = await client.GET("/virtualentity");
const home = homes.data?.[0];
const resourceId = home?.resources[0]?.resourceId;
if (!home || !resourceId) throw new Error("The account has no home with a resource.");

const resources = await client.GET("/resource");
const readings = await client.GET("/resource/{resourceId}/readings", {
  params: {
    path: { resourceId },
    query: { from: "2026-01-05T00:00:00", to: "2026-01-05T01:59:59", period: "PT30M", function: "sum" },
  },
});
const tariff = await client.GET("/resource/{resourceId}/tariff", { params: { path: { resourceId } } });
const details = tariff.data?.data[0]?.plan[0]?.planDetail ?? [];
const standing: number | undefined = details.find((part) => part.standing !== undefined)?.standing;
const written = await client.PUT("/virtualentity/{veId}", {
  params: { path: { veId: home.veId } },
  body: { name: "Written by openapi-fetch" },
});
const missing = await client.GET("/virtualentity/{veId}", { params: { path: { veId: "nope" } } });
const code: components["schemas"]["ErrorCode"] | undefined = missing.error?.code;

console.log(
  JSON.stringify({
    home: home.name,
    resources: resources.data?.length,
    readings: readings.data?.data.map(([, value]) => value),
    units: readings.data?.units,
    standing,
    written: written.data?.veId === home.veId,
    status: missing.response.status,
    code,
    operation: homes.response.headers.get("x-graphql-operation"),
  }),
);
