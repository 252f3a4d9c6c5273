import { useState } from "preact/hooks";

import { SafeText } from "@crab/web-shared/safe-text";

import "./json-tree.css";
import type { Json } from "./schema";
import { t } from "./texts";

const OPEN_LEVELS = 2;
const AT_ONCE = 100;

const entriesOf = (value: object): [string, Json][] => Object.entries(value) as [string, Json][];

function Branch({ name, value, depth }: { name: string; value: object; depth: number }) {
  const [open, setOpen] = useState(depth < OPEN_LEVELS);
  const [most, setMost] = useState(AT_ONCE);
  const list = Array.isArray(value);
  const n = list ? value.length : Object.keys(value).length;
  return (
    <li>
      <button type="button" class="tree-fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span aria-hidden="true">{open ? "▾ " : "▸ "}</span>
        {name !== "" && (
          <span class="tree-key">
            <SafeText text={name} most={120} />{" "}
          </span>
        )}
        <span class="quiet">{t(list ? "tree.items" : "tree.members", { n })}</span>
      </button>
      {open && n > 0 && (
        <ul>
          {entriesOf(value)
            .slice(0, most)
            .map(([key, inner]) => (
              <Twig key={key} name={key} value={inner} depth={depth + 1} />
            ))}
          {n > most && (
            <li>
              <button type="button" class="tree-fold" onClick={() => setMost(most + AT_ONCE)}>
                {t("tree.rest", { n: n - most })}
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

function Twig({ name, value, depth }: { name: string; value: Json; depth: number }) {
  if (typeof value === "object" && value !== null)
    return <Branch name={name} value={value} depth={depth} />;
  return (
    <li>
      {name !== "" && (
        <span class="tree-key">
          <SafeText text={name} most={120} />:{" "}
        </span>
      )}
      <SafeText text={JSON.stringify(value)} most={400} />
    </li>
  );
}

/** A value of JSON, folded; only what is open is in the document. */
export function JsonTree({ value }: { readonly value: Json }) {
  return (
    <ul class="tree">
      <Twig name="" value={value} depth={0} />
    </ul>
  );
}
