export interface Agent {
  readonly name: string;
  readonly tenant: string;
  readonly models: readonly string[];
  readonly events: readonly string[];
  readonly tools: { readonly allow: readonly string[]; readonly deny: readonly string[] };
}

export interface Turn {
  readonly turn_id: string;
  readonly agent: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly session_id: string;
  readonly begun_at: string;
  readonly ended_at?: string;
  readonly end?: string;
}

export interface AgentList {
  readonly agents: readonly Agent[];
  readonly turns: readonly Turn[];
}

export interface WholeTurn {
  readonly turn: Turn;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string;
    readonly created_at: string;
  }[];
}

export interface Offer {
  readonly searched: boolean;
  readonly visible: number;
  readonly offered_tokens: number;
  readonly max_tokens: number;
  readonly tools: readonly {
    readonly name: string;
    readonly tokens: number;
    readonly offered: boolean;
  }[];
}

/** Whether a turn has ended with an answer; undefined while it runs. */
export function endedWell({ end }: Turn): boolean | undefined {
  return end === undefined ? undefined : end === "answer";
}

/** What was said during a turn: a session may have had others before and after it. */
export function saidIn({ turn, messages }: WholeTurn): WholeTurn["messages"] {
  const from = Date.parse(turn.begun_at) - 1_000; // times are cut to seconds
  const to = turn.ended_at ? Date.parse(turn.ended_at) + 1_000 : Infinity;
  return messages.filter(({ created_at }) => {
    const at = Date.parse(created_at);
    return at >= from && at <= to;
  });
}
