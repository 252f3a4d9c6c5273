export interface McpServer {
  readonly name: string;
  readonly argv?: readonly string[];
  readonly url?: string;
  readonly configured: boolean;
  readonly origin: string;
  readonly state: string;
  readonly version: string;
  readonly server: string;
  readonly tools: number;
  readonly resources: number;
  readonly prompts: number;
  readonly held: number;
  readonly left_out: readonly { readonly name: string; readonly reason: string }[];
  readonly off_schema: number;
  readonly off_schema_tool?: string;
  readonly error?: string;
  readonly stderr?: string;
}

/** A description that waits, as it was and as it is; `digest` says which one was shown. */
export interface McpChange {
  readonly kind: string;
  readonly name: string;
  readonly why: string;
  readonly before: string;
  readonly after: string;
  readonly digest: string;
}

export const STATES = ["stopped", "starting", "ready", "failing", "disabled"] as const;
export const WHYS = ["new", "changed", "unreadable", "looks alike", "too many"] as const;

/** What an approval names: only what was shown, by its digest. */
export const entryOf = ({ kind, name, digest }: McpChange) => ({ kind, name, digest });
