import { SafeText } from "@crab/web-shared/safe-text";

import type { CallRecord } from "../store";
import { bars } from "../waterfall";
import { count, duration } from "@crab/web-shared/words";

const LEAST_WIDTH = 0.5; // percent: a stage that took no time is still seen

/** Where the time of a call went; the numbers stand beside the bars, in a table. */
function Waterfall({ timeline }: { readonly timeline: Readonly<Record<string, number>> }) {
  const found = bars(timeline);
  const whole = Math.max(1, found[found.length - 1]?.to ?? 1);
  return (
    <table class="waterfall">
      <caption class="unseen-caption">Time of each stage</caption>
      <tbody>
        {found.map(({ stage, from, to, by }) => {
          const width = Math.max(LEAST_WIDTH, ((to - from) / whole) * 100);
          return (
            <tr key={stage}>
              <th scope="row">
                <SafeText text={stage} most={30} />
              </th>
              <td class="bar-cell">
                <svg width="100%" height="12" aria-hidden="true">
                  <rect
                    class={`bar by-${by}`}
                    x={`${Math.min((from / whole) * 100, 100 - width)}%`}
                    width={`${width}%`}
                    height="12"
                    rx="2"
                  />
                </svg>
              </td>
              <td class="quiet">{by}</td>
              <td class="number">{duration(to - from)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Which rule decided, and who was asked, as a sentence's parts. */
function why(call: CallRecord): string {
  const parts = [call.decision, call.rule && `by ${call.rule}`];
  if (call.approval) {
    const by = call.approval.by ? ` by ${call.approval.by}` : "";
    parts.push(`approval: ${call.approval.state}${by} after ${duration(call.approval.us)}`);
  }
  return parts.filter(Boolean).join(", ");
}

/** Names and values of a record that it has. */
function facts(call: CallRecord): [string, string][] {
  const sizes = (bytes: number | undefined) => bytes !== undefined && `${count(bytes)} B`;
  const all: [string, string | false | undefined][] = [
    ["Why", why(call)],
    ["Principal", call.principal],
    ["Agent", call.agent],
    ["Session", call.session],
    ["Source", call.source],
    ["Came by", call.front],
    ["Attempts", call.attempts && String(call.attempts.length)],
    ["Arguments", sizes(call.args_bytes)],
    ["Result", sizes(call.result_bytes)],
    ["Trace", call.trace_id],
    ["Call", call.call_id],
  ];
  return all.filter((fact): fact is [string, string] => Boolean(fact[1]));
}

export function CallDetail({ call }: { readonly call: CallRecord }) {
  return (
    <div class="detail">
      {call.message && (
        <p class="notice bad">
          <SafeText text={call.message} /> <code>{call.code}</code>
        </p>
      )}
      {call.timeline && <Waterfall timeline={call.timeline} />}
      <dl class="facts">
        {facts(call).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <SafeText text={value} most={200} />
            </dd>
          </div>
        ))}
      </dl>
      <p class="quiet">Arguments and results are not in the audit log.</p>
    </div>
  );
}
