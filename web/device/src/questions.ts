import { type Answer, type ToolCall, ToolError } from "@crab/device";
import { signal } from "@preact/signals";

import { notify } from "./notify.js";
import { t } from "./strings/t.js";
import { asksWords } from "./ui/words.js";

/** A question to the person: may this call run, or the tap that the browser wants for it. */
export interface Question {
  readonly call: ToolCall;
  readonly kind: "consent" | "tap";
  readonly title: string;
  answer(answer: string): void;
}

const noticeTag = "crab-question";

/** Questions that are open, in their order; one whose call has ended disappears by itself. */
export class Questions {
  readonly open = signal<readonly Question[]>([]);

  /** May it run? `no` when the call ends before the answer. */
  async consent(call: ToolCall): Promise<Answer> {
    return (await this.ask(call, "consent", asksWords(call))) as Answer;
  }

  /** `Hands.tap`: nothing is asked while the tap on an answer still counts. */
  async tap(call: ToolCall, what: string): Promise<void> {
    if (navigator.userActivation?.isActive) return;
    if ((await this.ask(call, "tap", what)) === "once") return;
    throw new ToolError(
      "FORBIDDEN",
      "the person at the device said no; do not ask again for the same thing",
    );
  }

  /** The answer of a notice's button. */
  refuse(callId: string): void {
    this.open.value.find(({ call }) => call.id === callId)?.answer("no");
  }

  private ask(call: ToolCall, kind: Question["kind"], title: string): Promise<string> {
    if (call.signal.aborted) return Promise.resolve("no");
    return new Promise((done) => {
      const answer = (given: string) => {
        call.signal.removeEventListener("abort", giveUp);
        this.open.value = this.open.value.filter((other) => other !== question);
        void closeNotice(call.id);
        done(given);
      };
      const giveUp = () => answer("no");
      const question: Question = { call, kind, title, answer };
      call.signal.addEventListener("abort", giveUp, { once: true });
      this.open.value = [...this.open.value, question];
      if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.(60);
      if (document.hidden) void showNotice(call.id, title).catch(() => {});
    });
  }
}

function showNotice(call: string, title: string): Promise<void> {
  const options = {
    body: t("ask.notice"),
    icon: "./icon-192.png",
    tag: noticeTag,
    data: { question: true, call },
    actions: [{ action: "refuse", title: t("ask.no") }], // to allow takes the page
  };
  return notify(title, options);
}

async function closeNotice(call: string): Promise<void> {
  const worker = await navigator.serviceWorker?.getRegistration();
  for (const notice of (await worker?.getNotifications({ tag: noticeTag })) ?? [])
    if ((notice.data as { call?: unknown } | null)?.call === call) notice.close();
}
