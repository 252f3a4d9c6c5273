import { useCallback } from "preact/hooks";

import { APPROVALS, Waiting } from "../approval-card";
import { type ApprovalList, inOrder } from "../approvals";
import { useWatching } from "../approvals-watch";
import { usePoll } from "../loaded";
import { api } from "../store";

const EVERY_MS = 2_000;

/** Calls of this chat that wait for a person, in the flow of what is said. */
export function ApprovalsHere({ session }: { readonly session: string }) {
  const poll = usePoll(() => api.get<ApprovalList>(APPROVALS), EVERY_MS);
  const again = useCallback(() => void poll.again(), [poll]);
  useWatching(again);
  const here = (poll.state.value.data?.approvals ?? []).filter((one) => one.session === session);
  return (
    <>
      {inOrder(here, []).map((approval) => (
        <Waiting key={approval.id} approval={approval} again={again} />
      ))}
    </>
  );
}
