import { isObject, type Json, type JsonObject, numberOf, objectOf, textOf } from "./schema";

export interface Artifact {
  readonly href: string;
  readonly type: string;
  readonly bytes: number;
}

const PICTURES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);
const MOST_PICTURE_BYTES = 8 * 1024 * 1024;
const MOST_COLUMNS = 12;
const HREF = /^\/v1\/artifacts\/[\w.-]{1,200}$/;

/** The file that a result refers to. Only addresses of this gateway's own artifacts count. */
export function artifactOf(result: Json): Artifact | undefined {
  if (!isObject(result)) return undefined;
  const found = objectOf(result, "artifact");
  const href = textOf(found, "href");
  if (!HREF.test(href)) return undefined;
  return { href, type: textOf(found, "content_type"), bytes: numberOf(found, "bytes") ?? 0 };
}

/** Whether it may be drawn: never a document, never something that carries script. */
export const isPicture = ({ type, bytes }: Artifact): boolean =>
  PICTURES.has(type) && bytes <= MOST_PICTURE_BYTES;

export interface Rows {
  readonly columns: readonly string[];
  readonly rows: readonly JsonObject[];
}

/** A list of flat objects of like members, by itself or as the only member of the result. */
export function rowsOf(result: Json): Rows | undefined {
  const only = isObject(result) ? Object.values(result) : [];
  const list = Array.isArray(result) ? (result as readonly Json[]) : only.length === 1 && only[0];
  if (!Array.isArray(list) || list.length === 0 || !list.every(isObject)) return undefined;
  const rows = list as readonly JsonObject[];
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const flat = rows.every((row) =>
    Object.values(row).every((value) => typeof value !== "object" || value === null),
  );
  const few = columns.length > 0 && columns.length <= MOST_COLUMNS;
  return flat && few ? { columns, rows } : undefined;
}

/** A result that is one text. */
export function textResult(result: Json): string | undefined {
  if (typeof result === "string") return result;
  const values = isObject(result) ? Object.values(result) : [];
  const [only] = values;
  return values.length === 1 && typeof only === "string" && only.includes("\n") ? only : undefined;
}
