const TOOLS = 100_214;
export const EVIL = "photo\u202egpj.exe<img src=x onerror=alert(1)>";

const SCHEMA = {
  type: "object",
  required: ["path", "mode"],
  properties: {
    path: { type: "string", minLength: 1, maxLength: 4096, description: "Where to look." },
    mode: { enum: ["fast", "whole", "a\u202eb<b>"], default: "fast" },
    depth: { type: "integer", minimum: 0, maximum: 9 },
    hidden: { type: "boolean" },
    since: { type: "string", format: "date-time" },
    tags: { type: "array", items: { type: "string" }, maxItems: 4 },
    filter: { $ref: "#/$defs/filter" },
    target: {
      oneOf: [
        { title: "A place", type: "object", properties: { lat: { type: "number" } } },
        { title: "A name", type: "string" },
      ],
    },
    anything: {},
  },
  $defs: {
    filter: {
      type: "object",
      properties: { name: { type: "string" }, not: { $ref: "#/$defs/filter" } },
    },
  },
};

function tool(index: number) {
  const state = index % 7 === 3 ? "held_back" : index % 31 === 5 ? "rejected" : "offered";
  const name = index === 1 ? EVIL : `tool_${index}`;
  return {
    name,
    qualified_name: `laptop.${name}`,
    source: index % 2 ? "device/phone" : "device/laptop",
    brief: "What a filesystem has and what of it is free. ".repeat(1 + (index % 5)),
    effects: ["none", "declared", "unknown"][index % 3],
    state,
    tokens: 100 + (index % 900),
    ...(state === "held_back" && { reason: "new: waits for an operator" }),
    ...(state === "rejected" && { reason: "INVALID_ARGS: its schema is no schema" }),
  };
}

const ALL = Array.from({ length: TOOLS }, (_, index) => tool(index));

/** A page of the list, as `GET A/tools?view=brief` answers it. */
export function tools(query: URLSearchParams) {
  const offset = Number(query.get("offset"));
  const fits = (name: "q" | "source" | "state", text: string) =>
    text.includes(query.get(name) ?? "");
  const found = ALL.filter(
    ({ name, source, state }) => fits("q", name) && fits("source", source) && fits("state", state),
  );
  return { generation: 1, total: found.length, tools: found.slice(offset, offset + 200) };
}

export function wholeTool(name: string) {
  const found = ALL.find((one) => one.qualified_name === name || one.name === name);
  return (
    found && {
      ...found,
      description: `${found.brief}\nSecond line with \u200b and <b>markup</b>.`,
      input_schema: SCHEMA,
      timeout_ms_default: 30_000,
    }
  );
}

export function check({ args }: { args?: { path?: unknown; depth?: unknown } }) {
  const errors = [];
  if (typeof args?.path !== "string" || args.path === "")
    errors.push({ pointer: "/path", keyword: "minLength", message: "must be a text of 1 to 4096" });
  if (args?.depth !== undefined && !Number.isInteger(args.depth))
    errors.push({ pointer: "/depth", keyword: "type", message: "must be a whole number" });
  const valid = errors.length === 0;
  return { valid, errors, verdict: "allow", rule: "role default", approval: false };
}

export const diagnosis = {
  answer: "It waits for an operator's approval.",
  checks: [
    { id: "paired", ok: true, text: "phone is paired" },
    { id: "connected", ok: true, text: "phone is connected" },
    {
      id: "held_back",
      ok: false,
      text: "take_photo is new since the device was approved",
      fix: { kind: "approve", params: { device: "phone", tool: "take_photo" } },
    },
    { id: "policy", ok: false, text: "no rule allows it to caller/ci" },
  ],
};

/** The events of a streamed call, with their times. */
export const callEvents = (callId: string): [number, string, object][] => [
  [300, "progress", { message: "looking", progress: 1, total: 3 }],
  [900, "progress", { message: "still looking", progress: 2, total: 3 }],
  [
    1_200,
    "result",
    {
      version: "v1",
      call_id: callId,
      tool_name: "x",
      status: "ok",
      duration_ms: 1_200,
      result: {
        filesystems: [
          { path: "/home", free: 1_024, note: "a\u202eb<img src=x onerror=alert(1)>" },
          { path: "/", free: 77, note: "" },
        ],
      },
    },
  ],
];
