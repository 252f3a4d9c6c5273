/** Line icons of what a browser can do, on a grid of 24, as paths. */
const PATHS = {
  place:
    "M12 21s-7-6.100-7-11.500a7 7 0 0 1 14 0C19 14.900 12 21 12 21zM12 12a2.500 2.500 0 1 0 0-5 " +
    "2.500 2.500 0 0 0 0 5z",
  camera:
    "M4 8.500A1.500 1.500 0 0 1 5.500 7H8l1.500-2.500h5L16 7h2.500A1.500 1.500 0 0 1 20 " +
    "8.500v9a1.500 1.500 0 0 1-1.500 1.500h-13A1.500 1.500 0 0 1 4 17.500zM12 16a3.300 3.300 0 1 " +
    "0 0-6.600 3.300 3.300 0 0 0 0 6.600z",
  microphone:
    "M12 14.500a3 3 0 0 0 3-3v-5a3 3 0 0 0-6 0v5a3 3 0 0 0 3 3zM6 11.500a6 6 0 0 0 12 0M12 " +
    "17.500V21M9 21h6",
  motion: "M7.500 3.500h9v17h-9zM3.500 8v8M20.500 8v8M11 17.500h2",
  battery: "M3.500 8.500h14.500v7H3.500zM20.500 11v2M6 11v2M9 11v2M12 11v2",
  network:
    "M3 9.500a13 13 0 0 1 18 0M6 13a8.700 8.700 0 0 1 12 0M9 16.300a4.400 4.400 0 0 1 6 0M12 " +
    "19.500h.01",
  read: "M8.500 5.500H6v15h12v-15h-2.500M9 3.500h6v4H9zM9 12h6M9 16h4",
  write: "M8.500 5.500H6v15h12v-15h-2.500M9 3.500h6v4H9zM12 11v6M9.500 14.500L12 17l2.500-2.500",
  bell: "M6 16.500V11a6 6 0 0 1 12 0v5.500l1.500 1.500h-15zM10 20.500a2.200 2.200 0 0 0 4 0",
  vibrate:
    "M8.500 4.500h7v15h-7zM5.500 8l-1.500 2 1.500 2-1.500 2 1.500 2M18.500 8l1.500 2-1.500 2 " +
    "1.500 2-1.500 2",
  screen:
    "M12 7V4M12 20v-3M7 12H4M20 12h-3M8.500 8.500l-2-2M17.500 17.500l-2-2M15.500 8.500l2-2M6.500 " +
    "17.500l2-2M12 14.800a2.800 2.800 0 1 0 0-5.600 2.800 2.800 0 0 0 0 5.600z",
  share: "M12 14.500V4M8.500 7.500L12 4l3.500 3.500M6 11.500v8h12v-8",
  scan: "M4 8V4.500h3.500M16.500 4.500H20V8M20 16v3.500h-3.500M7.500 19.500H4V16M4 12h16",
  spark: "M12 4l1.800 5.200L19 11l-5.200 1.800L12 18l-1.800-5.200L5 11l5.200-1.800z",
} as const;

export type SignName = keyof typeof PATHS;

/** The sign of a tool, beside its name; screen readers skip it. */
export function Sign({ name }: { readonly name: SignName }) {
  return (
    <span class="sign" aria-hidden="true">
      <svg class="icon" viewBox="0 0 24 24">
        <path d={PATHS[name]} />
      </svg>
    </span>
  );
}
