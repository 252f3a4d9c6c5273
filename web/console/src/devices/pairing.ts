import type { DeviceList, DeviceRow, PageAddress, Pairing } from "./shapes";

/** Why an address must not be drawn as a code: whoever scans it would get nowhere, or in clear. */
export type Unfit = "loopback" | "plain" | "none";

const NUMBERS = /^\d+(\.\d+){3}$/;

/** Whether a host name is this machine itself, or no address at all. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (NUMBERS.test(bare)) return /^(127|0)\./.test(bare);
  const mapped = /^::(ffff:)?(7f[0-9a-f]{2}:[0-9a-f]{1,4}|0)$/.test(bare);
  return bare === "localhost" || bare.endsWith(".localhost") || /^::1?$/.test(bare) || mapped;
}

const parsed = (url: string): URL | undefined => {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
};

/** What is wrong with an address for somebody else's camera; undefined if nothing is. */
export function unfit(url: string): Unfit | undefined {
  const found = parsed(url);
  if (!found) return "none";
  if (isLoopback(found.hostname)) return "loopback";
  return found.protocol === "https:" ? undefined : "plain";
}

/** The addresses of a pairing, that by which this page was reached first. */
export function pagesOf(pairing: Pairing, here: string): readonly PageAddress[] {
  const all = pairing.pages ?? (pairing.page ? [{ url: pairing.page }] : []);
  const rank = ({ url }: PageAddress) =>
    (parsed(url)?.hostname === here ? 0 : 1) + (unfit(url) === undefined ? 0 : 2);
  return [...all].sort((a, b) => rank(a) - rank(b));
}

/** The matrix of a page's code: its own, or the pairing's where that belongs to the first page. */
export function matrixOf(pairing: Pairing, page: PageAddress): readonly string[] | undefined {
  if (unfit(page.url) !== undefined) return undefined;
  return page.qr ?? (pairing.pages?.[0]?.url === page.url ? pairing.qr : undefined);
}

const tokensOf = (list: DeviceList): Set<string> =>
  new Set(list.devices.flatMap(({ tokens }) => tokens.map(({ id }) => id)));

/** The device that has got a credential since `before`, if one has. */
export function pairedSince(before: DeviceList, now: DeviceList): DeviceRow | undefined {
  const known = tokensOf(before);
  return now.devices.find(({ tokens }) =>
    tokens.some(({ id, revoked }) => !revoked && !known.has(id)),
  );
}

/** The dark squares of a matrix as one path of an SVG, a unit each. */
export function qrPath(rows: readonly string[]): string {
  const dark = /[1#█]/;
  let path = "";
  rows.forEach((row, y) =>
    [...row].forEach((square, x) => {
      if (dark.test(square)) path += `M${x} ${y}h1v1h-1z`;
    }),
  );
  return path;
}
