import { segment } from "../api";
export interface ChatSession {
  readonly session_id: string;
  readonly created_at: string;
  readonly last_activity: string;
  readonly message_count: number;
  readonly name?: string;
  readonly persona?: string;
}

export interface SessionList {
  readonly sessions: readonly ChatSession[];
  /** Where the next page begins. */
  readonly cursor?: string;
}

export const titleOf = ({ name, session_id }: ChatSession): string => name || session_id;

export const sessionPath = (id: string): string => `/api/sessions/${segment(id)}`;

/** Sessions that have the text in their name, id or agent, the latest first. */
export function sessionsWith(all: readonly ChatSession[], q: string): readonly ChatSession[] {
  const word = q.trim().toLowerCase();
  return all
    .filter((one) =>
      [one.name, one.session_id, one.persona].some((text) => text?.toLowerCase().includes(word)),
    )
    .sort((a, b) => Date.parse(b.last_activity) - Date.parse(a.last_activity));
}
