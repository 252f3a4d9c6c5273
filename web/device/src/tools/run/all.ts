import type { Run, ToolName } from "../page-tool.js";
import { audio } from "./audio.js";
import { readClipboard, writeClipboard } from "./clipboard.js";
import { battery, network } from "./facts.js";
import { location } from "./location.js";
import { motion } from "./motion.js";
import { notification, share, vibration, wakeLock } from "./notices.js";
import { photo } from "./photo.js";

/** What the browser does, by the tools' names. */
export const runs: Readonly<Record<ToolName, Run>> = {
  get_location: location,
  keep_screen_on: wakeLock,
  read_battery: battery,
  read_clipboard: readClipboard,
  read_motion: motion,
  read_network: network,
  record_audio: audio,
  share,
  show_notification: notification,
  take_photo: photo,
  vibrate: vibration,
  write_clipboard: writeClipboard,
};
