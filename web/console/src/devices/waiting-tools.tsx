import { Button } from "@crab/web-shared/button";
import { SafeText } from "@crab/web-shared/safe-text";

import { DiffView } from "../diff-view";
import { useDoing } from "../doing";
import { api, mayWrite } from "../store";
import { t } from "./texts";

export interface WaitingTool {
  readonly name: string;
  readonly description?: string;
  readonly schema?: unknown;
  /** What was approved under this name before. */
  readonly before?: unknown;
}

interface Props {
  readonly device: string;
  readonly tools: readonly WaitingTool[];
  readonly again: () => void;
}

/** Tools that wait for an operator, with what they bring or change; nobody approves them unseen. */
export function WaitingTools({ device, tools, again }: Props) {
  const [busy, run] = useDoing(again);
  const approve = (names: readonly string[]) =>
    void run(
      api.post<{ approved: readonly string[] }>("/v1/admin/devices/approve", {
        device,
        tools: names,
      }),
      ({ approved }) => t("approved", { n: approved.length }),
    );
  const off = !mayWrite.value;
  return (
    <div class="stack">
      {tools.map((tool) => (
        <article key={tool.name} class="stack">
          <div class="row">
            <h3>
              <SafeText text={tool.name} most={120} />
            </h3>
            {tool.before === undefined && <span class="quiet">{t("waiting.new")}</span>}
          </div>
          {tool.description && (
            <p>
              <SafeText text={tool.description} lines />
            </p>
          )}
          {tool.schema !== undefined && (
            <DiffView label={tool.name} before={tool.before} after={tool.schema} />
          )}
          <div class="row">
            <Button small busy={busy} off={off} onPress={() => approve([tool.name])}>
              {t("approve", { tool: tool.name })}
            </Button>
          </div>
        </article>
      ))}
      {tools.length > 1 && (
        <div class="row">
          <Button busy={busy} off={off} onPress={() => approve(tools.map(({ name }) => name))}>
            {t("approve.all", { n: tools.length })}
          </Button>
        </div>
      )}
    </div>
  );
}
