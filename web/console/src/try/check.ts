import { signal } from "@preact/signals";

import { type Api, ApiError } from "../api";
import type { Json } from "./schema";
import type { FieldError } from "./schema-form";

/** What would become of a call. */
export interface Check {
  readonly valid: boolean;
  readonly errors: readonly FieldError[];
  readonly verdict?: "allow" | "deny" | "needs_approval";
  readonly rule?: string;
  readonly approval: boolean;
  readonly effects?: string;
  readonly refusal?: { readonly code: string; readonly message: string };
  readonly choices?: readonly string[];
}

export interface Checked {
  readonly check?: Check;
  readonly error?: ApiError;
  /** Something was typed since. */
  readonly waiting: boolean;
}

export const PAUSE_MS = 300;

/** Asks the gateway what would become of a call, once nobody has typed for a moment. */
export class Checker {
  readonly state = signal<Checked>({ waiting: false });
  private timer: ReturnType<typeof setTimeout> | undefined;
  private round = 0;

  constructor(
    private readonly api: Pick<Api, "post">,
    private readonly tool: string,
  ) {}

  ask(args: Json, as: string): void {
    clearTimeout(this.timer);
    const round = ++this.round;
    this.state.value = { ...this.state.value, waiting: true };
    this.timer = setTimeout(() => void this.send(round, args, as), PAUSE_MS);
  }

  end(): void {
    clearTimeout(this.timer);
    this.round += 1;
  }

  private async send(round: number, args: Json, as: string): Promise<void> {
    try {
      const body = { tool: this.tool, args, ...(as && { as }) };
      const check = await this.api.post<Check>("/v1/admin/tools/check", body);
      if (round === this.round) this.state.value = { check, waiting: false };
    } catch (error) {
      const failure =
        error instanceof ApiError ? error : new ApiError(0, "BAD_ANSWER", String(error));
      if (round === this.round) this.state.value = { error: failure, waiting: false };
    }
  }
}
