import { Button } from "@crab/web-shared/button";
import { SafeText } from "@crab/web-shared/safe-text";

import { DiffView } from "../diff-view";
import { useDoing } from "../doing";
import { api, mayWrite } from "../store";
import { t } from "./texts";

/** What an operator approves of a tool. */
export interface ToolForm {
  readonly description?: string;
  readonly effects?: string;
  readonly schema?: unknown;
  readonly output_schema?: unknown;
}

export interface WaitingTool extends ToolForm {
  readonly name: string;
  /** What was approved under this name before. */
  readonly before?: ToolForm;
}

/** Of a tool what its form has, in the order in which it is shown. */
const formOf = ({ description, effects, schema, output_schema }: ToolForm): unknown => ({
  description,
  effects,
  schema,
  output_schema,
});

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
            <span class="quiet">
              {t(tool.before === undefined ? "waiting.new" : "waiting.changed")}
            </span>
          </div>
          {tool.before === undefined && tool.description && (
            <p>
              <SafeText text={tool.description} lines />
            </p>
          )}
          {tool.schema !== undefined && (
            <DiffView
              label={tool.name}
              before={tool.before && formOf(tool.before)}
              after={tool.before ? formOf(tool) : tool.schema}
            />
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
