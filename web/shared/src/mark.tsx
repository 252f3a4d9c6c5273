import "./mark.css";

const HAND =
  "M11.300 25.500a6.800 6.800 0 1 1 4.900-11.100l-4.100 4.200 6.300.3a6.800 6.800 0 0 1-7.100 6.600z" +
  "M52.700 25.500a6.800 6.800 0 1 0-4.900-11.100l4.100 4.200-6.300.3a6.800 6.800 0 0 0 7.100 6.600z";
const LEGS =
  "M17 43l-7 4M19.500 48.500l-5.500 5.500M47 43l7 4M44.500 48.500l5.500 5.500" +
  "M17.500 34.500C12 32 10.500 28 11.500 23.500M46.500 34.500c5.500-2.500 7-6.500 6-11" +
  "M26 29v-6M38 29v-6";
const BODY =
  "M15 39.500c0-7 7.600-11.500 17-11.500s17 4.500 17 11.500S41.400 52 32 52s-17-5.500-17-12.500z";

/** The crab; a text beside it says the same. */
export function Mark({ size }: { readonly size: number }) {
  return (
    <svg class="mark" viewBox="0 0 64 64" width={size} height={size} aria-hidden="true">
      <rect width="64" height="64" rx="15" class="mark-ground" />
      <path d={LEGS} class="mark-line" />
      <path d={BODY + HAND} class="mark-body" />
      <circle cx="26" cy="21" r="3" class="mark-body" />
      <circle cx="38" cy="21" r="3" class="mark-body" />
      <path d="M26.500 41.500c1.400 1.700 3.300 2.500 5.500 2.500s4.100-.8 5.500-2.500" class="mark-mouth" />
    </svg>
  );
}
