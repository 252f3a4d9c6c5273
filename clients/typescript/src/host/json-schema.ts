import type { Json, JsonObject } from "../frames.js";
import { hasOwn, isJsonObject } from "../rtp.js";
import { canonicalJson } from "./strict-json.js";

/** One rule that a value breaks. */
export interface SchemaError {
  /** JSON pointer into the value. */
  pointer: string;
  /** The keyword. */
  rule: string;
  message: string;
}

type SchemaNode = boolean | JsonObject;

const mostErrors = 16;
const mostDepth = 512;
const dialect = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;
const unsupported = [
  "$dynamicRef",
  "$dynamicAnchor",
  "$anchor",
  "$recursiveRef",
  "unevaluatedProperties",
  "unevaluatedItems",
  "$vocabulary",
];
const inOne = [
  "additionalProperties",
  "propertyNames",
  "items",
  "contains",
  "not",
  "if",
  "then",
  "else",
];
const inList = ["prefixItems", "allOf", "anyOf", "oneOf"];
const inMap = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/**
 * A JSON Schema, draft 2020-12, that says what of a value does not fit. Keywords that it does not
 * know are refused when it is made instead of being overlooked: `$dynamicRef`, `$anchor`,
 * `unevaluated…`, and references to elsewhere. `format` is an annotation.
 */
export class JsonSchema {
  private readonly patterns = new Map<string, RegExp>();

  /** Throws a TypeError that names the place. */
  constructor(private readonly root: JsonObject) {
    this.check(root, "");
  }

  /** What is wrong with the value, at most 16 errors; none: it fits. */
  errors(value: Json): SchemaError[] {
    const found: SchemaError[] = [];
    new Validation(this.root, this.patterns, found).visit(this.root, value, "");
    return found.slice(0, mostErrors);
  }

  private check(schema: Json | undefined, at: string): void {
    if (typeof schema === "boolean") return;
    if (!isJsonObject(schema)) throw new TypeError(`schema ${at || "/"}: must be an object`);
    for (const keyword of unsupported)
      if (keyword in schema) throw new TypeError(`schema ${at}/${keyword}: is not supported here`);
    if ("$id" in schema && at !== "")
      throw new TypeError(`schema ${at}/$id: is not supported below the root`);
    const { $schema, $ref, pattern } = schema;
    if ($schema !== undefined && !(typeof $schema === "string" && dialect.test($schema)))
      throw new TypeError(`schema ${at}/$schema: must be draft 2020-12`);
    if ($ref !== undefined && resolved(this.root, $ref) === undefined)
      throw new TypeError(`schema ${at}/$ref: must be a place in this schema, such as #/$defs/a`);
    if (typeof pattern === "string") this.compile(pattern, `${at}/pattern`);
    for (const name of inOne)
      if (name in schema) this.check(schema[name], `${at}/${name}`);
    for (const name of inList) this.checkAll(schema[name], `${at}/${name}`);
    for (const name of inMap) {
      const each = schema[name];
      if (each === undefined) continue;
      if (!isJsonObject(each)) throw new TypeError(`schema ${at}/${name}: must be an object`);
      for (const [member, below] of Object.entries(each)) {
        if (name === "patternProperties") this.compile(member, `${at}/${name}`);
        this.check(below, `${at}/${name}/${escaped(member)}`);
      }
    }
  }

  private checkAll(schemas: Json | undefined, at: string): void {
    if (schemas === undefined) return;
    if (!Array.isArray(schemas) || schemas.length === 0)
      throw new TypeError(`schema ${at}: must be a list of schemas`);
    schemas.forEach((each, i) => this.check(each, `${at}/${i}`));
  }

  private compile(pattern: string, at: string): void {
    try {
      this.patterns.set(pattern, new RegExp(pattern, "u"));
    } catch {
      throw new TypeError(`schema ${at}: is not a regular expression`);
    }
  }
}

/** One look at one value. */
class Validation {
  private depth = 0;

  constructor(
    private readonly root: JsonObject,
    private readonly patterns: ReadonlyMap<string, RegExp>,
    private readonly found: SchemaError[],
  ) {}

