import { lazy, NotLoaded } from "@crab/web-shared/lazy";

import { DevicePage, type DevicePageOptions } from "./device-page.js";
import { allTools } from "./tools/all.js";
import { DeviceView } from "./ui/device.js";

interface Props {
  readonly page: DevicePage;
}

const Ask = lazy<Props>(() => import("./answering.js").then(({ Ask }) => ({ default: Ask })));

/** A device with every tool that some browser can offer. */
export const pairedPage = (options: Omit<DevicePageOptions, "tools">): DevicePage =>
  new DevicePage({ ...options, tools: allTools });

/** All that a paired browser shows: the part of the page that one without a code does not need. */
export function Paired({ page }: Props) {
  return (
    <>
      {page.broken.value && <NotLoaded onRetry={() => location.reload()} />}
      <DeviceView page={page} />
      {page.questions.open.value.length > 0 && <Ask page={page} />}
    </>
  );
}
