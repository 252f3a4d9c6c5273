import { isPicture } from "../try/result";

export interface StoredArtifact {
  readonly id: string;
  readonly href: string;
  readonly content_type: string;
  readonly bytes: number;
  readonly owner: string;
  readonly tool: string;
  readonly call_id: string;
  readonly created_at: string;
  readonly expires_at: string;
}

/** The type that its bytes are drawn as; undefined for whatever is only downloaded. */
export function drawnAs({ href, content_type: type, bytes }: StoredArtifact): string | undefined {
  return isPicture({ href, type, bytes }) ? type : undefined;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "application/pdf": "pdf",
  "text/plain": "txt",
};

/** A name for the file, of characters that lie nowhere. */
export function fileName({ id, tool, content_type: type }: StoredArtifact): string {
  const plain =
    tool
      .replace(/[^\w.-]+/g, "-")
      .replace(/^[-.]+/, "")
      .slice(0, 60) || "artifact";
  return `${plain}-${id.replace(/[^\w-]/g, "").slice(0, 12)}.${EXTENSIONS[type] ?? "bin"}`;
}
