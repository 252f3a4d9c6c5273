import { segment } from "../api";

export interface Peer {
  readonly component_type: string;
  readonly component_id: string;
  readonly endpoint: string;
  readonly mtls_cert_fingerprint: string;
  readonly paired_at: string;
  readonly last_seen_at?: string;
  readonly status: string;
  readonly role?: string;
  readonly tool_url?: string;
  readonly not_after?: string;
  readonly problem?: string;
}

export interface Lease {
  readonly lease_id: string;
  readonly owner_component_type: string;
  readonly owner_component_id: string;
  readonly tenant_id: string;
  readonly agent_id: string;
  readonly session_id: string;
  readonly capabilities_json: readonly string[];
  readonly disconnect_bound: boolean;
  readonly expires_at: string;
  readonly revoked_at?: string;
}

export const nameOf = ({ component_type, component_id }: Peer): string =>
  `${component_type}/${component_id}`;

export const pathOf = ({ component_type, component_id }: Peer): string =>
  `/v1/peers/${segment(component_type)}/${segment(component_id)}`;

const ownerOf = (lease: Lease): string =>
  `${lease.owner_component_type}/${lease.owner_component_id}`;

/** Leases that hold still, of one owner. */
export const leasesOf = (leases: readonly Lease[], owner: string): readonly Lease[] =>
  leases.filter((lease) => lease.revoked_at === undefined && ownerOf(lease) === owner);

/** Leases that hold still, of nobody in the list, such as those of operators. */
export const leasesOfOthers = (
  leases: readonly Lease[],
  peers: readonly Peer[],
): readonly Lease[] => {
  const known = new Set(peers.map(nameOf));
  return leases.filter((lease) => lease.revoked_at === undefined && !known.has(ownerOf(lease)));
};
