import { audio } from "./audio.js";
import { readClipboard, writeClipboard } from "./clipboard.js";
import { battery, network } from "./facts.js";
import { location } from "./location.js";
import { motion } from "./motion.js";
import { notification, share, vibration, wakeLock } from "./notices.js";
import type { PageTool } from "./page-tool.js";
import { photo } from "./photo.js";

/** Everything that some browser can do, in the order of the page. */
export const allTools: readonly PageTool[] = [
  location,
  photo,
  audio,
  motion,
  battery,
  network,
  notification,
  vibration,
  wakeLock,
  share,
  writeClipboard,
  readClipboard,
];
