import { describe, expect, it } from "vitest";

import {
  alternativeOf,
  alternatives,
  fits,
  initial,
  isObject,
  itemsOf,
  type Json,
  type JsonObject,
  kindOf,
  limitsOf,
  membersOf,
  moved,
  resolved,
  withItem,
  withMember,
} from "../src/try/schema";

const whole = (schema: Json) => resolved(schema, schema);

/** What a form that shows `value` would send: each leaf as it is, put together from the parts. */
function rebuilt(root: Json, schema: JsonObject, value: Json | undefined): Json | undefined {
  if (value === undefined || !fits(root, schema, value)) return value; // JSON
  switch (kindOf(schema)) {
    case "object":
      return membersOf(root, schema, value).reduce<Json>(
        (made, child) => withMember(made, child.key, rebuilt(root, child.schema, child.value)),
        {},
      );
    case "array":
      return itemsOf(root, schema, value).reduce<Json>(
        (made, child, index) => withItem(made, index, rebuilt(root, child.schema, child.value)),
        [],
      );
    case "choice": {
      const chosen = alternatives(root, schema)[alternativeOf(root, schema, value)];
      return rebuilt(root, chosen ?? {}, value);
    }
    default:
      return value;
  }
}

const text = { type: "string" };
const KEYWORDS: [string, Json, Json[]][] = [
  ["type", { type: ["string", "null", "integer"] }, ["", "a\nb", null, 3]],
  ["enum", { enum: ["a", 1, null, { b: [1] }] }, ["a", 1, null, { b: [1] }, "other"]],
  ["const", { const: { a: 1 } }, [{ a: 1 }, 2]],
  ["properties", { properties: { a: text, b: { type: "number" } } }, [{ b: 1.5, a: "" }, {}]],
  ["required", { type: "object", required: ["a"], properties: { a: text } }, [{ a: "x" }, {}]],
  ["additionalProperties", { type: "object", additionalProperties: text }, [{ x: "1", y: 2 }]],
  ["patternProperties", { type: "object", patternProperties: { "^a": text } }, [{ ab: "c" }]],
  ["propertyNames", { type: "object", propertyNames: { maxLength: 3 } }, [{ a: 1 }]],
  ["unevaluatedProperties", { type: "object", unevaluatedProperties: false }, [{ a: [] }]],
  ["minProperties", { type: "object", minProperties: 1, maxProperties: 2 }, [{ a: 1 }]],
  ["dependentRequired", { type: "object", dependentRequired: { a: ["b"] } }, [{ a: 1, b: 2 }]],
  ["dependentSchemas", { type: "object", dependentSchemas: { a: {} } }, [{ a: 1 }]],
  ["items", { type: "array", items: { type: "array", items: text } }, [[], [["a"], []]]],
  ["prefixItems", { type: "array", prefixItems: [text, { type: "number" }] }, [["a", 1, null]]],
  ["contains", { type: "array", contains: text, minContains: 1, maxContains: 2 }, [[1, "a"]]],
  ["uniqueItems", { type: "array", uniqueItems: true, minItems: 1, maxItems: 3 }, [[1, 2]]],
  ["unevaluatedItems", { type: "array", unevaluatedItems: false }, [[{ a: null }]]],
  ["minLength", { ...text, minLength: 1, maxLength: 3, pattern: "^a+$" }, ["a", "", "aaaa"]],
  ["format", { ...text, format: "date-time" }, ["2026-01-01T00:00:00Z", "soon"]],
  ["contentEncoding", { ...text, contentEncoding: "base64" }, ["YQ=="]],
  ["minimum", { type: "number", minimum: 0, maximum: 9, multipleOf: 0.5 }, [0, -1.25, "9e999"]],
  ["exclusiveMinimum", { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 9 }, [1]],
  ["boolean", { type: "boolean" }, [true, false, "true"]],
  ["allOf", { allOf: [{ properties: { a: text } }, { required: ["a"] }] }, [{ a: "b", c: 1 }]],
  ["anyOf", { anyOf: [text, { type: "array", items: text }] }, ["a", ["b"], 7]],
  [
    "oneOf",
    { oneOf: [{ properties: { k: { const: 1 } } }, { properties: { k: { const: 2 }, v: text } }] },
    [{ k: 2, v: "x" }, { k: 1 }, { k: 3 }],
  ],
  ["not", { type: "object", not: { required: ["x"] } }, [{ y: 1 }]],
  ["if", { type: "object", if: {}, then: {}, else: {} }, [{ y: [1] }]],
  ["$ref", { $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "array", items: text } } }, [["x"]]],
  ["$ref loop", { type: "object", properties: { a: { $ref: "#" } } }, [{ a: { a: {} } }]],
  ["$ref to nowhere", { $ref: "#/$defs/none" }, [{ a: 1 }, 2]],
  ["$ref elsewhere", { $ref: "https://example.com/x" }, [{ a: 1 }]],
  ["$dynamicRef", { $dynamicRef: "#node" }, [{ a: 1 }]],
  ["true", true, [1, "a", { a: null }]],
  ["false", false, [1]],
  ["no schema", "nonsense", [{ a: 1 }]],
];

