// The measured part of the gateway's schema.
export const typeDefs = `
  type Query { hello: String }
  type Reading { resourceId: ID! field: String! at: String! value: Float! unit: String! }
  type Subscription { readings(resourceIds: [ID!]!): Reading! }
`;
