#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "crypto/certificate.hpp"
#include "trust/pairing/peer_record.hpp"

#include <string>

namespace crab::trust {

/// Why a peer that is not active is not used, and the step that helps.
std::string not_active(const PeerRecord& peer);

/// Whom a certificate names: its one URI, and nothing of another kind that we do not know. Errors:
/// kForbidden.
Result<PeerName> peer_name_in(const crypto::Certificate& certificate);

/// Whether a connection that showed `leaf` is that of `peer`, whichever side dialled: chain to the
/// pairing authority `ca`, in time, named as the peer, the record active, the certificate its pin.
/// Asked before the first byte of a request is sent or a body is read. Errors: kUnauthenticated for
/// chain and time; kPairingRequired for a record that is not active; kForbidden for the rest.
/// Source: docs/protocols/rtp.md, sections 4 and 6.
Result<void> check_peer(const PeerRecord& peer, const crypto::Certificate& leaf,
                        const crypto::Certificate& ca, SystemTime now);

}  // namespace crab::trust
