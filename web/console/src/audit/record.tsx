import { Drawer } from "@crab/web-shared/drawer";
import { SafeText } from "@crab/web-shared/safe-text";
import { moment } from "@crab/web-shared/words";

import { segment } from "../api";
import { CallDetail } from "../calls/call-detail";
import { Loaded, usePoll } from "../loaded";
import { api, type CallRecord } from "../store";
import { JsonTree } from "../try/json-tree";
import type { Json } from "../try/schema";
import type { AuditRecord } from "./search";
import { t } from "./texts";

const NEVER_MS = 2 ** 31 - 1;

const isCall = (record: AuditRecord): boolean =>
  record.call_id !== undefined && record.tool !== undefined && record.event === undefined;

/** One record in a drawer: a call with its explanation, anything else as it was written. */
export function RecordDrawer(props: {
  readonly record: AuditRecord;
  readonly onClose: () => void;
}) {
  const { record, onClose } = props;
  return (
    <Drawer
      title={<SafeText text={record.tool ?? record.event ?? t("record")} most={120} />}
      onClose={onClose}
    >
      <p class="quiet">{record.time && moment(record.time)}</p>
      {isCall(record) && <CallDetail call={record as CallRecord} />}
      <JsonTree value={record as unknown as Json} />
    </Drawer>
  );
}

/** The record of a call that the address names and no row shows. */
export function CallDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const path = `/v1/admin/calls/${segment(id)}`;
  const poll = usePoll(() => api.get<AuditRecord>(path), NEVER_MS, [id]);
  const found = poll.state.value.data;
  if (found) return <RecordDrawer record={found} onClose={onClose} />;
  return (
    <Drawer title={t("record")} onClose={onClose}>
      <Loaded poll={poll} size="card">
        {() => null}
      </Loaded>
    </Drawer>
  );
}
