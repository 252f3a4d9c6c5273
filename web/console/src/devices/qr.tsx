import { CopyButton } from "@crab/web-shared/copy-button";

import { type Unfit, qrPath } from "./pairing";
import { t } from "./texts";

const QUIET = 4; // squares around a code, without which cameras do not find it

/** A QR code as the gateway made it: dark on white in every theme, for cameras. */
export function Qr({ rows }: { readonly rows: readonly string[] }) {
  const size = rows.length + 2 * QUIET;
  return (
    <svg
      class="qr"
      viewBox={`${-QUIET} ${-QUIET} ${size} ${size}`}
      role="img"
      aria-label={t("qr.name")}
      shapeRendering="crispEdges"
    >
      <rect x={-QUIET} y={-QUIET} width={size} height={size} fill="#fff" />
      <path d={qrPath(rows)} fill="#000" />
    </svg>
  );
}

const COMMANDS: Readonly<Record<Unfit, string>> = {
  loopback: "crab tls init",
  plain: "crab tls init",
  none: "",
};

/** Why there is no code, and what to do about it. */
export function NoQr({ why }: { readonly why: Unfit }) {
  return (
    <div class="notice warn">
      <p>{t(`qr.${why}`)}</p>
      {COMMANDS[why] && (
        <p class="row">
          <code>{COMMANDS[why]}</code> <CopyButton text={COMMANDS[why]} />
        </p>
      )}
    </div>
  );
}
