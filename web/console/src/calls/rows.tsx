import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { SafeText } from "@crab/web-shared/safe-text";
import { clock, duration, shortName, span } from "@crab/web-shared/words";

import { type ApiError, segment } from "../api";
import { Outcome } from "../outcome";
import { go } from "../place";
import { api, type CallRecord, mayWrite, type RunningCall } from "../store";
import { CallDetail } from "./call-detail";
import { t } from "./texts";

/** A call that runs, and the way to end it. */
export function RunningRow({ call }: { readonly call: RunningCall }) {
  const [said, say] = useState("");
  const cancel = () => {
    say(t("cancelling"));
    api
      .post(`/v1/admin/calls/${segment(call.call_id)}/cancel`, {})
      .catch((error: ApiError) => say(error.message));
  };
  return (
    <tr>
      <td>
        <SafeText text={call.tool} most={80} />
      </td>
      <td class="quiet wide">
        <SafeText text={call.principal} most={60} />
      </td>
      <td>
        <SafeText text={said || call.stage} most={80} />
      </td>
      <td class="number">{span(call.elapsed_ms / 1_000)}</td>
      <td class="number">
        <Button
          small
          off={said === t("cancelling") || !mayWrite.value}
          label={t("cancel.of", { tool: call.tool })}
          onPress={cancel}
        >
          {t("cancel")}
        </Button>
      </td>
    </tr>
  );
}

/** A call that has ended; pressed, it unfolds below. `open` is kept in the address. */
export function EndedRow({ call, open }: { readonly call: CallRecord; readonly open: boolean }) {
  return (
    <>
      <tr>
        <td class="quiet time">{clock(call.time)}</td>
        <td>
          <button
            type="button"
            class="more"
            aria-expanded={open}
            onClick={() => go({ call: open ? "" : call.call_id })}
          >
            <SafeText text={shortName(call.tool)} />
          </button>
        </td>
        <td class="quiet wide">
          <SafeText text={call.agent || call.principal} most={60} />
        </td>
        <td>
          <Outcome call={call} />
        </td>
        <td class="number">{call.duration_us === undefined ? "" : duration(call.duration_us)}</td>
      </tr>
      {open && (
        <tr>
          <td colSpan={5}>
            <CallDetail call={call} />
          </td>
        </tr>
      )}
    </>
  );
}
