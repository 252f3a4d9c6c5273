import { useState } from "preact/hooks";

import { toast } from "@crab/web-shared/toast";

import type { ApiError } from "./api";

/** Does `work` and says `done`, which may be made of the answer; or why it was refused. */
export type Doing = <T>(work: Promise<T>, done: string | ((answer: T) => string)) => Promise<void>;

/**
 * Does one thing at a time for a person, says what became of it, and reads anew. A refusal says
 * what stands, such as who has decided before.
 */
export function useDoing(again: () => void): [boolean, Doing] {
  const [busy, setBusy] = useState(false);
  const run: Doing = async (work, done) => {
    setBusy(true);
    try {
      const answer = await work;
      toast({ text: typeof done === "string" ? done : done(answer) });
    } catch (error) {
      const { message, next } = error as ApiError;
      toast({ text: [message, next].filter(Boolean).join(" ") });
    } finally {
      setBusy(false);
      again();
    }
  };
  return [busy, run];
}
