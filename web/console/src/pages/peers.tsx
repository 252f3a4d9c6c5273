import { useCallback } from "preact/hooks";

import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { distance } from "@crab/web-shared/words";

import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { Leases } from "../peers/leases";
import { PeerDrawer } from "../peers/peer-drawer";
import "../peers/peers.css";
import { type Lease, leasesOf, leasesOfOthers, nameOf, type Peer } from "../peers/shapes";
import { t } from "../peers/texts";
import { go, place } from "../place";
import { api } from "../store";
import { t as shell } from "../strings/shell";

const EVERY_MS = 3_000;
const STATES = ["active", "inactive", "revoked"] as const;
const TONES = { active: "good", inactive: "warn", revoked: "bad" } as const;

interface Known {
  readonly peers: readonly Peer[];
  readonly leases: readonly Lease[];
}

const read = async (): Promise<Known> => {
  const [{ peers }, { leases }] = await Promise.all([
    api.get<{ peers: readonly Peer[] }>("/v1/peers"),
    api.get<{ leases: readonly Lease[] }>("/v1/leases"),
  ]);
  return { peers, leases };
};

function Row({ peer, leases }: { readonly peer: Peer; readonly leases: number }) {
  const state = STATES.find((one) => one === peer.status);
  const name = nameOf(peer);
  return (
    <tr>
      <td>
        <Link to={{ peer: name }}>
          <SafeText text={name} most={80} />
        </Link>
        {peer.problem && (
          <div class="quiet">
            <SafeText text={peer.problem} most={160} />
          </div>
        )}
      </td>
      <td>
        <Pill tone={state ? TONES[state] : "plain"}>
          {state ? t(state) : <SafeText text={peer.status} most={40} />}
        </Pill>
      </td>
      <td class="quiet wide">
        {peer.not_after && t("certificate", { when: distance(peer.not_after) })}
      </td>
      <td class="number">{t("leases", { n: leases })}</td>
    </tr>
  );
}

function Lists({ known, again }: { readonly known: Known; readonly again: () => void }) {
  const { peers, leases } = known;
  const others = leasesOfOthers(leases, peers);
  const open = peers.find((peer) => nameOf(peer) === place.value.get("peer"));
  return (
    <div class="stack">
      {peers.length === 0 && <EmptyState title={t("none")}>{t("none.why")}</EmptyState>}
      {peers.length > 0 && (
        <Card>
          <table>
            <caption class="unseen-caption">{t("count", { n: peers.length })}</caption>
            <tbody>
              {peers.map((peer) => (
                <Row
                  key={nameOf(peer)}
                  peer={peer}
                  leases={leasesOf(leases, nameOf(peer)).length}
                />
              ))}
            </tbody>
          </table>
        </Card>
      )}
      {others.length > 0 && (
        <Card title={t("leases.others")}>
          <Leases leases={others} again={again} />
        </Card>
      )}
      {open && (
        <PeerDrawer
          key={nameOf(open)}
          peer={open}
          leases={leasesOf(leases, nameOf(open))}
          again={again}
          onClose={() => go({ peer: "" })}
        />
      )}
    </div>
  );
}

/** Paired components and the rights that they have for a time. */
export default function Peers() {
  const poll = usePoll(read, EVERY_MS);
  const again = useCallback(() => void poll.again(), [poll]);
  return (
    <>
      <PageTitle name={shell("page.peers")} />
      <Loaded poll={poll}>{(known) => <Lists known={known} again={again} />}</Loaded>
    </>
  );
}
