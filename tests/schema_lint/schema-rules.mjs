/** Rules of graphql-eslint for docs/reference/schema.graphql. Each exception has its reason. */

import graphql from "@graphql-eslint/eslint-plugin";

const recommended = graphql.configs["flat/schema-recommended"].rules;
const [, naming] = recommended["@graphql-eslint/naming-convention"];

// Names of the interface specification (SPEC.md), which GraphQL and REST share.
const specified = { style: "camelCase", ignorePattern: "^(EUI|MAC|MPAN|MPRN|P1D|P1W|P1M)$" };

export default [
  {
    files: ["*.graphql"],
    plugins: { "@graphql-eslint": graphql },
    languageOptions: {
      parser: graphql.parser,
      parserOptions: { graphQLConfig: { schema: "schema.graphql" } },
    },
    rules: {
      ...recommended,
      ...graphql.configs["flat/schema-relay"].rules,

      "@graphql-eslint/naming-convention": [
        "error",
        {
          ...naming,
          FieldDefinition: specified,
          InputValueDefinition: specified,
          // AlertType and DeviceType are records: kinds of alerts and devices. TypeSensor belongs to a DeviceType.
          "ObjectTypeDefinition,ObjectTypeExtension": {},
        },
      ],

      // GraphQL itself defines @oneOf; the printer writes it without a description.
      "@graphql-eslint/require-description": [
        "error",
        {
          types: true,
          rootField: true,
          DirectiveDefinition: true,
          ignoredSelectors: ["[type=DirectiveDefinition][name.value=oneOf]"],
        },
      ],

      // IDs are named by the record, such as `deviceId`, in every type that has them, in arguments and in REST.
      "@graphql-eslint/no-typename-prefix": "off",

      // Buckets, rates, pages and other values have no identity. Records have an ID that is named after them.
      "@graphql-eslint/strict-id-in-types": "off",

      // Short lists that belong to a record, such as the storage fields of a resource type, are plain lists. Entries of
      // logs and lists of addresses (AccessRecord, AuditEntry, MailSuppression) are in no cache, so they are no nodes.
      "@graphql-eslint/relay-edge-types": [
        "error",
        { withEdgeSuffix: true, shouldImplementNode: false, listTypeCanWrapOnlyEdgeType: false },
      ],
    },
  },
];
