import type { Json, JsonObject } from "./frames.js";

/** A JSON Schema as it is written in a program, literal types kept. */
export type SchemaValue =
  | null
  | boolean
  | number
  | string
  | readonly SchemaValue[]
  | { readonly [member: string]: SchemaValue };
export type Schema = { readonly [keyword: string]: SchemaValue };

type Flat<T> = { [K in keyof T]: T[K] };

type RequiredOf<S> = S extends { readonly required: readonly (infer R)[] } ? R : never;

type ObjectOf<S> = S extends { readonly properties: infer P }
  ? Flat<
      { -readonly [K in keyof P as K extends RequiredOf<S> ? K : never]: FromSchema<P[K]> } & {
        -readonly [K in keyof P as K extends RequiredOf<S> ? never : K]?: FromSchema<P[K]>;
      }
    >
  : S extends { readonly additionalProperties: infer A extends Schema }
    ? { [member: string]: FromSchema<A> }
    : JsonObject;

type ArrayOf<S> = S extends { readonly prefixItems: infer Items extends readonly SchemaValue[] }
  ? S extends { readonly items: false }
    ? { -readonly [K in keyof Items]?: FromSchema<Items[K]> }
    : Json[]
  : S extends { readonly items: infer Item }
    ? FromSchema<Item>[]
    : Json[];

type OfType<T, S> = T extends "string"
  ? string
  : T extends "number" | "integer"
    ? number
    : T extends "boolean"
      ? boolean
      : T extends "null"
        ? null
        : T extends "array"
          ? ArrayOf<S>
          : T extends "object"
            ? ObjectOf<S>
            : Json;

/**
 * The TypeScript type of the values that a schema accepts, as far as types can say it: `type`,
 * `properties`, `required`, `items`, `prefixItems`, `enum`, `const`, `anyOf` and `oneOf`; what
 * other keywords say does not change it.
 */
export type FromSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly anyOf: readonly (infer A)[] }
      ? FromSchema<A>
      : S extends { readonly oneOf: readonly (infer O)[] }
        ? FromSchema<O>
        : S extends { readonly type: readonly (infer T)[] }
          ? OfType<T, S>
          : S extends { readonly type: infer T }
            ? OfType<T, S>
            : S extends { readonly properties: unknown }
              ? ObjectOf<S>
              : Json;

/** The arguments of a tool with this schema; any object where the schema is not a literal. */
export type ArgsOf<S> = string extends keyof S ? JsonObject : ObjectOf<S>;
