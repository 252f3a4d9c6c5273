#pragma once

#include "core/call/principal.hpp"
#include "trust/credential_cache.hpp"
#include "trust/refused_credentials.hpp"

#include <concepts>
#include <string>
#include <string_view>

namespace crab::trust {

/// The token of an `Authorization: Bearer <token>` field; empty for any other value.
std::string_view bearer_of(std::string_view authorization);

/// Where a request came from, as far as identity may follow from it; of no account when there is a
/// token.
struct RequestPeer {
    bool loopback = false;
    std::string text;      ///< address, for `local/<addr>`
};

/// Authenticates requests on the public listener: by bearer token, or on a listener configured open
/// for loopback as `local/<address>`. An invalid token is refused even then. Used on the cache's
/// event loop.
class RequestAuthentication {
public:
    RequestAuthentication(CredentialCache& credentials, bool open_loopback,
                          Entrance entrance = Entrance::kPublic)
        : credentials_(credentials), open_loopback_(open_loopback), entrance_(entrance) {}
    /// `token` empty: none came. `peer()` is asked only where it matters: its text is not made for
    /// each good token. A bad token is logged with where it came from. Errors: kUnauthenticated.
    template <std::invocable Peer>
    Result<Proven> authenticate(std::string_view token, const Peer& peer) const {
        auto proven = prove(token, peer);
        if (!proven && !token.empty())
            log_refused_credential("bearer token", peer().text, proven.error().message, entrance_);
        return proven;
    }
    /// The same for a question that comes before the request is answered, which logs it then:
    /// nothing is logged here.
    template <std::invocable Peer>
    Result<Proven> prove(std::string_view token, const Peer& peer) const {
        return token.empty() ? without_token(peer()) : credentials_.find(token);
    }
    bool is_open_for(const RequestPeer& peer) const { return open_loopback_ && peer.loopback; }

private:
    Result<Proven> without_token(const RequestPeer& peer) const;

    CredentialCache& credentials_;
    const bool open_loopback_;
    const Entrance entrance_;
};

/// The operator behind the local admin socket.
core::PrincipalRef local_operator(unsigned uid);

}  // namespace crab::trust
