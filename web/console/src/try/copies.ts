import type { Json } from "./schema";

/** JSON in ASCII: whatever moves or hides the text around it is an escape in a terminal. */
const ascii = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** A word of a shell's command line, whatever is in it. */
export const quoted = (word: string): string =>
  /^[\w./:@%+-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;

/** A name that may stand in a command: unseen characters would lie about what it runs. */
const isNameable = (tool: string): boolean => /^[\x21-\x7e]+$/.test(tool);

export interface Copies {
  readonly cli: string;
  readonly curl: string;
  readonly ts: string;
}

/** The same call for a terminal and for a program; undefined if its name would lie there. */
export function copies(tool: string, args: Json): Copies | undefined {
  if (!isNameable(tool)) return undefined;
  const json = ascii(args);
  const request = ascii({
    version: "v1",
    call_id: "CHANGE-ME",
    tool_name: tool,
    tenant_id: "default",
    args,
    context: { agent_id: "curl", session_id: "curl" },
  });
  const socket = '--unix-socket "$XDG_RUNTIME_DIR/crab/admin.sock"';
  return {
    cli: `crab call ${quoted(tool)} ${quoted(json)}`,
    curl: `curl -sS ${socket} http://crab/v1/tools/call -d ${quoted(request)}`,
    ts: `const answer = await fetch(new URL("/v1/tools/call", GATEWAY), {
  method: "POST",
  headers: { authorization: \`Bearer \${TOKEN}\`, "content-type": "application/json" },
  body: JSON.stringify({
    version: "v1",
    call_id: crypto.randomUUID(),
    tool_name: ${ascii(tool)},
    tenant_id: "default",
    args: ${json},
    context: { agent_id: "script", session_id: "script" },
  }),
});
console.log(await answer.json());`,
  };
}
