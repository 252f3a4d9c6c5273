import { PairingError } from "@crab/device";
import { Button } from "@crab/web-shared/button";
import { Field } from "@crab/web-shared/field";
import { Spoken } from "@crab/web-shared/live";
import { Mark } from "@crab/web-shared/mark";
import { useEffect, useRef, useState } from "preact/hooks";

import { codeWithin } from "../code.js";
import { gateway, pairThisBrowser, settings } from "../state.js";
import { t } from "../strings/t.js";
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
      return t("pair.wrong");
    case "none_open":
      return t("pair.none");
    case "slow_down":
      return t("pair.slow", { n: Math.ceil(thrown.retryAfterMs / 1000) });
    case "unreachable":
      return t("pair.unreachable", { why: thrown.message });
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
    tell(t("pair.camera"));
  };
  return (
    <main class="pairing">
      <div class="pairing-card">
        <Mark size={64} />
        <h1>{t("pair.title")}</h1>
        <p class="lead">{t("pair.lead")}</p>
        {lost && (
          <Spoken class="notice">{t("unpair.lost")}</Spoken>
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
              {t("pair.code")}
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
              {t("pair.hint")}
            </span>
          </div>
          <Field
            label={t("pair.name")}
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
              {t("pair.do")}
            </button>
            {canScan() && <Button onPress={() => scan(true)}>{t("pair.scan")}</Button>}
          </div>
        </form>
        <details class="quiet">
          <summary>{t("pair.mine")}</summary>
          <p>
            {t("pair.mine.how")} <kbd>crab devices pair --qr</kbd>
          </p>
        </details>
        <p class="quiet">{t("pair.gateway", { host: new URL(gateway).host })}</p>
      </div>
      {scanning && <Scanner onFound={scanned} onFailed={failed} />}
    </main>
  );
}
