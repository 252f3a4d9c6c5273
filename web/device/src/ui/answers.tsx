import type { Decision } from "@crab/device";
import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";

import type { DevicePage } from "../device-page.js";
import { later } from "../strings/later.js";
import { callerAccount, callerName, toolTitle } from "./words.js";

interface Props {
  readonly page: DevicePage;
}

function Row({ decision, page }: Props & { readonly decision: Decision }) {
  const who = callerName(decision);
  const tool = toolTitle(decision.tool);
  return (
    <li class="decision">
      <span class="call-text">
        <strong>
          {who} · {tool}
        </strong>
        <span class="quiet">
          <SafeText text={callerAccount(decision)} />
        </span>
      </span>
      <Pill tone={decision.answer === "never" ? "bad" : "good"}>
        {later(`answer.${decision.answer}`)}
      </Pill>
      <Button
        small
        label={later("answer.forget.of", { who, tool })}
        onPress={() => page.forget(decision)}
      >
        {later("answer.forget")}
      </Button>
    </li>
  );
}

/** The person's answers that hold for further calls. */
export function Answers({ page }: Props) {
  const decisions = page.decisions.value;
  return (
    <Card title={later("answers.title")}>
      {decisions.length === 0 ? (
        <EmptyState title={later("answers.none")}>{later("answers.none.why")}</EmptyState>
      ) : (
        <ul class="decisions">
          {decisions.map((decision) => (
            <Row
              key={JSON.stringify([decision.tool, decision.principal, decision.agent])}
              decision={decision}
              page={page}
            />
          ))}
        </ul>
      )}
    </Card>
  );
}
