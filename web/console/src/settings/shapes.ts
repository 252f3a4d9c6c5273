export interface ConfigEntry {
  readonly key: string;
  readonly value?: unknown;
  readonly default?: unknown;
  /** Of the file, from 1; without one the default holds. */
  readonly line?: number;
  readonly restart?: boolean;
  readonly secret?: boolean;
}

export interface Config {
  readonly path: string;
  readonly loaded_at?: string;
  readonly entries: readonly ConfigEntry[];
}

export interface ConfigProblem {
  readonly line?: number;
  readonly pointer?: string;
  readonly message: string;
}

export interface ConfigChange {
  readonly key: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly restart?: boolean;
}

export interface ConfigCheck {
  readonly problems: readonly ConfigProblem[];
  readonly changes: readonly (ConfigChange | string)[];
}

/** A value in one line; nothing of a secret, not even its length. */
export function shownValue({ value, secret }: ConfigEntry): string {
  if (secret) return value === undefined || value === null || value === "" ? "" : "••••••";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

export const differs = (entry: ConfigEntry): boolean =>
  entry.secret === true
    ? shownValue(entry) !== ""
    : JSON.stringify(entry.value) !== JSON.stringify(entry.default);

/** The entries whose key or value has the text. */
export function entriesWith(
  all: readonly ConfigEntry[],
  q: string,
  changed: boolean,
): readonly ConfigEntry[] {
  const word = q.trim().toLowerCase();
  const has = (entry: ConfigEntry) =>
    `${entry.key} ${shownValue(entry)}`.toLowerCase().includes(word);
  return all.filter((entry) => has(entry) && (!changed || differs(entry)));
}

/** `listen` of `listen.public`: what is shown together. */
export const sectionOf = ({ key }: ConfigEntry): string => key.split(/[./]/)[0] ?? key;
