import "./chart.css";

const WIDTH = 300;
const HEIGHT = 60;

export interface Series {
  readonly name: string;
  /** The latest value in words, beside the name. */
  readonly latest: string;
  /** One for each step of time; null where there is none. */
  readonly values: readonly (number | null)[];
  /** The highest value in words. */
  readonly most: string;
  readonly tone?: "plain" | "bad";
}

/** The line through the values, with gaps where there are none; 0 is at the bottom. */
export function linePath(values: readonly (number | null)[], most: number): string {
  const step = WIDTH / Math.max(1, values.length - 1);
  let path = "";
  let pen = "M";
  values.forEach((value, index) => {
    if (value === null || !Number.isFinite(value)) {
      pen = "M";
      return;
    }
    const y = HEIGHT - (Math.max(0, value) / most) * HEIGHT;
    path += `${pen}${(index * step).toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  });
  return path;
}

/** One value over time, small; several stand below each other with the same time. */
export function Chart({ name, latest, values, most, tone = "plain" }: Series) {
  const highest = Math.max(1, ...values.map((value) => value ?? 0));
  return (
    <figure class="chart">
      <figcaption>
        {name} <strong>{latest}</strong>
      </figcaption>
      <svg
        viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}: ${latest}, ${most}`}
      >
        <path class={`chart-line ${tone}`} d={linePath(values, highest)} />
      </svg>
      <span class="quiet chart-most">{most}</span>
    </figure>
  );
}
