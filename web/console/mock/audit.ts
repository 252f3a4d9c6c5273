import { EVIL } from "./tools";

const at = (index: number) =>
  new Date(Date.now() - index * 31_000 - (index % 7) * 400_000).toISOString();

const record = (index: number) => {
  if (index % 9 === 4)
    return {
      event: "admin.change",
      time: at(index),
      by: "local/1000",
      what: EVIL,
      front: "console",
    };
  const status = ["ok", "ok", "error", "ok", "denied"][index % 5];
  return {
    call_id: `a${index}`,
    time: at(index),
    tool: index % 13 === 2 ? EVIL : `tool_${index % 17}`,
    principal: "caller/ci",
    status,
    ...(status === "error" && { code: "TIMEOUT", message: "no answer" }),
    ...(status === "denied" && { code: "FORBIDDEN", decision: "deny", rule: "rule 2" }),
    duration_us: 400 + index * 17,
    timeline: { received_us: 12, authorized_us: 42, answered_us: 380, finished_us: 400 },
  };
};

function search(query: URLSearchParams) {
  const from = Number(query.get("cursor") ?? 0);
  const end = Math.min(1_000, from + 200);
  const records = Array.from({ length: end - from }, (_, index) => record(from + index));
  const complete = end === 1_000;
  return { records, complete, scanned_to: at(end), ...(!complete && { cursor: String(end) }) };
}

export const auditRoutes = {
  "GET /api/v1/admin/audit": (_: unknown, query: URLSearchParams) => search(query),
  "GET /api/v1/admin/audit/export": () => Array.from({ length: 9 }, (_, index) => record(index)),
  "POST /api/v1/admin/audit/verify": () => ({
    intact: true,
    records: 1_204_511,
    batches: 52_114,
    first_sequence: 1,
    last_sequence: 52_114,
    head_hash: "5f0c".repeat(16),
  }),
  "GET /api/v1/admin/calls/:id": ({ id }: { id: string }) => ({ ...record(1), call_id: id }),
};
