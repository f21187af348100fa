// Prints the audits of graphql-http for a GraphQL endpoint, as JSON: node audit.mjs URL
import { auditServer } from "graphql-http";

const audits = await auditServer({ url: process.argv[2] });
console.log(JSON.stringify(audits.map(({ id, name, status, reason }) => ({ id, name, status, reason }))));