  visit(schema: SchemaNode, value: Json, at: string): void {
    if (schema === true || this.found.length >= mostErrors) return;
    if (schema === false) return this.tell(at, "false", "is not allowed");
    if (++this.depth > mostDepth) this.tell(at, "$ref", "is nested too deeply");
    else {
      if (schema["$ref"] !== undefined)
        this.visit(resolved(this.root, schema["$ref"]) ?? false, value, at);
      this.general(schema, value, at);
      if (typeof value === "number") this.number(schema, value, at);
      else if (typeof value === "string") this.string(schema, value, at);
      else if (Array.isArray(value)) this.array(schema, value, at);
      else if (isJsonObject(value)) this.object(schema, value, at);
      this.combined(schema, value, at);
    }
    --this.depth;
  }

  private general(schema: JsonObject, value: Json, at: string): void {
    const { type, enum: choices } = schema;
    const types = typeof type === "string" ? [type] : Array.isArray(type) ? type : undefined;
    if (types && !types.some((each) => isOfType(each, value)))
      this.tell(at, "type", `must be ${types.join(" or ")}`);
    if (Array.isArray(choices) && !choices.some((each) => isEqual(each, value)))
      this.tell(at, "enum", `must be one of ${shortened(choices)}`);
    if ("const" in schema && !isEqual(schema["const"] as Json, value))
      this.tell(at, "const", `must be ${shortened(schema["const"] as Json)}`);
  }

