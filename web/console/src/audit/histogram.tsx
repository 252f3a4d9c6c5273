import { type AuditRecord, histogram, isBad } from "./search";
import { t } from "./texts";

const BARS = 60;
const HEIGHT = 48;
const GAP = 0.2;

/** Records by time: the good ones below, what was refused or failed above them. */
export function Histogram({ records }: { readonly records: readonly AuditRecord[] }) {
  const bars = histogram(records, BARS);
  const most = Math.max(1, ...bars.map(({ good, bad }) => good + bad));
  const tall = (n: number) => (n / most) * HEIGHT;
  const bad = records.filter(isBad).length;
  return (
    <svg
      class="histogram"
      viewBox={`0 0 ${BARS} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={t("histogram", { all: records.length, bad })}
    >
      {bars.map((bar, index) => (
        <g key={index}>
          <rect
            class="good"
            x={index}
            width={1 - GAP}
            y={HEIGHT - tall(bar.good)}
            height={tall(bar.good)}
          />
          <rect
            class="bad"
            x={index}
            width={1 - GAP}
            y={HEIGHT - tall(bar.good + bar.bad)}
            height={tall(bar.bad)}
          />
        </g>
      ))}
    </svg>
  );
}
