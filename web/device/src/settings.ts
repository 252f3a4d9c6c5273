/** This browser's settings; in its local storage, for this gateway's origin alone. */
export interface Settings {
  /**
   * How this browser was paired: by a key, which the browser's database holds, or by this token.
   * Neither: it is not paired.
   */
  key?: true;
  token?: string;
  name: string;
  /** Tools that the person switched on or off; others keep their default. */
  switched: Record<string, boolean>;
  /** The person has paused calls. */
  paused?: boolean;
}

const key = "crab.device";

/** A default name, from the browser's user agent. */
export function guessedName(userAgent: string): string {
  const known: Array<[RegExp, string]> = [
    [/iPad/, "iPad"],
    [/iPhone/, "iPhone"],
    [/Android.*Mobile/, "Android phone"],
    [/Android/, "Android tablet"],
    [/CrOS/, "Chromebook"],
    [/Macintosh/, "Mac"],
    [/Windows/, "Windows computer"],
    [/Linux/, "Linux computer"],
  ];
  return known.find(([pattern]) => pattern.test(userAgent))?.[1] ?? "Browser";
}

/** Keeps settings in a `Storage`. Unreadable ones are ignored. */
export class SettingsStore {
  private value: Settings;

  constructor(
    private readonly storage: Pick<Storage, "getItem" | "setItem">,
    userAgent: string,
  ) {
    this.value = read(storage.getItem(key)) ?? { name: guessedName(userAgent), switched: {} };
  }

  get(): Readonly<Settings> {
    return this.value;
  }

  set(changes: Partial<Settings>): void {
    this.value = { ...this.value, ...changes };
    this.storage.setItem(key, JSON.stringify(this.value));
  }

  /** Paired, by that token or by the key in the database. */
  pairedBy(token: string | undefined, name: string): void {
    this.unpaired();
    this.set({ name, ...(token === undefined ? { key: true } : { token }) });
  }

  /** No longer paired; what the person chose stays. */
  unpaired(): void {
    const { name, switched } = this.value;
    this.value = { name, switched };
    this.set({});
  }
}

function read(text: string | null): Settings | undefined {
  try {
    const value = JSON.parse(text ?? "null") as Partial<Settings> | null;
    if (
      typeof value?.name !== "string" ||
      typeof value.switched !== "object" ||
      value.switched === null
    )
      return undefined;
    return {
      name: value.name,
      switched: value.switched,
      ...(value.key === true && { key: true }),
      ...(typeof value.token === "string" && { token: value.token }),
      ...(value.paused === true && { paused: true }),
    };
  } catch {
    return undefined;
  }
}
