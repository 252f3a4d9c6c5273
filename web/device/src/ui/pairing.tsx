import { PairingError } from "@crab/device";
import { Button } from "@crab/web-shared/button";
import { Field } from "@crab/web-shared/field";
import { Spoken } from "@crab/web-shared/live";
import { Mark } from "@crab/web-shared/mark";
import { useEffect, useRef, useState } from "preact/hooks";

import { codeWithin } from "../code.js";
import { pairThisBrowser } from "../pair-here.js";
import { gateway, settings } from "../state.js";
import { later } from "../strings/later.js";
import { canScan, Scanner } from "./scanner.js";

interface Props {
  readonly code: string | undefined;
  /** The gateway no longer knows this browser. */
  readonly lost: boolean;
}

function whatToDo(thrown: unknown): string {
  if (!(thrown instanceof PairingError)) return String(thrown);
  switch (thrown.reason) {
    case "wrong":
      return later("pair.wrong");
    case "none_open":
      return later("pair.none");
    case "slow_down":
      return later("pair.slow", { n: Math.ceil(thrown.retryAfterMs / 1000) });
    case "unreachable":
      return later("pair.unreachable", { why: thrown.message });
  }
}

/** Puts the hyphens, except while the middle is edited. */
function tidy(input: HTMLInputElement): void {
  const code = codeWithin(input.value);
  if (input.selectionStart === input.value.length) input.value = code;
}

/** The first view: a code from whoever runs the gateway makes this browser a device. */
export function Pairing({ code, lost }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const name = useRef<HTMLInputElement>(null);
  const [message, tell] = useState("");
  const [busy, work] = useState(false);
  const [scanning, scan] = useState(false);
  useEffect(() => (code ? button : field).current?.focus(), [code]);
  const submit = async () => {
    tell("");
    work(true);
    try {
      const called = name.current?.value.trim() || settings.get().name;
      await pairThisBrowser(codeWithin(field.current?.value ?? ""), called);
    } catch (thrown) {
      tell(whatToDo(thrown));
      field.current?.select();
    } finally {
      work(false);
    }
  };
  const scanned = (found: string | undefined) => {
    scan(false);
    if (found !== undefined && field.current) field.current.value = codeWithin(found);
  };
  const failed = () => {
    scan(false);
    tell(later("pair.camera"));
  };
  return (
    <main class="pairing">
      <div class="pairing-card">
        <Mark size={64} />
        <h1>{later("pair.title")}</h1>
        <p class="lead">{later("pair.lead")}</p>
        {lost && (
          <Spoken class="notice">{later("unpair.lost")}</Spoken>
        )}
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            if (!busy) void submit();
          }}
        >
          <div class="field">
            <label class="field-label" for="code">
              {later("pair.code")}
            </label>
            <input
              ref={field}
              id="code"
              class="input code"
              inputMode="numeric"
              autocomplete="one-time-code"
              placeholder="0000-0000-0000"
              required
              aria-describedby="code-hint"
              defaultValue={code ?? ""}
              onInput={(event) => tidy(event.currentTarget)}
            />
            <span class="quiet" id="code-hint">
              {later("pair.hint")}
            </span>
          </div>
          <Field
            label={later("pair.name")}
            control={(ids) => (
              <input
                {...ids}
                ref={name}
                class="input name"
                defaultValue={settings.get().name}
                maxLength={60}
                required
                autocomplete="off"
              />
            )}
          />
          <p class="message" role="alert">
            {message}
          </p>
          <div class="row">
            <button ref={button} class="button primary" type="submit" aria-disabled={busy || undefined}>
              {later("pair.do")}
            </button>
            {canScan() && <Button onPress={() => scan(true)}>{later("pair.scan")}</Button>}
          </div>
        </form>
        <details class="quiet">
          <summary>{later("pair.mine")}</summary>
          <p>
            {later("pair.mine.how")} <kbd>crab devices pair --qr</kbd>
          </p>
        </details>
        <p class="quiet">{later("pair.gateway", { host: new URL(gateway).host })}</p>
      </div>
      {scanning && <Scanner onFound={scanned} onFailed={failed} />}
    </main>
  );
}
