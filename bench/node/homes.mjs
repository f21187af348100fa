// The schema, data and tokens of the in-memory servers in bench/graphql.py.
import { readFileSync } from 'node:fs';

export const typeDefs = `
  type Query {
    hello: String!
    home(id: ID!): Home!
    homes: [Home!]!
    readings(resourceId: ID!): [Reading!]!
  }
  type Home { id: ID! name: String! city: String! timeZone: String! resources: [Resource!]! }
  type Resource {
    id: ID!
    name: String!
    classifier: String!
    unit: String!
    type: ResourceType!
    current: Reading!
    tariff: Tariff!
    readings(first: Int! = 5): [Reading!]!
  }
  type ResourceType { id: ID! name: String! label: String! }
  type Reading { at: String! value: Float! unit: String! estimated: Boolean! }
  type Tariff { name: String! rate: Float! }
`;

const sample = JSON.parse(readFileSync(process.env.SAMPLE));
const by = (key, rows) => new Map(rows.map((row) => [row[key], row]));
const users = new Map(Object.entries(sample.tokens));
const homes = by('id', sample.homes);
const resources = Map.groupBy(sample.resources, (row) => row.homeId);
const types = by('id', sample.types);
const tariffs = by('resourceId', sample.tariffs);
const readings = new Map(Object.entries(sample.readings));

export function userOf(headers) {
  const user = users.get(headers.token);
  if (!user) throw new Error('Access denied');
  return user;
}

// Resolvers of related records are asynchronous, as with a database.
export const resolvers = {
  Query: {
    hello: async () => 'hello',
    home: async (_, { id }) => homes.get(id),
    homes: async () => sample.homes,
    readings: async (_, { resourceId }) => readings.get(resourceId),
  },
  Home: { resources: async (home) => resources.get(home.id) },
  Resource: {
    type: async (resource) => types.get(resource.typeId),
    current: async (resource) => readings.get(resource.id).at(-1),
    tariff: async (resource) => tariffs.get(resource.id),
    readings: async (resource, { first }) => readings.get(resource.id).slice(0, first),
  },
};
