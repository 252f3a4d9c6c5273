const in_ms = (ms: number) => new Date(Date.now() + ms).toISOString();

const question = (id: string, more: object) => ({
  id,
  state: "pending",
  call_id: `call-${id}`,
  principal: "caller/ci",
  tool: "sms.send",
  source: "device/phone",
  network_policy: "none",
  privilege_level: "normal",
  args: JSON.stringify({ to: "+4930123", text: "On my way" }),
  asked_at: in_ms(0),
  until: in_ms(300_000),
  rule: "rule 3",
  ...more,
});

export const approvals = {
  watchers: 1,
  approvals: [
    question("q1", { agent: "planner", session: "s1" }),
    question("q2", {
      tool: "photo\u202egpj.exe<img src=x onerror=alert(1)>",
      args: JSON.stringify({ "pa\u200bth": "/home/\u202etxt.sh", lines: "one\ntwo" }),
      until: in_ms(900_000),
    }),
    question("q3", { state: "unattended" }),
    question("q4", { state: "allowed", decided_by: "local/1000", scope: "once" }),
  ],
};

export const remembered = {
  remembered: [
    {
      id: "m1",
      decision: "allow",
      scope: "always",
      principal: "caller/ci",
      tool: "disk_usage",
      source: "device/laptop",
      network_policy: "none",
      privilege_level: "normal",
      decided_by: "local/1000",
      decided_at: in_ms(-3_600_000),
    },
  ],
};
