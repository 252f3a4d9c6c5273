import { useEffect, useRef, useState } from "preact/hooks";

import { Dialog } from "@crab/web-shared/dialog";
import { SafeText } from "@crab/web-shared/safe-text";
import { shortName } from "@crab/web-shared/words";

import { addressOf, visit } from "../place";
import { t } from "../strings/shell";
import { type Entry, hits, isCallId } from "./fuzzy";
import "./palette.css";
import { useEntries } from "./sources";

/** A call by its id, which no list has to know. */
const callEntry = (typed: string): Entry[] =>
  isCallId(typed)
    ? [
        {
          kind: "call",
          name: t("palette.call", { id: typed.trim() }),
          run: () => visit(addressOf("audit", { call: typed.trim() })),
        },
      ]
    : [];

interface HitsProps {
  readonly found: readonly Entry[];
  readonly at: number;
  readonly onRun: (entry: Entry) => void;
}

function Hits({ found, at, onRun }: HitsProps) {
  const chosen = useRef<HTMLLIElement>(null);
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [at]);
  return (
    <ul class="palette-hits" id="palette-hits" role="listbox" aria-label={t("palette")}>
      {found.map((entry, index) => (
        <li
          key={index}
          id={`palette-${index}`}
          ref={index === at ? chosen : null}
          role="option"
          aria-selected={index === at}
          onClick={() => onRun(entry)}
        >
          <SafeText text={shortName(entry.name)} />{" "}
          <span class="quiet">{t(`palette.kind.${entry.kind}`)}</span>
        </li>
      ))}
    </ul>
  );
}

/** Pages, tools, devices, principals, calls and actions by a few letters. */
export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const [typed, type] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const found = [...hits(typed, useEntries(typed)), ...callEntry(typed)];
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt(Math.max(0, Math.min(found.length - 1, at + step)));
    else if (event.key === "Enter" && !event.isComposing) run(found[at]);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    const timer = setTimeout(() => input.current?.focus()); // after the dialog's title had it
    return () => clearTimeout(timer);
  }, []);
  return (
    <Dialog title={t("palette")} onClose={onClose}>
      <input
        ref={input}
        class="input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-hits"
        aria-activedescendant={found.length > 0 ? `palette-${at}` : undefined}
        aria-label={t("palette")}
        placeholder={t("palette.hint")}
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        value={typed}
        onInput={(event) => {
          type(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <Hits found={found} at={at} onRun={run} />
      {found.length === 0 && <p class="quiet">{t("palette.none")}</p>}
    </Dialog>
  );
}
