#pragma once

#include "base/hash.hpp"
#include "core/principal.hpp"
#include "net/peer_address.hpp"
#include "trust/request_authentication.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::app {

/// Who makes a request of one event loop's listener. Remembers good credentials for as long as no token changes, so that a
/// known caller costs one look-up.
class CallerIdentity {
public:
    CallerIdentity(trust::Tokens& tokens, bool open_loopback) : tokens_(tokens), authentication_(tokens, open_loopback) {}
    /// `authorization` is the field's value, empty when there is none. Errors: kUnauthenticated.
    Result<core::PrincipalRef> find(std::string_view authorization, const net::PeerAddress& peer);

private:
    struct Known {
        core::PrincipalRef principal;
        std::optional<SystemTime> expires_at;
    };
    trust::Tokens& tokens_;
    trust::RequestAuthentication authentication_;
    std::unordered_map<std::string, Known, TextHash, std::equal_to<>> known_;   ///< good Authorization fields of this epoch
    std::uint64_t known_epoch_ = 0;
};

}  // namespace crab::app
