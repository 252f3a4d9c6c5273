#pragma once

#include "trust/pairing/pairing_store.hpp"

#include <string_view>
#include <vector>

namespace crab::trust {

/// All operations on peers, for the operator's routes and the daily check. Same guarantees as
/// PairingStore. Source: docs/protocols/rtp.md, sections 6 and 7.
class PeerStore : public PairingStore {
public:
    /// Sorted by name, in text form.
    virtual Result<std::vector<PeerRecord>> list_peers() = 0;
    /// Puts a peer aside, or uses it again. Errors: kNotFound; kConflict when the peer is pending
    /// or revoked, when `status` is, and when another peer is active at its endpoint.
    virtual Result<PeerRecord> set_status(const PeerName& name, PeerStatus status) = 0;
    /// Errors: kNotFound.
    virtual Result<PeerRecord> set_tool_url(const PeerName& name, std::string_view url) = 0;
    /// For good: the record becomes revoked, and so do all certificates of the name that were
    /// issued or current. Revoking twice changes nothing. Errors: kNotFound.
    virtual Result<PeerRecord> revoke(const PeerName& name, std::string_view reason,
                                      SystemTime at) = 0;
    /// The peer proved itself at `at`; an unknown name changes nothing.
    virtual Result<void> record_seen(const PeerName& name, SystemTime at) = 0;
};

}  // namespace crab::trust
