import { describe, expect, it, vi } from "vitest";

import { Api, ApiError } from "../src/api";
import { drawnAs, fileName, type StoredArtifact } from "../src/artifacts/shapes";
import { MOST_EVENTS, Tail } from "../src/events/tail";
import { follow } from "../src/follow";
import { commandIn, levelOf, worstFirst } from "../src/health/shapes";
import { type Lease, leasesOf, leasesOfOthers, type Peer } from "../src/peers/shapes";
import { sessionsWith } from "../src/sessions/shapes";
import { type ConfigEntry, differs, entriesWith, shownValue } from "../src/settings/shapes";

const artifact = (more: Partial<StoredArtifact>): StoredArtifact => ({
  id: "a1",
  href: "/v1/artifacts/a1",
  content_type: "image/png",
  bytes: 1,
  owner: "device/phone",
  tool: "take_photo",
  call_id: "c",
  created_at: "",
  expires_at: "",
  ...more,
});

describe("an artifact (A21)", () => {
  it("is drawn only as a picture, never as a document", () => {
    expect(drawnAs(artifact({}))).toBe("image/png");
    for (const content_type of [
      "image/svg+xml",
      "text/html",
      "application/pdf",
      "image/png;x=y",
      "",
    ])
      expect(drawnAs(artifact({ content_type })), content_type).toBeUndefined();
    expect(drawnAs(artifact({ bytes: 9 * 1024 * 1024 }))).toBeUndefined();
  });

  it("has a file name of plain characters, whatever its tool is called", () => {
    for (const tool of ["../../etc/passwd", "photo\u202egpj.exe", "", "...", "a/b\\c:d"])
      expect(fileName(artifact({ tool }))).toMatch(/^[\w][\w.-]*-a1\.png$/);
    expect(fileName(artifact({ content_type: "text/html" }))).toMatch(/\.bin$/);
  });
});

describe("a setting (A55)", () => {
  const entry = (more: Partial<ConfigEntry>): ConfigEntry => ({ key: "a.b", ...more });

  it("that is secret tells nothing, not even how long it is", () => {
    const shown = [1, 40].map((n) => shownValue(entry({ secret: true, value: "x".repeat(n) })));
    expect(shown[0]).toBe(shown[1]);
    expect(shown[0]).not.toContain("x");
    expect(entriesWith([entry({ secret: true, value: "hunter2" })], "hunter2", false)).toEqual([]);
  });

  it("is compared with its default by value", () => {
    expect(differs(entry({ value: ["a"], default: ["a"] }))).toBe(false);
    expect(differs(entry({ value: 1, default: "1" }))).toBe(true);
  });
});

describe("health", () => {
  it("puts what failed first, and takes an unknown word for a warning", () => {
    const check = (id: string, state: string) => ({ id, state, text: "" });
    const all = [check("a", "ok"), check("b", "odd"), check("c", "failing")];
    expect(worstFirst(all).map(({ id }) => id)).toEqual(["c", "b", "a"]);
    expect(levelOf("odd")).toBe("warn");
  });

  it("finds the command in a fix", () => {
    expect(commandIn("Run crab tls init, then reload.")).toBe("crab tls init");
    expect(commandIn("Wait.")).toBeUndefined();
  });
});

describe("leases", () => {
  const lease = (lease_id: string, owner: string, more: Partial<Lease> = {}) =>
    ({
      lease_id,
      owner_component_type: owner.split("/")[0],
      owner_component_id: owner.split("/")[1],
      ...more,
    }) as Lease;
  const peers = [{ component_type: "tool_host", component_id: "memory" } as Peer];
  const all = [
    lease("1", "tool_host/memory"),
    lease("2", "tool_host/memory", { revoked_at: "x" }),
    lease("3", "local/1000"),
  ];

  it("stand with their owner as long as they hold", () => {
    expect(leasesOf(all, "tool_host/memory").map(({ lease_id }) => lease_id)).toEqual(["1"]);
    expect(leasesOfOthers(all, peers).map(({ lease_id }) => lease_id)).toEqual(["3"]);
  });
});

