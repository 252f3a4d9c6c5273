import { Button } from "@crab/web-shared/button";
import { SafeText } from "@crab/web-shared/safe-text";
import { distance } from "@crab/web-shared/words";

import { segment } from "../api";
import { useDoing } from "../doing";
import { api, mayWrite } from "../store";
import type { Lease } from "./shapes";
import { t } from "./texts";

function LeaseRow({ lease, again }: { readonly lease: Lease; readonly again: () => void }) {
  const [busy, run] = useDoing(again);
  const { lease_id: id } = lease;
  const path = `/v1/leases/${segment(id)}`;
  const scope = [lease.tenant_id, lease.agent_id, lease.session_id].filter(Boolean).join(", ");
  const off = !mayWrite.value;
  return (
    <li class="lease">
      <div>
        <SafeText text={lease.capabilities_json.join(", ")} most={200} />
        <div class="quiet">
          <SafeText text={`${id.slice(0, 8)} | ${scope}`} most={200} />{" "}
          {t("expires", { when: distance(lease.expires_at) })}
          {lease.disconnect_bound && ` | ${t("bound")}`}
        </div>
      </div>
      <div class="row">
        <Button
          small
          busy={busy}
          off={off}
          label={t("renew.lease", { id })}
          onPress={() => void run(api.post(`${path}/renew`, {}), t("renewed", { name: id }))}
        >
          {t("renew.short")}
        </Button>
        <Button
          small
          kind="danger"
          busy={busy}
          off={off}
          label={t("revoke.lease", { id })}
          onPress={() => void run(api.delete(path), t("revoked.done", { name: id }))}
        >
          {t("revoke")}
        </Button>
      </div>
    </li>
  );
}

/** Rights for a time, renewed and taken back one by one. */
export function Leases(props: { readonly leases: readonly Lease[]; readonly again: () => void }) {
  if (props.leases.length === 0) return <p class="quiet">{t("leases.none")}</p>;
  return (
    <ul class="plain">
      {props.leases.map((lease) => (
        <LeaseRow key={lease.lease_id} lease={lease} again={props.again} />
      ))}
    </ul>
  );
}
