import { describe, expect, it } from "vitest";

import type { DeviceRow } from "../src/devices/shapes";
import { needs } from "../src/overview/needs";
import type { GatewayStatus } from "../src/store";

const DAY = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY).toISOString();
const status = { storage: "ok", audit: { lost_records: 0 } } as unknown as GatewayStatus;
const device = (name: string, more: Partial<DeviceRow> = {}): DeviceRow => ({
  device: name,
  name,
  principal: `device/${name}`,
  connected: true,
  tools: 1,
  tokens: [],
  ...more,
});
const token = (created: number, end: number, revoked = false) => ({
  id: "t",
  kind: "token",
  roles: [],
  created_at: inDays(created),
  expires_at: inDays(end),
  revoked,
});

describe("what needs somebody", () => {
  it("is nothing where all is well", () => {
    const devices = { devices: [device("phone")], callers: [] };
    const health = {
      checks: [],
      certificates: [{ name: "listen.tls", state: "ok", not_after: inDays(200) }],
      stores: [{ name: "audit.db", state: "ok" }],
    };
    expect(needs({ status, devices, health, approvals: 0 })).toEqual([]);
  });

  it("are certificates that end, and stores that fail; the worst first", () => {
    const health = {
      checks: [],
      certificates: [
        { name: "listen.tls", state: "warn", not_after: inDays(9.1) },
        { name: "grpc.tls", state: "fail", not_after: inDays(-3.1) },
      ],
      stores: [{ name: "audit.db", state: "fail" }],
    };
    const found = needs({ status, health, approvals: 1 });
    expect(found.map(({ text, tone, page }) => [text, tone, page])).toEqual([
      ["The certificate grpc.tls ended 3 d ago", "bad", "health"],
      ["The store audit.db fails", "bad", "health"],
      ["The certificate listen.tls ends in 9 d", "warn", "health"],
      ["one call waits for you", "warn", "approvals"],
    ]);
  });

  it("are tokens that were to last and end soon, and devices that are gone for long", () => {
    const devices = {
      devices: [
        device("ends", { tokens: [token(-80, 3.1)] }),
        device("short", { tokens: [token(-0.5, 0.5)] }), // made for a day
        device("old", { tokens: [token(-80, -30)] }),
        device("revoked", { tokens: [token(-80, 3, true)] }),
        device("gone", { connected: false, last_seen_at: inDays(-12.1) }),
        device("asleep", { connected: false, last_seen_at: inDays(-2) }),
      ],
      callers: [device("ci", { tokens: [token(-80, 2.1)] })],
    };
    expect(needs({ status, devices, approvals: 0 }).map(({ text, to }) => [text, to])).toEqual([
      ["A token of ends ends: in 3 d", { device: "ends" }],
      ["gone was here last 12 d ago", { device: "gone" }],
      ["A token of ci ends: in 2 d", undefined],
    ]);
  });
});
