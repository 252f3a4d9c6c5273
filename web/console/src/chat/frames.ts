import { type Json, type JsonObject } from "../try/schema";

/** What stands in a chat, in its order. */
export type Item =
  | { readonly kind: "user"; readonly key: number; readonly text: string }
  | { readonly kind: "answer"; readonly key: number; readonly text: string; readonly turn: number }
  | { readonly kind: "thought"; readonly key: number; readonly text: string; readonly turn: number }
  | ToolItem
  | AskItem
  | { readonly kind: "note"; readonly key: number; readonly code: string; readonly text: string };

export interface ToolItem {
  readonly kind: "tool";
  readonly key: number;
  readonly id: string;
  readonly name: string;
  readonly args: Json;
  readonly output?: string;
  readonly callId?: string;
  readonly begun: number;
  readonly ended?: number;
}

/** A question of the agent to the person. */
export interface AskItem {
  readonly kind: "ask";
  readonly key: number;
  readonly ids: {
    readonly request_id: string;
    readonly turn_id: string;
    readonly tool_call_id: string;
  };
  readonly form: "confirm" | "single_select" | "multi_select" | "text";
  readonly question: string;
  readonly options: readonly { readonly id: string; readonly label: string }[];
  readonly state: "open" | "sent" | "over";
}

export interface Chat {
  readonly sessionId: string;
  readonly name?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly running: boolean;
  readonly items: readonly Item[];
  /** Turns that were seen; the last is the one that runs. */
  readonly turn: number;
  readonly nextKey: number;
}

export const emptyChat = (sessionId: string): Chat => ({
  sessionId,
  running: false,
  items: [],
  turn: 0,
  nextKey: 0,
});

const text = (frame: JsonObject, name: string): string => {
  const value = frame[name];
  return typeof value === "string" ? value : "";
};

type New = Item extends infer One ? (One extends Item ? Omit<One, "key"> : never) : never;

export const added = (chat: Chat, item: New): Chat => ({
  ...chat,
  items: [...chat.items, { ...item, key: chat.nextKey } as Item],
  nextKey: chat.nextKey + 1,
});

/** A piece of text at the end: of the item that is there if it is of that kind, else a new one. */
function appended(chat: Chat, kind: "answer" | "thought", piece: string): Chat {
  const last = chat.items[chat.items.length - 1];
  if (last?.kind !== kind || last.turn !== chat.turn)
    return added(chat, { kind, text: piece, turn: chat.turn });
  const grown = { ...last, text: last.text + piece };
  return { ...chat, items: [...chat.items.slice(0, -1), grown] };
}

/** The end of a good turn: where its text is not what was collected, the whole text counts. */
function finished(chat: Chat, whole: string): Chat {
  const of = (item: Item) => item.kind === "answer" && item.turn === chat.turn;
  const collected = chat.items.filter(of).map((item) => (item as { text: string }).text);
  if (collected.join("") === whole) return { ...chat, running: false };
  const rest = { ...chat, items: chat.items.filter((item) => !of(item)), running: false };
  return whole === "" ? rest : added(rest, { kind: "answer", text: whole, turn: chat.turn });
}

function answered(chat: Chat, frame: JsonObject, now: number): Chat {
  const id = text(frame, "id");
  const output = text(frame, "output");
  const callId = text(frame, "call_id");
  const items = chat.items.map((item) =>
    item.kind === "tool" && item.id === id && item.output === undefined
      ? { ...item, output, ended: now, ...(callId && { callId }) }
      : item,
  );
  return { ...chat, items };
}

const FORMS = ["confirm", "single_select", "multi_select", "text"] as const;

function asks(chat: Chat, frame: JsonObject): Chat {
  const ids = {
    request_id: text(frame, "request_id"),
    turn_id: text(frame, "turn_id"),
    tool_call_id: text(frame, "tool_call_id"),
  };
  const known = chat.items.some(
    (item) => item.kind === "ask" && item.ids.request_id === ids.request_id,
  );
  if (known) return chat; // it is sent again to a connection that returns
  const options = Array.isArray(frame["options"]) ? (frame["options"] as JsonObject[]) : [];
  return added(chat, {
    kind: "ask",
    ids,
    form: FORMS.find((form) => form === frame["kind"]) ?? "text",
    question: text(frame, "question"),
    options: options.map((one) => ({ id: text(one, "id"), label: text(one, "label") })),
    state: "open",
  });
}

/** Sets the state of a question; without an id, of all that are not over. */
export function asked(chat: Chat, state: AskItem["state"], id?: string): Chat {
  const items = chat.items.map((item) =>
    item.kind === "ask" && (id === undefined || item.ids.request_id === id)
      ? { ...item, state }
      : item,
  );
  return { ...chat, items };
}

const note = (chat: Chat, code: string, words: string): Chat =>
  added(asked({ ...chat, running: false }, "over"), { kind: "note", code, text: words });

/** The chat after a frame of the gateway; unknown frames change nothing. */
export function received(chat: Chat, frame: JsonObject, now: number): Chat {
  switch (frame["type"]) {
    case "session_start": {
      const [name, agent] = [text(frame, "name"), text(frame, "persona")];
      const sessionId = text(frame, "session_id") || chat.sessionId;
      return { ...chat, sessionId, ...(name && { name }), ...(agent && { agent }) };
    }
    case "agent_start":
      return { ...chat, running: true, turn: chat.turn + 1, model: text(frame, "model") };
    case "chunk":
      return appended(chat, "answer", text(frame, "content"));
    case "thinking":
      return appended(chat, "thought", text(frame, "content"));
    case "tool_call": {
      const args = (frame["args"] as Json | undefined) ?? {};
      const [id, name, callId] = [text(frame, "id"), text(frame, "name"), text(frame, "call_id")];
      return added(chat, { kind: "tool", id, name, args, begun: now, ...(callId && { callId }) });
    }
    case "tool_result":
      return answered(chat, frame, now);
    case "done":
      return asked(finished(chat, text(frame, "full_response")), "over");
    case "aborted":
      return note(chat, "ABORTED", "");
    case "error":
      return note(chat, text(frame, "code"), text(frame, "message"));
    case "agent_end":
      return { ...chat, running: false };
    case "title_updated":
      return { ...chat, name: text(frame, "title") };
    case "ask_user_request":
      return asks(chat, frame);
    case "ask_user_ack":
      return asked(
        chat,
        frame["status"] === "rejected" ? "open" : "over",
        text(frame, "request_id"),
      );
    default:
      return chat;
  }
}

interface Stored {
  readonly role: string;
  readonly content: string;
  readonly [more: string]: unknown;
}

/** What was said before, as it is stored. */
export function restored(chat: Chat, messages: readonly Stored[]): Chat {
  let next: Chat = { ...chat, items: [], nextKey: 0 };
  for (const { role, content } of messages)
    next =
      role === "user"
        ? added({ ...next, turn: next.turn + 1 }, { kind: "user", text: content })
        : added(next, { kind: "answer", text: content, turn: next.turn });
  return { ...next, turn: next.turn + 1 };
}
