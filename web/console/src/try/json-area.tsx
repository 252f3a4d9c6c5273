import { useEffect, useId, useRef, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { SafeText } from "@crab/web-shared/safe-text";

import "./json-area.css";
import { formatted, parsed } from "./json-text";
import type { Json } from "./schema";
import { t } from "./texts";

interface Props {
  readonly label: string;
  readonly value: Json | undefined;
  /** Called with each text that is JSON; with undefined for an empty one. */
  readonly onValue: (value: Json | undefined) => void;
  /** Called when the text starts or stops being JSON. */
  readonly onBroken?: (broken: boolean) => void;
}

const LEAST_LINES = 4;
const MOST_LINES = 24;

/** JSON as text: numbered lines, the line of the error marked, put in form on a press. */
export function JsonArea({ label, value, onValue, onBroken }: Props) {
  const [text, setText] = useState(() => (value === undefined ? "" : formatted(value)));
  const [broken, setBroken] = useState<{ line: number; message: string }>();
  const told = useRef(JSON.stringify(value));
  const lines = useRef<HTMLPreElement>(null);
  const id = useId();
  const now = JSON.stringify(value);
  useEffect(() => {
    if (now === told.current) return; // what was typed here
    told.current = now;
    setText(value === undefined ? "" : formatted(value));
    setBroken(undefined);
  }, [now]);
  const type = (next: string) => {
    setText(next);
    const found = next.trim() === "" ? { value: undefined } : parsed(next);
    setBroken("line" in found ? found : undefined);
    onBroken?.("line" in found);
    if ("line" in found) return;
    told.current = JSON.stringify(found.value);
    onValue(found.value);
  };
  const count = text.split("\n").length;
  return (
    <div class="field">
      <label for={id} class="field-label">
        {label}
      </label>
      <div class="json-area">
        <pre class="json-lines" aria-hidden="true" ref={lines}>
          {Array.from({ length: count }, (_, index) =>
            index + 1 === broken?.line ? (
              <mark key={index}>{`${index + 1}\n`}</mark>
            ) : (
              `${index + 1}\n`
            ),
          )}
        </pre>
        <textarea
          id={id}
          class="json-text"
          rows={Math.min(MOST_LINES, Math.max(LEAST_LINES, count))}
          value={text}
          spellcheck={false}
          autocomplete="off"
          aria-invalid={broken !== undefined || undefined}
          aria-describedby={broken && `${id}-error`}
          onInput={(event) => type(event.currentTarget.value)}
          onScroll={(event) => {
            if (lines.current) lines.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      {broken && (
        <span id={`${id}-error`} class="field-error">
          {t("json.line", { n: broken.line })}: <SafeText text={broken.message} />
        </span>
      )}
      {!broken && text !== "" && (
        <div class="row">
          <Button small onPress={() => value !== undefined && type(formatted(value))}>
            {t("json.format")}
          </Button>
        </div>
      )}
    </div>
  );
}
