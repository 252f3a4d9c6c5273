import { effect } from "@preact/signals";

import { api } from "../store";
import { ChatLink } from "./link";

/** Chats that are open in this tab. One that is left while its turn runs stays, so that the turn
 * does; leaving the page ends no turn. */
const open = new Map<string, ChatLink>();
const shown = new Set<string>();

/** The chat of a session, connected; `agent` counts for a new one only. */
export function chatOf(sessionId: string, agent: string): ChatLink {
  const known = open.get(sessionId);
  if (known) return known;
  const made = new ChatLink(api, sessionId, agent);
  open.set(sessionId, made);
  made.start();
  return made;
}

function drop(sessionId: string): void {
  open.get(sessionId)?.end();
  open.delete(sessionId);
}

/** It is looked at; the answer tells that it is no more. Its link ends with the turn that runs. */
export function show(sessionId: string): () => void {
  shown.add(sessionId);
  return () => {
    shown.delete(sessionId);
    const left = open.get(sessionId);
    if (!left || left.draft.value !== "") return;
    const stop = effect(() => {
      if (left.chat.value.running) return;
      queueMicrotask(() => {
        stop();
        if (!shown.has(sessionId)) drop(sessionId);
      });
    });
  };
}
