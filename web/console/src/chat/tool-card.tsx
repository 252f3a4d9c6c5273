import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { duration } from "@crab/web-shared/words";
import { cut } from "@crab/web-shared/visible";

import { Link } from "../link";
import { JsonTree } from "../try/json-tree";
import type { ToolItem } from "./frames";
import { t } from "./texts";

const SHOWN_FIRST = 8 * 1_024;
const LINE = 120;

/** What a model reads of a failed tool begins like this. */
const failed = (output: string): boolean => /^Error: [A-Z_]+:/.test(output);

function Output({ output }: { readonly output: string }) {
  const [all, showAll] = useState(false);
  const shown = all ? output : cut(output, SHOWN_FIRST);
  return (
    <>
      <h4>{t("tool.output")}</h4>
      <div class="tool-output" tabIndex={0} role="group" aria-label={t("tool.output")}>
        <SafeText text={shown} most={Infinity} lines />
      </div>
      {shown.length < output.length && (
        <Button small onPress={() => showAll(true)}>
          {t("tool.all")}
        </Button>
      )}
    </>
  );
}

/** A call of the agent: one line, which unfolds to its arguments and its result. */
export function ToolCard({ tool }: { readonly tool: ToolItem }) {
  const [open, setOpen] = useState(false);
  const { name, output, begun, ended, callId } = tool;
  const took = ended === undefined ? undefined : duration((ended - begun) * 1_000);
  const bad = output !== undefined && failed(output);
  return (
    <div class="tool-card">
      <div class="row">
        <button type="button" class="tool-fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          <span aria-hidden="true">{open ? "▾ " : "▸ "}</span>
          <SafeText text={cut(name, LINE)} />
        </button>
        <Pill tone={output === undefined ? "plain" : bad ? "bad" : "good"}>
          {output === undefined ? t("tool.runs") : took}
        </Pill>
        {callId && (
          <Link page="audit" to={{ call: callId }}>
            {t("tool.why")}
          </Link>
        )}
      </div>
      {open && (
        <div class="stack">
          <div>
            <h4>{t("tool.args")}</h4>
            <JsonTree value={tool.args} />
          </div>
          {output !== undefined && <Output output={output} />}
        </div>
      )}
    </div>
  );
}
