/**
 * JSON Schemas as forms see them. Nothing here validates, that is the gateway's work: a form only
 * has to show every value whole and to write every value that somebody may want to send. Schemas
 * are foreign: references are followed a bounded number of times, patterns are never run.
 */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

const MOST_REFERENCES = 16;
const MOST_ALTERNATIVES = 50;
const TYPES = ["object", "array", "string", "integer", "number", "boolean", "null"] as const;
type TypeName = (typeof TYPES)[number];

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const member = (of: JsonObject, name: string): Json | undefined =>
  Object.prototype.hasOwnProperty.call(of, name) ? of[name] : undefined;

export const objectOf = (of: JsonObject, name: string): JsonObject => {
  const found = member(of, name);
  return isObject(found) ? found : {};
};

export const listOf = (of: JsonObject, name: string): readonly Json[] => {
  const found = member(of, name);
  return Array.isArray(found) ? found : [];
};

export const textOf = (of: JsonObject, name: string): string => {
  const found = member(of, name);
  return typeof found === "string" ? found : "";
};

export const numberOf = (of: JsonObject, name: string): number | undefined => {
  const found = member(of, name);
  return typeof found === "number" ? found : undefined;
};

export const escaped = (name: string): string => name.replace(/~/g, "~0").replace(/\//g, "~1");

/** What a local pointer of `root` names; undefined for another document or no such place. */
function pointed(root: Json, reference: string): Json | undefined {
  if (!/^#(\/|$)/.test(reference)) return undefined;
  let at: Json | undefined = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    let name = part;
    try {
      name = decodeURIComponent(part);
    } catch {
      return undefined;
    }
    name = name.replace(/~1/g, "/").replace(/~0/g, "~");
    if (Array.isArray(at)) at = at[Number(name)] as Json | undefined;
    else at = isObject(at) ? member(at, name) : undefined;
  }
  return at;
}

/** Two schemas that both count, as far as a form needs it: members and names of required ones. */
function both(one: JsonObject, other: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...one, ...other };
  const properties = { ...objectOf(one, "properties"), ...objectOf(other, "properties") };
  if (Object.keys(properties).length > 0) merged["properties"] = properties;
  const required = [...new Set([...listOf(one, "required"), ...listOf(other, "required")])];
  if (required.length > 0) merged["required"] = required;
  return merged;
}

/** A schema with its references followed and its allOf drawn in; {} for what is none. */
export function resolved(root: Json, schema: Json | undefined): JsonObject {
  let now: JsonObject = isObject(schema) ? schema : {};
  for (let left = MOST_REFERENCES; left > 0; --left) {
    const reference = textOf(now, "$ref");
    const all = listOf(now, "allOf");
    if (reference === "" && all.length === 0) return now;
    const { $ref: _, allOf: __, ...rest } = now;
    const target = reference === "" ? undefined : pointed(root, reference);
    now = both(isObject(target) ? target : {}, rest);
    for (const part of all.slice(0, MOST_ALTERNATIVES))
      now = both(now, isObject(part) ? part : {});
  }
  return {}; // it never ends: JSON
}

export const typeOf = (value: Json): TypeName => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  if (type === "number") return Number.isInteger(value) ? "integer" : "number";
  return type as TypeName;
};

export type Kind =
  | "choice"
  | "enum" | "object" | "array" | "string" | "number" | "boolean" | "json";

const typeNames = (schema: JsonObject): readonly Json[] => {
  const type = member(schema, "type");
  return Array.isArray(type) ? type : type === undefined ? [] : [type];
};

/** How a resolved schema is shown. */
export function kindOf(schema: JsonObject): Kind {
  if (member(schema, "const") !== undefined || listOf(schema, "enum").length > 0) return "enum";
  if (listOf(schema, "oneOf").length > 0 || listOf(schema, "anyOf").length > 0) return "choice";
  const types = typeNames(schema);
  if (types.length > 1) return "choice";
  switch (types[0]) {
    case "integer":
    case "number":
      return "number";
    case "object":
    case "array":
    case "string":
    case "boolean":
      return types[0];
    case undefined:
      return Object.keys(objectOf(schema, "properties")).length > 0 ? "object" : "json";
    default:
      return "json";
  }
}

/** The values of an enum or a const. */
export const valuesOf = (schema: JsonObject): readonly Json[] => {
  const only = member(schema, "const");
  return only === undefined ? listOf(schema, "enum") : [only];
};

/** What a chooser offers, each with what stands beside oneOf, anyOf or a list of types. */
export function alternatives(root: Json, schema: JsonObject): JsonObject[] {
  const name = listOf(schema, "oneOf").length > 0 ? "oneOf" : "anyOf";
  const { [name]: _, ...beside } = schema;
  const listed = listOf(schema, name).slice(0, MOST_ALTERNATIVES);
  if (listed.length > 0) return listed.map((one) => both(beside, resolved(root, one)));
  return typeNames(schema).map((type) => ({ ...schema, type }));
}

/** Whether a value has the shape that a schema's form shows: not whether it is valid. */
export function fits(root: Json, schema: JsonObject, value: Json, depth = 3): boolean {
  if (depth === 0) return false; // alternatives of alternatives without an end
  const kind = kindOf(schema);
  if (kind === "enum") {
    const text = JSON.stringify(value);
    return valuesOf(schema).some((one) => JSON.stringify(one) === text);
  }
  if (kind === "choice")
    return alternatives(root, schema).some((one) => fits(root, one, value, depth - 1));
  const type = typeOf(value);
  if (kind === "json") return typeNames(schema).every((one) => one === type);
  if (kind === "number") return type === "integer" || type === "number";
  if (kind !== type) return false;
  if (kind !== "object") return true;
  const properties = objectOf(schema, "properties");
  return Object.entries(value as JsonObject).every(([key, inner]) => {
    const only = resolved(root, member(properties, key));
    return kindOf(only) !== "enum" || fits(root, only, inner, 1);
  });
}

