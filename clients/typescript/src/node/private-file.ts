import { randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

const mostBytes = 16 << 20;

/**
 * The text of a file that nobody but its owner may read, such as a token's. Throws an Error that
 * names the file, not its content.
 */
export function readPrivateFile(path: string): string {
  const file = openSync(path, "r");
  try {
    const status = fstatSync(file);
    if (status.isFile() && (status.mode & 0o077) !== 0)
      throw new Error(`${path} can be read by others; run \`chmod 600\` on it`);
    if (status.size > mostBytes) throw new Error(`${path} is larger than ${mostBytes} bytes`);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** Replaces the file in one step, mode 0600; it survives a crash right after. */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  const file = openSync(temporary, "wx", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    renameSync(temporary, path);
  } catch (error) {
    unlinkSync(temporary);
    throw error;
  }
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Makes a folder with mode 0700, or refuses one that others may enter. */
export function openPrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if ((statSync(path).mode & 0o077) !== 0)
    throw new Error(`${path} is open to others; run \`chmod 700\` on it`);
}
