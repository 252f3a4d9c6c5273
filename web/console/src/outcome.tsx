import { Fragment } from "preact";

import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { shortName } from "@crab/web-shared/words";

import type { CallRecord } from "./store";

/** `INVALID_ARGS` in a narrow column breaks after its first word, not within one. */
function Code({ text }: { readonly text: string }) {
  const words = text.split(/(?<=_)(?=[^_])/);
  return (
    <span>
      {words.map((word, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          <SafeText text={word} />
        </Fragment>
      ))}
    </span>
  );
}

/** How a call has ended. */
export function Outcome({ call }: { readonly call: CallRecord }) {
  const ok = call.status === "ok";
  return (
    <Pill tone={ok ? "good" : "bad"}>
      {ok ? "ok" : <Code text={shortName(call.code || call.status)} />}
    </Pill>
  );
}
