#pragma once

#include "console/door/passkeys.hpp"
#include "core/call/principal.hpp"
#include "json/element.hpp"
#include "net/http/routes.hpp"

#include <functional>
#include <optional>

namespace crab::console {

/// What an authenticator answered, from the object of a request's body: its members in base64url.
/// Errors: kInvalidArgs.
Result<trust::Assertion> read_assertion(json::Element passkey);

/// The routes with which people keep their passkeys, on one event loop.
class PasskeyRoutes {
public:
    /// What it uses; all of it outlives it.
    struct Uses {
        Passkeys& passkeys;
        const Clock& clock;
        /// Of a request, if its principal may still come in
        std::function<Result<ConsoleSession>(const net::HttpRequest&)> session_of;
        /// The page's own; nothing where it is not known to be
        std::function<std::optional<std::string>(const net::HttpRequest&)> origin_of;
        /// True: there were too many tries, and that was answered
        std::function<bool(net::HttpExchange&)> refuse_try;
    };
    explicit PasskeyRoutes(Uses uses) : uses_(std::move(uses)) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);
    /// The site of a request's page. Errors: kConflict where it is reached at an address, or at a
    /// port that nobody has said is the gateway's.
    Result<trust::WebauthnSite> site_of(const net::HttpRequest& request) const;

private:
    /// One whose key was proven just now. Errors: kUnauthenticated, kAuthRequired.
    Result<ConsoleSession> proven_session(const net::HttpRequest& request) const;
    Task<void> challenge(net::HttpExchange& exchange);
    Task<void> list(net::HttpExchange& exchange);
    Task<void> add(net::HttpExchange& exchange);
    Task<void> remove(net::HttpExchange& exchange, std::string key_id);

    const Uses uses_;
};

}  // namespace crab::console
