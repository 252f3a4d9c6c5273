import { Lines } from "@crab/web-shared/icons";

import type { PageName } from "./strings/shell";

/** The pages' icons on a grid of 24, as paths. */
const PATHS: Readonly<Record<PageName, string>> = {
  overview: "M4 4h7v7H4zM13.500 4H20v4.500h-6.500zM13.500 11.500H20V20h-6.500zM4 13.500h7V20H4z",
  chat: "M4 5h16v11H11l-4.500 4v-4H4z",
  approvals:
    "M12 3.500l7 2.500v5.500c0 4.500-3 7.500-7 9-4-1.500-7-4.500-7-9V6z" +
    "M9 12l2.200 2.200L15.200 10",
  tools: "M14.500 5.500a4 4 0 0 0-5 5L4 16l4 4 5.500-5.500a4 4 0 0 0 5-5L15.500 12 12 8.500z",
  calls: "M4 7h9M4 12h16M4 17h6M16 4l3 3-3 3",
  devices: "M3.500 5h11v9h-11zM1.500 17h13M16.500 9h5v11h-5zM19 17.500h.01",
  agents:
    "M6 9h12v10H6zM12 9V5.500M12 5.500h.01M9.500 13h.01M14.500 13h.01M3.500 12v4" + "M20.500 12v4",
  sessions: "M4 4h16v5H4zM4 11h16v9H4zM8 14.500h8",
  policy: "M12 4v16M8 20h8M5 7h14M5 7l-2.500 6h5zM19 7l-2.500 6h5z",
  peers:
    "M8.500 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM3 19a5.500 5.500 0 0 1 11 0" +
    "M16 11a2.500 2.500 0 1 0-1-4.800M16 13.500a5 5 0 0 1 5 5.500",
  events: "M13 3L5.500 13.500H12L11 21l7.500-10.500H12z",
  audit: "M6 3.500h9l3.500 3.500v13.500H6zM9.500 11h6M9.500 14.500h6M9.500 7.500h3",
  artifacts: "M4 5h16v14H4zM4 16l5-5 4.500 4.500 2.500-2.500 4 4M15.500 9.500h.01",
  mcp:
    "M4 5h7v5H4zM13 14h7v5h-7zM7.500 10v3.500a3 3 0 0 0 3 3H13" +
    "M16.500 14v-3.500a3 3 0 0 0-3-3H11",
  health: "M3 12h4l2.500-6 4 12 2.500-6h5",
  settings:
    "M12 15.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM12 3v3M12 18v3M3 12h3M18 12h3" +
    "M5.600 5.600l2.100 2.100M16.300 16.300l2.100 2.100M5.600 18.400l2.100-2.100" +
    "M16.300 7.700l2.100-2.100",
  performance: "M4 18a8 8 0 1 1 16 0M12 18l4-6",
};

/** The icon of a page, beside its name. */
export const PageIcon = ({ page }: { readonly page: PageName }) => <Lines path={PATHS[page]} />;
