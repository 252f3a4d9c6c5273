import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { CopyButton } from "@crab/web-shared/copy-button";
import { Countdown } from "@crab/web-shared/countdown";
import { Choice } from "@crab/web-shared/field";
import { SafeText } from "@crab/web-shared/safe-text";
import { visible } from "@crab/web-shared/visible";

import { matrixOf, pagesOf, unfit } from "./pairing";
import { NoQr, Qr } from "./qr";
import type { PageAddress, Pairing } from "./shapes";
import { t } from "./texts";

/** The code in large, its time, and what to do with it elsewhere. */
export function Code({
  pairing,
  again,
}: {
  readonly pairing: Pairing;
  readonly again: () => void;
}) {
  const { code = "", expires_at } = pairing;
  return (
    <div class="stack">
      <p class="pair-code">
        <SafeText text={code} />
      </p>
      <div class="row">
        {expires_at && <Countdown until={Date.parse(expires_at)} about={t("pair.code")} />}
        <CopyButton text={code} />
        <Button small onPress={again}>
          {t("new.code")}
        </Button>
      </div>
    </div>
  );
}

/** Hands the address over to another app of this machine, where the browser can. */
function Share({ url }: { readonly url: string }) {
  if (typeof navigator.share !== "function") return <CopyButton text={url} />;
  const share = () => void navigator.share({ url }).catch(() => undefined); // the person changed their mind
  return (
    <Button small onPress={share}>
      {t("pair.share")}
    </Button>
  );
}

/** The addresses of which one may be chosen; only those that another machine can use. */
function Addresses(props: {
  readonly pages: readonly PageAddress[];
  readonly page: PageAddress;
  readonly onPage: (page: PageAddress) => void;
}) {
  const fit = props.pages.filter(({ url }) => unfit(url) === undefined);
  if (fit.length < 2) return null;
  return (
    <Choice
      label={t("pair.phone.address")}
      value={props.page.url}
      options={fit.map(({ url }) => ({ value: url, label: visible(url.replace(/#.*$/, "")) }))}
      onValue={(url) => props.onPage(fit.find((page) => page.url === url) ?? props.page)}
    />
  );
}

/** A phone's or a browser's way in: a code to scan where scanning would lead somewhere. */
export function PairPhone({
  pairing,
  again,
}: {
  readonly pairing: Pairing;
  readonly again: () => void;
}) {
  const pages = pagesOf(pairing, location.hostname);
  const [chosen, choose] = useState<PageAddress>();
  const page = chosen ?? pages[0];
  const matrix = page && matrixOf(pairing, page);
  const why = page ? unfit(page.url) : "none";
  return (
    <div class="stack">
      <p>{t("pair.phone.how")}</p>
      {why && <NoQr why={why} />}
      <div class={matrix ? "pair-phone" : undefined}>
        {matrix && <Qr rows={matrix} />}
        <div class="stack">
          <Code pairing={pairing} again={again} />
          {page && !why && (
            <>
              <p>
                <SafeText text={page.url.replace(/#.*$/, "")} most={200} />
              </p>
              <div class="row">
                <Share url={page.url} />
              </div>
            </>
          )}
          {page && <Addresses pages={pages} page={page} onPage={choose} />}
        </div>
      </div>
    </div>
  );
}