describe("the form of a schema", () => {
  it.each(KEYWORDS)("with %s sends what it was given", (_, schema, values) => {
    for (const value of values) expect(rebuilt(schema, whole(schema), value)).toEqual(value);
  });

  it("keeps unset and empty apart", () => {
    const schema = { type: "object", properties: { a: text } };
    const [child] = membersOf(schema, schema, {});
    expect(child?.value).toBeUndefined();
    expect(withMember({}, "a", "")).toEqual({ a: "" });
    expect(withMember({ a: "" }, "a", undefined)).toEqual({});
  });

  it("begins with what has to be there and can be known", () => {
    const schema = {
      type: "object",
      required: ["a", "b", "list", "free"],
      properties: {
        a: { default: 3 },
        b: { type: "object", required: ["c"], properties: { c: { const: "x" } } },
        list: { type: "array" },
        free: text,
        optional: { default: 1 },
      },
    };
    expect(initial(schema, whole(schema))).toEqual({ a: 3, b: { c: "x" }, list: [] });
  });

  it("keeps the order of members and moves items by one place", () => {
    expect(Object.keys(withMember({ a: 1, b: 2 }, "a", 3))).toEqual(["a", "b"]);
    expect(moved(["a", "b", "c"], 2, -1)).toEqual(["a", "c", "b"]);
    expect(withItem(["a", "b"], 0, undefined)).toEqual(["b"]);
  });

  it("takes names of an object's prototype as names", () => {
    const value = JSON.parse('{"__proto__":{"x":1},"constructor":"a"}') as Json;
    const schema = { type: "object", properties: { toString: text } };
    expect(JSON.stringify(rebuilt(schema, schema, value))).toBe(JSON.stringify(value));
    expect(membersOf(schema, schema, {})[0]?.value).toBeUndefined();
  });

  it("says the limits in words and runs no pattern", () => {
    expect(limitsOf({ type: "string", minLength: 1, maxLength: 9, pattern: "(a+)+$" })).toBe(
      "1..9 characters, pattern (a+)+$",
    );
  });
});

describe("a hostile schema", () => {
  const quickly = (work: () => unknown) => {
    const begun = performance.now();
    work();
    expect(performance.now() - begun).toBeLessThan(1_000);
  };

  it("that refers to itself ends as JSON", () => {
    expect(whole({ $ref: "#" })).toEqual({});
    const schema = { anyOf: [{ $ref: "#" }, { $ref: "#" }] };
    quickly(() => expect(fits(schema, whole(schema), 1)).toBe(false));
  });

  it("that needs itself a hundred times over is not built", () => {
    const names = Array.from({ length: 100 }, (_, index) => `m${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, { $ref: "#" }]));
    const schema = { type: "object", required: names, properties };
    quickly(() => expect(isObject(initial(schema, whole(schema)))).toBe(true));
  });

  it.each([
    [{ $ref: "#/%zz" }],
    [{ $ref: "#/__proto__/x" }],
    [{ $ref: 7 }],
    [{ type: 7, enum: "x", properties: [], required: "a", items: 3 }],
    [{ allOf: [1, null, "x", { allOf: "y" }] }],
    [null],
  ])("such as %j is none, or JSON", (schema) => {
    expect(() => rebuilt(schema as Json, whole(schema as Json), { a: 1 })).not.toThrow();
  });
});
