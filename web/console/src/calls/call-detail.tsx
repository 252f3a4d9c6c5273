import { SafeText } from "@crab/web-shared/safe-text";
import { count, duration } from "@crab/web-shared/words";

import "../chart.css";
import { type Fact, Facts } from "../facts";
import { Link } from "../link";
import type { CallRecord } from "../store";
import { bars } from "../waterfall";
import "./calls.css";
import { t } from "./texts";

const LEAST_WIDTH = 0.5; // percent: a stage that took no time is still seen

/** Where the time of a call went; the numbers stand beside the bars, in a table. */
export function Waterfall({
  timeline,
  wholeUs,
}: {
  readonly timeline: Readonly<Record<string, number>>;
  /** How long the call took. */
  readonly wholeUs: number | undefined;
}) {
  const found = bars(timeline, wholeUs);
  const whole = Math.max(1, found[found.length - 1]?.to ?? 1);
  return (
    <table class="waterfall">
      <caption class="unseen-caption">{t("stages")}</caption>
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
                    class={`by-${by}`}
                    x={`${Math.min((from / whole) * 100, 100 - width)}%`}
                    width={`${width}%`}
                    height="12"
                    rx="2"
                  />
                </svg>
              </td>
              <td class="quiet">{t(`by.${by}`)}</td>
              <td class="number">{duration(to - from)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Which rule decided, and who was asked, as a sentence's parts. */
function why({ decision, rule, approval }: CallRecord): string {
  const parts = [decision, rule && t("by", { rule })];
  if (approval) {
    const { state, by: who } = approval;
    const time = duration(approval.us);
    parts.push(who ? t("approval.by", { state, who, time }) : t("approval", { state, time }));
  }
  return parts.filter(Boolean).join(", ");
}

/** Names and values of a record that it has. */
function facts(call: CallRecord): Fact[] {
  const size = (bytes: number | undefined) => bytes !== undefined && `${count(bytes)} B`;
  return [
    [t("why"), why(call)],
    [t("line"), call.rule_line === undefined ? undefined : String(call.rule_line)],
    [t("principal"), call.principal],
    [t("agent"), call.agent],
    [t("session"), call.session],
    [t("source"), call.source],
    [t("front"), call.front],
    [t("attempts"), call.attempts && String(call.attempts.length)],
    [t("args"), size(call.args_bytes)],
    [t("result"), size(call.result_bytes)],
    [t("trace"), call.trace_id],
    [t("span"), call.span_id],
    [t("call"), call.call_id],
  ];
}

/** Where else something of this call stands. */
function Ways({ call }: { readonly call: CallRecord }) {
  const { tool, principal, session, source } = call;
  const name =
    source && !tool.includes("__") && source.startsWith("device/")
      ? `${source.slice("device/".length)}__${tool}`
      : tool;
  return (
    <p class="row">
      <Link page="policy" to={{ as: principal, tool }}>
        {t("why.rule")}
      </Link>
      <Link page="tools" to={{ tool: name }}>
        {t("again")}
      </Link>
      {session && (
        <Link page="sessions" to={{ session }}>
          {t("turn")}
        </Link>
      )}
      {call.code === "OUTCOME_UNKNOWN" && <strong>{t("again.unknown")}</strong>}
    </p>
  );
}

/** Everything that the audit log has of a call. */
export function CallDetail({ call }: { readonly call: CallRecord }) {
  return (
    <div class="detail">
      {call.message && (
        <p class="notice bad">
          <SafeText text={call.message} />{" "}
          <code>
            <SafeText text={call.code ?? ""} most={60} />
          </code>
        </p>
      )}
      {call.timeline && <Waterfall timeline={call.timeline} wholeUs={call.duration_us} />}
      <Facts facts={facts(call)} />
      <Ways call={call} />
      <p class="quiet">{t("args.not")}</p>
    </div>
  );
}
