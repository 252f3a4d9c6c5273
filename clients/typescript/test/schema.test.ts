import { expect, expectTypeOf, test } from "vitest";

import { readFileSync } from "node:fs";

import { defineTool } from "../src/define-tool.js";
import type { ErrorCode } from "../src/error-codes.js";
import type { JsonObject } from "../src/frames.js";
import { JsonSchema } from "../src/host/json-schema.js";
import { wireCode } from "../src/host/outcome.js";
import { canonicalJson, parseStrict } from "../src/host/strict-json.js";
import { ToolHost } from "../src/host/tool-host.js";

const parameters = {
  type: "object",
  properties: {
    room: { enum: ["kitchen", "cellar"] },
    floors: { type: "array", items: { type: "integer" } },
    unit: { type: ["string", "null"] },
  },
  required: ["room"],
} as const;

test("arguments of a device's tool have the type of their schema", () => {
  defineTool({
    name: "a",
    description: "b",
    parameters,
    handler: ({ args }) => {
      expectTypeOf(args.room).toEqualTypeOf<"kitchen" | "cellar">();
      expectTypeOf(args.floors).toEqualTypeOf<number[] | undefined>();
      expectTypeOf(args.unit).toEqualTypeOf<string | null | undefined>();
      return args.room;
    },
  });
  expect(() =>
    defineTool({ name: "a b", description: "b", parameters, handler: () => "" }),
  ).toThrow(TypeError);
});

test("arguments of a host's tool have it too, and any object without a schema", () => {
  const host = new ToolHost("h");
  host.tool({
    name: "typed",
    description: "b",
    parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    handler: ({ args }) => {
      expectTypeOf(args).toEqualTypeOf<{ n: number }>();
      return { n: args.n };
    },
  });
  host.tool({
    name: "plain",
    description: "b",
    handler: ({ args }) => {
      expectTypeOf(args).toEqualTypeOf<JsonObject>();
      return args;
    },
  });
  const again = () => host.tool({ name: "plain", description: "b", handler: () => "" });
  expect(again).toThrow("already");
});

test("a schema that cannot be enforced is refused instead of overlooked", () => {
  for (const bad of [
    { unevaluatedProperties: false },
    { $ref: "https://elsewhere.example/schema" },
    { $ref: "#/$defs/none" },
    { properties: { a: { $dynamicRef: "#x" } } },
    { pattern: "(" },
    { $schema: "http://json-schema.org/draft-07/schema#" },
    { anyOf: [] },
    { items: [{}] },
  ])
    expect(() => new JsonSchema(bad as JsonObject), JSON.stringify(bad)).toThrow(TypeError);
});

test("a schema that refers to itself ends, also with a value that never does", () => {
  expect(new JsonSchema({ $ref: "#" }).errors({})).not.toEqual([]);
  const tree = new JsonSchema({
    properties: { child: { $ref: "#" } },
    additionalProperties: false,
  });
  expect(tree.errors({ child: { child: {} } })).toEqual([]);
  expect(tree.errors({ child: { child: { x: 1 } } })[0]?.pointer).toBe("/child/child/x");
});

test("errors name pointers, escaped, and there are not too many", () => {
  const schema = new JsonSchema({ required: ["a/b~c"], additionalProperties: { type: "string" } });
  expect(schema.errors({})).toEqual([
    { pointer: "/a~1b~0c", rule: "required", message: "/a~1b~0c: is required" },
  ]);
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`m${i}`, i]));
  expect(schema.errors(many).length).toBe(16);
  const proto = parseStrict(Buffer.from('{"__proto__":1,"a/b~c":"x"}'));
  expect(schema.errors(proto)[0]?.pointer).toBe("/__proto__");
});

test("JSON is read as RTP wants it", () => {
  const read = (text: string) => parseStrict(Buffer.from(text));
  expect(read('{"a":"\\"{","b":[{"a":1},{"a":2}]}')).toEqual({ a: '"{', b: [{ a: 1 }, { a: 2 }] });
  for (const bad of [
    '{"a":1,"\\u0061":2}',
    '{"x":{"a":1,"b":["a",{"c":1}],"a":2}}',
    "[".repeat(65) + "]".repeat(65),
    '{"a":1}x',
    "",
  ])
    expect(() => read(bad), bad).toThrow(SyntaxError);
  expect(() => parseStrict(Buffer.from([0x22, 0xff, 0x22]))).toThrow("UTF-8");
  expect(canonicalJson({ b: [1, { d: 1, c: 2 }], a: 1.0 })).toBe('{"a":1,"b":[1,{"c":2,"d":1}]}');
});

test("codes on the wire are those of spec/errors.json", () => {
  const file = new URL("../../../spec/errors.json", import.meta.url);
  const { codes } = JSON.parse(readFileSync(file, "utf8")) as {
    codes: Array<{ token: ErrorCode; rtp: string }>;
  };
  for (const { token, rtp } of codes) expect(wireCode(token)).toBe(rtp);
});
