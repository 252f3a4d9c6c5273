import { toast } from "@crab/web-shared/toast";
import { effect } from "@preact/signals";

import { decide } from "../approval-card";
import { mayWrite } from "../store";
import { t } from "./texts";

const ID = /^[0-9a-f]{1,64}$/;

/** What the button of a notice asks for, once somebody who may is signed in. */
export function denyWhenSignedIn(id: unknown): void {
  if (typeof id !== "string" || !ID.test(id)) return;
  let asked = false;
  const end = effect(() => {
    if (!mayWrite.value || asked) return;
    asked = true;
    decide(id, "deny", "once").then(
      () => toast({ text: t("denied.call") }),
      (error: Error) => toast({ text: error.message }),
    );
    queueMicrotask(() => end());
  });
}
