#pragma once

#include "core/principal.hpp"
#include "trust/credential_cache.hpp"

#include <string>
#include <string_view>

namespace crab::trust {

/// The token of an `Authorization: Bearer <token>` field; empty for any other value.
std::string_view bearer_of(std::string_view authorization);

/// Where a request came from, as far as identity may follow from it; of no account when there is a token.
struct RequestPeer {
    bool loopback = false;
    std::string text;      ///< address, for `local/<addr>`
};

/// Who makes a request on the public listener: the bearer of its token, or on a listener that was configured open for
/// loopback `local/<address>`. A token that is present decides alone, even if it is bad. Used on the cache's event loop.
class RequestAuthentication {
public:
    RequestAuthentication(CredentialCache& credentials, bool open_loopback) : credentials_(credentials), open_loopback_(open_loopback) {}
    /// `token` empty: none came. Errors: kUnauthenticated.
    Result<Proven> authenticate(std::string_view token, const RequestPeer& peer) const;
    bool is_open_for(const RequestPeer& peer) const { return open_loopback_ && peer.loopback; }

private:
    CredentialCache& credentials_;
    const bool open_loopback_;
};

/// The operator behind the local admin socket.
core::PrincipalRef local_operator(unsigned uid);

}  // namespace crab::trust
