import { expect, test } from "vitest";

import { placeOf } from "../src/fix";

test("a fix by the policy leads to the question that it is about", () => {
  const params = { as: "caller/ci", question: "call sms.send" };
  expect(placeOf({ kind: "policy", params })).toEqual({ as: "caller/ci", tool: "sms.send" });
  const registering = { as: "device/phone", question: "register shell_date" };
  expect(placeOf({ kind: "policy", params: registering })).toEqual({
    as: "device/phone",
    tool: "shell_date",
    kind: "register",
  });
});

test("other fixes lead to a page as it opens", () => {
  expect(placeOf({ kind: "pair", params: { device: "phone" } })).toEqual({});
});