/** Which alternative a value is of; the first if it is none's. */
export function alternativeOf(root: Json, schema: JsonObject, value: Json | undefined): number {
  if (value === undefined) return 0;
  const all = alternatives(root, schema);
  const required = (one: JsonObject) =>
    !isObject(value) ||
    listOf(one, "required").every((name) => member(value, String(name)) !== undefined);
  const whole = all.findIndex((one) => fits(root, one, value) && required(one));
  return whole >= 0 ? whole : Math.max(0, all.findIndex((one) => fits(root, one, value)));
}

export interface Child {
  /** Its name or index. */
  readonly key: string;
  readonly schema: JsonObject;
  readonly required: boolean;
  readonly value: Json | undefined;
  /** Named by the schema; others can be taken away. */
  readonly named: boolean;
}

/** The members of an object: those of the schema in order, then what the value has beside. */
export function membersOf(root: Json, schema: JsonObject, value: Json | undefined): Child[] {
  const has = isObject(value) ? value : {};
  const properties = objectOf(schema, "properties");
  const required = new Set(listOf(schema, "required"));
  const named = Object.keys(properties);
  const extra = resolved(root, member(schema, "additionalProperties"));
  const beside = Object.keys(has).filter((key) => member(properties, key) === undefined);
  return [
    ...named.map((key) => ({
      key,
      schema: resolved(root, properties[key]),
      required: required.has(key),
      value: member(has, key),
      named: true,
    })),
    ...beside.map((key) => ({
      key,
      schema: extra,
      required: false,
      value: member(has, key),
      named: false,
    })),
  ];
}

/** The items of an array. */
export function itemsOf(root: Json, schema: JsonObject, value: Json | undefined): Child[] {
  const items = Array.isArray(value) ? (value as readonly Json[]) : [];
  return items.map((item, index) => ({
    key: String(index),
    schema: itemSchema(root, schema, index),
    required: false,
    value: item,
    named: false,
  }));
}

export function itemSchema(root: Json, schema: JsonObject, index: number): JsonObject {
  const prefix = listOf(schema, "prefixItems")[index];
  return resolved(root, prefix ?? member(schema, "items"));
}

/** Whether other members than the named ones may be added. */
export const isOpen = (schema: JsonObject): boolean =>
  member(schema, "additionalProperties") !== false;

const MOST_PRESET = 500;

/** What a value is before anybody typed: only what has to be there and can be known. */
export function initial(
  root: Json,
  schema: JsonObject,
  left = { members: MOST_PRESET },
  depth = 8,
): Json | undefined {
  const preset = member(schema, "default") ?? member(schema, "const");
  if (preset !== undefined) return preset;
  left.members -= 1;
  if (depth === 0 || left.members < 0) return undefined;
  const kind = kindOf(schema);
  if (kind === "array") return [];
  if (kind !== "object") return undefined;
  const made: [string, Json][] = [];
  for (const child of membersOf(root, schema, undefined)) {
    if (left.members < 0) break;
    const value = child.required ? initial(root, child.schema, left, depth - 1) : undefined;
    if (value !== undefined) made.push([child.key, value]);
  }
  return Object.fromEntries(made);
}

/** An object with a member set, or without it if `value` is undefined; its order stays. */
export function withMember(of: Json | undefined, key: string, value: Json | undefined): JsonObject {
  const entries = Object.entries(isObject(of) ? of : {});
  const at = entries.findIndex(([name]) => name === key);
  if (value === undefined) return Object.fromEntries(entries.filter(([name]) => name !== key));
  if (at < 0) return Object.fromEntries([...entries, [key, value]]);
  entries[at] = [key, value];
  return Object.fromEntries(entries);
}

/** An array with an item changed, taken out (`undefined`), or moved by one place. */
export function withItem(of: Json | undefined, index: number, value: Json | undefined): Json[] {
  const items = Array.isArray(of) ? [...(of as readonly Json[])] : [];
  if (value === undefined) items.splice(index, 1);
  else items[index] = value;
  return items;
}

export function moved(of: Json | undefined, index: number, by: -1 | 1): Json[] {
  const items = Array.isArray(of) ? [...(of as readonly Json[])] : [];
  const [one] = items.splice(index, 1);
  if (one !== undefined) items.splice(index + by, 0, one);
  return items;
}

/** What the schema says of a value, in a few words: 1..4096 characters, uri, multiples of 5. */
export function limitsOf(schema: JsonObject): string {
  const range = (least: string, most: string, unit: string): string => {
    const [from, to] = [numberOf(schema, least), numberOf(schema, most)];
    if (from === undefined && to === undefined) return "";
    return `${from ?? ""}..${to ?? ""}${unit}`;
  };
  const multiple = numberOf(schema, "multipleOf");
  return [
    textOf(schema, "format"),
    range("minLength", "maxLength", " characters"),
    range("minimum", "maximum", ""),
    range("exclusiveMinimum", "exclusiveMaximum", " (without the ends)"),
    range("minItems", "maxItems", " items"),
    range("minProperties", "maxProperties", " members"),
    multiple === undefined ? "" : `multiples of ${multiple}`,
    member(schema, "uniqueItems") === true ? "no two the same" : "",
    textOf(schema, "pattern") && `pattern ${textOf(schema, "pattern")}`,
  ]
    .filter(Boolean)
    .join(", ");
}
