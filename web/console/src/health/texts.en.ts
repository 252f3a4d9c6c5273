export const en = {
  all: "All checks pass.",
  certificates: "Certificates",
  checks: "Checks",
  hosts: "Tool hosts",
  models: "Models",
  resting: "rests until {when}",
  some: "one check needs you | {n} checks need you",
  "state.fail": "failed",
  "state.ok": "ok",
  "state.warn": "attention",
  stores: "Stores",
};