describe("sessions", () => {
  it("are found by name, id and agent, the latest first", () => {
    const session = (session_id: string, last_activity: string, more = {}) => ({
      session_id,
      created_at: "",
      last_activity,
      message_count: 1,
      ...more,
    });
    const all = [
      session("old", "2026-01-01T00:00:00Z", { name: "Kitchen" }),
      session("kit-2", "2026-01-02T00:00:00Z"),
      session("x", "2026-01-03T00:00:00Z", { persona: "night" }),
    ];
    expect(sessionsWith(all, "kit").map(({ session_id }) => session_id)).toEqual(["kit-2", "old"]);
    expect(sessionsWith(all, "NIGHT")).toHaveLength(1);
  });
});

describe("a connection that is kept", () => {
  it("is tried again after a failure, and not after a refusal", async () => {
    vi.useFakeTimers();
    const stop = new AbortController();
    const answers = [new ApiError(503, "BUSY", ""), new ApiError(401, "OVER", "")];
    const refused: string[] = [];
    const lost: number[] = [];
    let tries = 0;
    const done = follow(
      {
        connect: () => Promise.reject(answers[tries++]),
        onLost: (ms) => lost.push(ms),
        onRefused: ({ code }) => refused.push(code),
      },
      stop.signal,
    );
    await vi.advanceTimersByTimeAsync(60_000);
    await done;
    expect(tries).toBe(2);
    expect(lost).toHaveLength(1);
    expect(refused).toEqual(["OVER"]);
    vi.useRealTimers();
  });

  it("is tried at once when somebody says so, and ends with its signal", async () => {
    const stop = new AbortController();
    let tries = 0;
    const connect = () => {
      tries += 1;
      return Promise.reject(new ApiError(0, "NOT_CONNECTED", ""));
    };
    const onLost = (_: number, now: () => void) => (tries < 3 ? now() : stop.abort());
    await follow({ connect, onLost }, stop.signal);
    expect(tries).toBe(3);
  });
});

describe("the tail of events", () => {
  it("goes on after a lost link where it was, and keeps so many", async () => {
    vi.useFakeTimers();
    const asked: string[] = [];
    const piece = (from: number, to: number) => {
      let text = "";
      for (let id = from; id < to; ++id)
        text += `event: cron.triggered\nid: ${id}\ndata: {"time":"2026-01-01T00:00:00Z"}\n\n`;
      return text;
    };
    const send = (async (path: string) => {
      asked.push(path);
      return new Response(asked.length === 1 ? piece(0, 1_200) : piece(1_200, 1_201));
    }) as unknown as typeof fetch;
    const memory = { getItem: () => "k", setItem: () => undefined, removeItem: () => undefined };
    const tail = new Tail(new Api(memory, send));
    tail.start("cron.*", "earliest");
    await vi.advanceTimersByTimeAsync(1_500);
    tail.end();
    expect(asked[0]).toContain("cursor=earliest");
    expect(asked[1]).toContain("cursor=1199");
    const { events, gone } = tail.state.value;
    expect(events).toHaveLength(MOST_EVENTS);
    expect(events.length + gone).toBe(1_201);
    expect(events[0]?.cursor).toBe("1200");
    vi.useRealTimers();
  });

  it("says why it is not connected, and goes on where it was when it is told to", async () => {
    vi.useFakeTimers();
    const asked: string[] = [];
    const one = "event: cron.triggered\nid: 7\ndata: {}\n\n";
    const send = (async (path: string) => {
      asked.push(path);
      if (asked.length === 1) return new Response(one);
      const body = { error: { code: "UNAVAILABLE", message: "the disk is full" } };
      if (asked.length === 2) return new Response(JSON.stringify(body), { status: 503 });
      return new Response(new ReadableStream()); // which stays open
    }) as unknown as typeof fetch;
    const memory = { getItem: () => "k", setItem: () => undefined, removeItem: () => undefined };
    const tail = new Tail(new Api(memory, send));
    tail.start("", "");
    await vi.advanceTimersByTimeAsync(0);
    tail.again();
    await vi.advanceTimersByTimeAsync(300);
    expect(tail.state.value).toMatchObject({
      state: "lost",
      error: { code: "UNAVAILABLE", message: "the disk is full" },
    });
    expect(tail.state.value.events).toHaveLength(1);
    tail.again();
    await vi.advanceTimersByTimeAsync(0);
    expect(asked[2]).toContain("cursor=7");
    expect(tail.state.value).toMatchObject({ state: "live", error: undefined });
    tail.end();
    vi.useRealTimers();
  });
});
