import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Confirm } from "@crab/web-shared/dialog";
import { Drawer } from "@crab/web-shared/drawer";
import { TextField } from "@crab/web-shared/field";
import { SafeText } from "@crab/web-shared/safe-text";
import { distance, moment } from "@crab/web-shared/words";

import { useDoing } from "../doing";
import { Facts } from "../facts";
import { api, mayWrite } from "../store";
import { Leases } from "./leases";
import { type Lease, nameOf, pathOf, type Peer } from "./shapes";
import { t } from "./texts";

function RevokePeer({ peer, again }: { readonly peer: Peer; readonly again: () => void }) {
  const [asked, ask] = useState(false);
  const [reason, setReason] = useState("");
  const [busy, run] = useDoing(() => {
    ask(false);
    again();
  });
  const name = nameOf(peer);
  const yes = () =>
    void run(api.post(`${pathOf(peer)}/revoke`, { reason }), t("revoked.done", { name }));
  return (
    <>
      <Button kind="danger" off={!mayWrite.value} onPress={() => ask(true)}>
        {t("revoke")}
      </Button>
      {asked && (
        <Confirm
          title={t("revoke.sure", { name })}
          action={t("revoke")}
          busy={busy}
          onYes={yes}
          onNo={() => ask(false)}
        >
          <div class="stack">
            <p>{t("revoke.what")}</p>
            <TextField
              label={t("reason")}
              hint={t("reason.hint")}
              value={reason}
              onValue={setReason}
              most={200}
            />
          </div>
        </Confirm>
      )}
    </>
  );
}

function Actions({ peer, again }: { readonly peer: Peer; readonly again: () => void }) {
  const [busy, run] = useDoing(again);
  const name = nameOf(peer);
  const active = peer.status === "active";
  const turn = () =>
    void run(
      api.patch(pathOf(peer), { status: active ? "inactive" : "active" }),
      t(active ? "disabled" : "enabled", { name }),
    );
  const renew = () => void run(api.post(`${pathOf(peer)}/renew`, {}), t("renewed", { name }));
  const off = !mayWrite.value;
  return (
    <div class="row">
      <Button busy={busy} off={off} onPress={renew}>
        {t("renew")}
      </Button>
      <Button busy={busy} off={off} onPress={turn}>
        {t(active ? "disable" : "enable")}
      </Button>
      <RevokePeer peer={peer} again={again} />
    </div>
  );
}

interface Props {
  readonly peer: Peer;
  readonly leases: readonly Lease[];
  readonly again: () => void;
  readonly onClose: () => void;
}

/** A paired component: who it is, what it may for a time, and the ways to end that. */
export function PeerDrawer({ peer, leases, again, onClose }: Props) {
  return (
    <Drawer title={<SafeText text={nameOf(peer)} most={120} />} onClose={onClose}>
      <div class="stack">
        {peer.problem && (
          <p class="notice bad">
            <SafeText text={peer.problem} />
          </p>
        )}
        <Facts
          facts={[
            [t("role"), peer.role],
            [t("endpoint"), peer.endpoint],
            [t("tools"), peer.tool_url],
            [t("paired"), moment(peer.paired_at)],
            [t("seen"), peer.last_seen_at && distance(peer.last_seen_at)],
          ]}
        />
        <div>
          <div class="quiet">{t("fingerprint")}</div>
          <code class="peer-fingerprint">
            <SafeText text={peer.mtls_cert_fingerprint} />
          </code>
        </div>
        {peer.status !== "revoked" && <Actions peer={peer} again={again} />}
        <section aria-label={t("leases.title")}>
          <h3>{t("leases.title")}</h3>
          <Leases leases={leases} again={again} />
        </section>
      </div>
    </Drawer>
  );
}
