import { expect, test } from "vitest";

import { Outbox } from "../src/outbox.js";

test("replies that nobody acknowledges cost a limited number of bytes, the newest are kept", () => {
  const outbox = new Outbox();
  const frame = "x".repeat(4 << 20);
  for (let number = 0; number < 20; ++number) outbox.add(`c${number}`, frame);
  expect(outbox.unacknowledged().length).toBe(8);
  expect(outbox.find("c19")).toBe(frame);
  expect(outbox.find("c0")).toBeUndefined();
  for (let number = 12; number < 20; ++number) outbox.acknowledge(`c${number}`);
  outbox.add("small", "y");
  expect(outbox.unacknowledged()).toEqual(["y"]);
});

test("one reply is kept however large it is", () => {
  const outbox = new Outbox();
  outbox.add("c1", "x".repeat(40 << 20));
  expect(outbox.unacknowledged().length).toBe(1);
  outbox.add("c2", "y");
  expect(outbox.unacknowledged()).toEqual(["y"]);
});
