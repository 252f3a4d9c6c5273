export interface Token {
  readonly id: string;
  readonly kind: string;
  readonly roles: readonly string[];
  readonly created_at: string;
  readonly expires_at?: string;
  readonly revoked: boolean;
}

/** A device or a caller in the list. */
export interface DeviceRow {
  readonly device?: string;
  readonly caller?: string;
  readonly name: string;
  readonly principal: string;
  readonly connected: boolean;
  readonly tools: number;
  readonly tokens: readonly Token[];
  readonly refused_tools?: readonly {
    readonly tool: string;
    readonly code: string;
    readonly reason: string;
  }[];
  readonly waiting_tools?: readonly string[];
  readonly last_seen_at?: string;
  readonly battery?: number;
  readonly charging?: boolean;
  readonly metered?: boolean;
  readonly foreground?: boolean;
}

export interface DeviceList {
  readonly devices: readonly DeviceRow[];
  readonly callers: readonly DeviceRow[];
}

/** Where the device page can be reached, as the gateway knows it. */
export interface PageAddress {
  readonly url: string;
  readonly reach?: string;
  readonly tls?: boolean;
  readonly qr?: readonly string[];
}

/** What a pairing answers: a code for a device, or a token that is shown once. */
export interface Pairing {
  readonly id?: string;
  readonly code?: string;
  readonly token?: string;
  readonly token_id?: string;
  readonly expires_at?: string;
  readonly page?: string;
  readonly pages?: readonly PageAddress[];
  readonly qr?: readonly string[];
  readonly gateway?: string;
  readonly only_here?: boolean;
  readonly ca_file?: string;
}

/** The name in addresses and requests: that of a device, or of a caller's token. */
export const slugOf = (row: DeviceRow): string => row.device ?? row.caller ?? "";

const live = ({ revoked }: Token): boolean => !revoked;
export const liveTokens = (row: DeviceRow): readonly Token[] => row.tokens.filter(live);

/** The first end of a token that still counts. */
export function firstExpiry(row: DeviceRow): string | undefined {
  const ends = liveTokens(row).flatMap((token) => token.expires_at ?? []);
  return ends.sort((a, b) => Date.parse(a) - Date.parse(b))[0];
}

const DEVICE_STATES = ["online", "offline", "waiting"] as const;
export type DeviceState = (typeof DEVICE_STATES)[number];
export { DEVICE_STATES };

export function isInState(row: DeviceRow, state: string): boolean {
  if (state === "online") return row.connected;
  if (state === "offline") return !row.connected;
  return state !== "waiting" || (row.waiting_tools?.length ?? 0) > 0;
}

/** Rows whose name, slug or principal has the text, those that need somebody or are there first. */
export function deviceRows(
  rows: readonly DeviceRow[],
  q: string,
  state: string,
): readonly DeviceRow[] {
  const word = q.trim().toLowerCase();
  const has = (row: DeviceRow) =>
    [row.name, slugOf(row), row.principal].some((text) => text.toLowerCase().includes(word));
  const rank = (row: DeviceRow) => (row.waiting_tools?.length ? 0 : row.connected ? 1 : 2);
  return rows
    .filter((row) => has(row) && isInState(row, state))
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}
