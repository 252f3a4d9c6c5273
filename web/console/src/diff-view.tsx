import { SafeText } from "@crab/web-shared/safe-text";
import { visible } from "@crab/web-shared/visible";
import { shortName } from "@crab/web-shared/words";

import { diff, hunks, inForm } from "./diff";
import "./diff-view.css";
import { t } from "./strings/shell";

const MOST_LINES = 2_000;
const NAMES = { "+": "diff.added", "-": "diff.removed" } as const;

interface Props {
  readonly label: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** What changed between two values, by lines of their JSON; signs say it as well as colours. */
export function DiffView({ label, before, after }: Props) {
  const lines = hunks(diff(inForm(before), inForm(after)));
  return (
    <div class="diff" role="group" aria-label={visible(shortName(label))} tabIndex={0}>
      {lines.slice(0, MOST_LINES).map((line, index) =>
        typeof line === "number" ? (
          <div key={index} class="diff-line quiet">
            {t("diff.same", { n: line })}
          </div>
        ) : (
          <div
            key={index}
            class={`diff-line ${line.sign === " " ? "" : NAMES[line.sign].slice(5)}`}
          >
            <span aria-hidden="true">{line.sign} </span>
            {line.sign !== " " && <span class="unseen-caption">{t(NAMES[line.sign])} </span>}
            <SafeText text={line.text} most={1_000} lines />
          </div>
        ),
      )}
    </div>
  );
}