  private number(schema: JsonObject, value: number, at: string): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
    if (typeof minimum === "number" && value < minimum)
      this.tell(at, "minimum", `must be at least ${minimum}`);
    if (typeof maximum === "number" && value > maximum)
      this.tell(at, "maximum", `must be at most ${maximum}`);
    if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
      this.tell(at, "exclusiveMinimum", `must be above ${exclusiveMinimum}`);
    if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
      this.tell(at, "exclusiveMaximum", `must be below ${exclusiveMaximum}`);
    if (typeof multipleOf === "number" && !isMultiple(value, multipleOf))
      this.tell(at, "multipleOf", `must be a multiple of ${multipleOf}`);
  }

  private string(schema: JsonObject, value: string, at: string): void {
    const { minLength, maxLength, pattern } = schema;
    if (typeof minLength === "number" || typeof maxLength === "number") {
      const length = [...value].length;
      if (typeof minLength === "number" && length < minLength)
        this.tell(at, "minLength", `must have at least ${minLength} characters`);
      if (typeof maxLength === "number" && length > maxLength)
        this.tell(at, "maxLength", `must have at most ${maxLength} characters`);
    }
    if (typeof pattern === "string" && !this.patterns.get(pattern)?.test(value))
      this.tell(at, "pattern", `must match ${pattern}`);
  }

  private array(schema: JsonObject, value: Json[], at: string): void {
    const { minItems, maxItems, uniqueItems, prefixItems, items, contains } = schema;
    if (typeof minItems === "number" && value.length < minItems)
      this.tell(at, "minItems", `must have at least ${minItems} items`);
    if (typeof maxItems === "number" && value.length > maxItems)
      this.tell(at, "maxItems", `must have at most ${maxItems} items`);
    if (uniqueItems === true && new Set(value.map(canonicalJson)).size < value.length)
      this.tell(at, "uniqueItems", "must have no two equal items");
    const fixed = Array.isArray(prefixItems) ? prefixItems : [];
    value.forEach((item, i) => {
      const below = i < fixed.length ? fixed[i] : items;
      if (below !== undefined) this.visit(below as SchemaNode, item, `${at}/${i}`);
    });
    if (contains === undefined) return;
    const count = value.filter((item) => this.fits(contains as SchemaNode, item)).length;
    const { minContains = 1, maxContains } = schema;
    if (typeof minContains === "number" && count < minContains)
      this.tell(at, "contains", `must have at least ${minContains} such items`);
    if (typeof maxContains === "number" && count > maxContains)
      this.tell(at, "maxContains", `must have at most ${maxContains} such items`);
  }

  private object(schema: JsonObject, value: JsonObject, at: string): void {
    const { required, minProperties, maxProperties, propertyNames } = schema;
    const names = Object.keys(value);
    for (const name of Array.isArray(required) ? required : [])
      if (!hasOwn(value, String(name)))
        this.tell(`${at}/${escaped(String(name))}`, "required", "is required");
    if (typeof minProperties === "number" && names.length < minProperties)
      this.tell(at, "minProperties", `must have at least ${minProperties} members`);
    if (typeof maxProperties === "number" && names.length > maxProperties)
      this.tell(at, "maxProperties", `must have at most ${maxProperties} members`);
    for (const name of names) {
      if (propertyNames !== undefined && !this.fits(propertyNames as SchemaNode, name))
        this.tell(`${at}/${escaped(name)}`, "propertyNames", "is no name that may stand here");
      this.member(schema, name, value[name] as Json, `${at}/${escaped(name)}`);
    }
    this.dependent(schema, value, at);
  }

  private member(schema: JsonObject, name: string, value: Json, at: string): void {
    const { properties, patternProperties, additionalProperties } = schema;
    let known = false;
    if (isJsonObject(properties) && hasOwn(properties, name)) {
      known = true;
      this.visit(properties[name] as SchemaNode, value, at);
    }
    if (isJsonObject(patternProperties))
      for (const [pattern, below] of Object.entries(patternProperties)) {
        if (!this.patterns.get(pattern)?.test(name)) continue;
        known = true;
        this.visit(below as SchemaNode, value, at);
      }
    if (known || additionalProperties === undefined) return;
    if (additionalProperties === false)
      this.tell(at, "additionalProperties", "is an unknown member; remove it");
    else this.visit(additionalProperties as SchemaNode, value, at);
  }

  private dependent(schema: JsonObject, value: JsonObject, at: string): void {
    const { dependentRequired, dependentSchemas } = schema;
    if (isJsonObject(dependentRequired))
      for (const [name, others] of Object.entries(dependentRequired)) {
        if (!hasOwn(value, name) || !Array.isArray(others)) continue;
        for (const other of others)
          if (!hasOwn(value, String(other)))
            this.tell(
              `${at}/${escaped(String(other))}`,
              "dependentRequired",
              `is required beside ${name}`,
            );
      }
    if (isJsonObject(dependentSchemas))
      for (const [name, below] of Object.entries(dependentSchemas))
        if (hasOwn(value, name)) this.visit(below as SchemaNode, value, at);
  }

  private combined(schema: JsonObject, value: Json, at: string): void {
    const { allOf, anyOf, oneOf, not } = schema;
    for (const each of Array.isArray(allOf) ? allOf : []) this.visit(each as SchemaNode, value, at);
    if (Array.isArray(anyOf) && !anyOf.some((each) => this.fits(each as SchemaNode, value)))
      this.tell(at, "anyOf", "fits none of the forms that it may have");
    if (Array.isArray(oneOf)) {
      const count = oneOf.filter((each) => this.fits(each as SchemaNode, value)).length;
      if (count !== 1)
        this.tell(at, "oneOf", `must fit one of the forms that it may have, and fits ${count}`);
    }
    if (not !== undefined && this.fits(not as SchemaNode, value))
      this.tell(at, "not", "has a form that it may not have");
    if (schema["if"] === undefined) return;
    const next = this.fits(schema["if"] as SchemaNode, value) ? schema["then"] : schema["else"];
    if (next !== undefined) this.visit(next as SchemaNode, value, at);
  }

  private fits(schema: SchemaNode, value: Json): boolean {
    const found: SchemaError[] = [];
    const inner = new Validation(this.root, this.patterns, found);
    inner.depth = this.depth;
    inner.visit(schema, value, "");
    return found.length === 0;
  }

  private tell(pointer: string, rule: string, what: string): void {
    this.found.push({ pointer, rule, message: `${pointer || "/"}: ${what}` });
  }
}

function resolved(root: JsonObject, ref: Json): SchemaNode | undefined {
  if (ref === "#") return root;
  if (typeof ref !== "string" || !ref.startsWith("#/")) return undefined;
  let at: Json | undefined = root;
  for (const part of ref.slice(2).split("/")) {
    let name: string;
    try {
      name = decodeURIComponent(part).replace(/~1/g, "/").replace(/~0/g, "~");
    } catch {
      return undefined;
    }
    if (Array.isArray(at)) at = at[Number(name)];
    else if (isJsonObject(at) && hasOwn(at, name)) at = at[name];
    else return undefined;
  }
  return typeof at === "boolean" || isJsonObject(at) ? at : undefined;
}

function isOfType(type: Json, value: Json): boolean {
  switch (type) {
    case "object":
      return isJsonObject(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function isEqual(left: Json, right: Json): boolean {
  return canonicalJson(left) === canonicalJson(right);
}

function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  if (!Number.isFinite(quotient)) return Number.isInteger(value) && Number.isInteger(1 / of);
  return Math.abs(quotient - Math.round(quotient)) < 1e-9;
}

function escaped(name: string): string {
  return name.replace(/~/g, "~0").replace(/\//g, "~1");
}

function shortened(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
