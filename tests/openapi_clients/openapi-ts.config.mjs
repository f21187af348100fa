/** Options of @hey-api/openapi-ts: the client of fetch, with imports that Node follows without a bundler. */

export default {
  input: "openapi.json",
  output: { path: "hey", importFileExtension: ".js" },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
};
