import { DevicePage, type DevicePageOptions } from "./device-page.js";
import { allTools } from "./tools/all.js";
import { Ask } from "./ui/ask.js";
import { DeviceView } from "./ui/device.js";

/** A device with every tool that some browser can offer. */
export const pairedPage = (options: Omit<DevicePageOptions, "tools">): DevicePage =>
  new DevicePage({ ...options, tools: allTools });

/** All that a paired browser shows: the part of the page that one without a code does not need. */
export function Paired({ page }: { readonly page: DevicePage }) {
  return (
    <>
      <DeviceView page={page} />
      <Ask page={page} />
    </>
  );
}
