import { EVIL } from "./tools";

const explain = ({ file }: { file?: boolean }) => ({
  verdict: file ? "deny" : "needs_approval",
  rule: file ? "rule 2" : "rule 3",
  steps: [
    { rule: "role default", effect: "allow", matched: true, because: "callers may call" },
    { rule: "rule 2", line: 38, effect: "deny", matched: false, because: EVIL },
    { rule: "rule 3", line: 41, effect: "needs_approval", matched: true, because: "tool is sms.*" },
  ],
  then: [
    { check: "schema", ok: true, text: "the arguments are valid" },
    { check: "rate", ok: true, text: "12 calls left in this minute" },
    { check: "asks", ok: false, text: "nobody watches" },
  ],
});

const VERDICTS = ["allow", "deny", "needs_approval"];
const ALL = Array.from({ length: 2_300 }, (_, index) => ({
  name: index === 2 ? EVIL : `tool_${index}`,
  verdict: VERDICTS[index % 3],
  rule: `rule ${index % 9}`,
  ...(index % 11 === 0 && { depends_on_arguments: true }),
}));

function matrix(query: URLSearchParams) {
  const from = Number(query.get("cursor") ?? 0);
  const end = from + Number(query.get("limit"));
  return { tools: ALL.slice(from, end), ...(end < ALL.length && { cursor: String(end) }) };
}

export const policyRoutes = {
  "POST /api/v1/admin/policy/explain": (_: unknown, __: unknown, body: object) => explain(body),
  "GET /api/v1/admin/policy/matrix": (_: unknown, query: URLSearchParams) => matrix(query),
  "GET /api/v1/admin/principals": () => ({
    principals: ["local/1000", "caller/ci", "device/phone", "agent/butler"].map((id) => ({
      id,
      roles: ["caller"],
      kind: "token",
      tokens: [],
    })),
  }),
};
