import { computed, signal } from "@preact/signals";

import { Api, ApiError, type Identity, type WayIn } from "./api";
import { canHavePasskeys } from "./passkeys/can";

export interface GatewayStatus {
  readonly version: string;
  readonly uptime_seconds: number;
  readonly public: string;
  readonly state_dir: string;
  readonly devices: number;
  readonly tools: number;
  readonly running_calls: number;
  readonly audit: { readonly backlog_bytes: number; readonly lost_records: number };
  readonly storage: string;
  readonly unhealthy?: readonly { readonly component: string; readonly reason: string }[];
}

export interface RunningCall {
  readonly call_id: string;
  readonly tool: string;
  readonly principal: string;
  readonly stage: string;
  readonly elapsed_ms: number;
}

export interface CallRecord {
  readonly call_id: string;
  readonly time: string;
  readonly tool: string;
  readonly principal: string;
  readonly agent?: string;
  readonly status: string;
  readonly code?: string;
  readonly message?: string;
  readonly duration_us?: number;
  readonly front?: string;
  readonly session?: string;
  readonly source?: string;
  readonly decision?: string;
  readonly rule?: string;
  /** The line of the configuration file where the rule stands. */
  readonly rule_line?: number;
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly args_bytes?: number;
  readonly result_bytes?: number;
  readonly approval?: { readonly state: string; readonly us: number; readonly by?: string };
  readonly attempts?: readonly { readonly us: number; readonly status: string }[];
  readonly timeline?: Readonly<Record<string, number>>;
}

export interface CallList {
  readonly running: readonly RunningCall[];
  readonly recent: readonly CallRecord[];
}

/** Who uses the page: not known yet, somebody, or nobody (why, if it is worth a sentence). */
export type Who =
  | { readonly state: "asking" }
  | { readonly state: "in"; readonly identity: Identity }
  | { readonly state: "out"; readonly error?: ApiError; readonly ended?: boolean };

export const api = new Api(localStorage);
export const who = signal<Who>({ state: "asking" });

/** Whether anything may be changed: not by a console that was started read-only. */
export const mayWrite = computed(
  () => who.value.state === "in" && who.value.identity.may.includes("operate"),
);

/** Whether anything may be said in chats: callers may, who change nothing else. */
export const mayChat = computed(
  () => who.value.state === "in" && who.value.identity.may.includes("chat"),
);

const browserKey = () => import("./browser-key");

api.onKeyNeeded = async () => {
  try {
    const { proof } = await browserKey();
    const signed = await proof(api);
    if (!signed) return await proveByPasskey();
    await api.prove(signed);
    return true;
  } catch {
    return false; // what it was needed for says why
  }
};

/** Whether this browser has a key; and, if it has, a session for it. */
export async function enterByKey(): Promise<void> {
  const { proof } = await browserKey();
  const signed = await proof(api).catch((error: unknown) => error as ApiError);
  if (signed instanceof Error) who.value = { state: "out", error: signed };
  else if (signed) await enter(signed);
}

const webauthn = () => import("./passkeys/webauthn");

/** A person who has no passkey is not asked for one. */
async function proveByPasskey(): Promise<boolean> {
  if (!canHavePasskeys || (await api.passkeys()).passkeys.length === 0) return false;
  const { askPasskey } = await webauthn();
  await api.prove({ passkey: await askPasskey(api) });
  return true;
}

/** A session for a passkey. */
export async function enterByPasskey(): Promise<void> {
  const { askPasskey } = await webauthn();
  const answer = await askPasskey(api).catch((error: unknown) => error as Error);
  if (!(answer instanceof Error)) return enter({ passkey: answer });
  if (!(answer instanceof ApiError)) return; // who has changed their mind needs no lesson
  const before = who.value;
  who.value = {
    state: "out",
    error: answer,
    ended: before.state === "out" && before.ended === true,
  };
}

/** A key for this browser, by a pairing code, and a session for it. */
export async function pairAndEnter(code: string): Promise<void> {
  try {
    const { pairKey } = await browserKey();
    await pairKey(api, code);
  } catch (error) {
    who.value = { state: "out", error: error as ApiError };
    return;
  }
  await enterByKey();
}

/** Who is signed in here stays so: a link does not make somebody else of them. */
export async function enterOrPair(code: string): Promise<void> {
  await enter(undefined);
  if (who.value.state === "out") await pairAndEnter(code);
}

api.onSignedOut = () => {
  // Who has signed out hears it from requests that were under way, too.
  if (who.value.state !== "out") who.value = { state: "out", ended: true };
};

/** Whether this is somebody who chats here and operates nothing (`listen.console: people`). */
export const chatsOnly = computed(() => mayChat.value && !mayWrite.value);

/**
 * By the link's code or a token if there is one, else by the session that this browser has. A page
 * whose session has ended stays as it is below the sign-in card until somebody is in again.
 */
export async function enter(way: WayIn | undefined): Promise<void> {
  const before = who.value;
  const ended = before.state === "in" || (before.state === "out" && before.ended === true);
  if (way === undefined && !api.hasKey) {
    who.value = { state: "out", ended };
    return;
  }
  if (!ended) who.value = { state: "asking" };
  try {
    who.value = {
      state: "in",
      identity: await (way === undefined ? api.identity() : api.signIn(way)),
    };
  } catch (error) {
    who.value = { state: "out", error: error as ApiError, ended };
  }
}
