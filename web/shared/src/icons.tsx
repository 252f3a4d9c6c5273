/** Line icons of controls on a grid of 24, as paths. */
const PATHS = {
  search: "M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM15.500 15.500L20 20",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  cross: "M6.500 6.500l11 11M17.500 6.500l-11 11",
  check: "M5 12.500l4.500 4.500L19 7.500",
  warn: "M12 4L2.500 20h19zM12 10v5M12 17.500h.01",
  settings:
    "M12 15.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM12 3v3M12 18v3M3 12h3M18 12h3" +
    "M5.600 5.600l2.100 2.100M16.300 16.300l2.100 2.100M5.600 18.400l2.100-2.100" +
    "M16.300 7.700l2.100-2.100",
  copy: "M8.500 8.500h11v11h-11zM15.500 8.500v-4h-11v11h4",
  play: "M7.500 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
  plus: "M12 5v14M5 12h14",
  up: "M12 19V6M6.500 11L12 5.500l5.500 5.500",
  down: "M12 5v13M6.500 13l5.500 5.500 5.500-5.500",
  next: "M9.500 5.500L16 12l-6.500 6.500",
  download: "M12 4v11M7.500 11L12 15.500l4.500-4.500M5 19.500h14",
  trash: "M5 7h14M9.500 7V4.500h5V7M7 7l1 13h8l1-13",
} as const;

export type IconName = keyof typeof PATHS;

interface LinesProps {
  /** What is drawn, on that grid. */
  readonly path: string;
}

/** An icon beside a text that says the same; screen readers skip it. */
export function Lines({ path }: LinesProps) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

/** One that a control of any page may have. */
export const Icon = ({ name }: { readonly name: IconName }) => <Lines path={PATHS[name]} />;
