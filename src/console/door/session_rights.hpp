#pragma once

#include "base/clock.hpp"
#include "console/console_session.hpp"
#include "net/http/route_table.hpp"

#include <optional>
#include <string_view>

namespace crab::console {

/// What a session may ask of the gateway through a console that is open to other machines.
class SessionRights {
public:
    static constexpr std::chrono::minutes kProofLasts{5};

    /// `gateway`, the routes behind the console, says what needs a fresh proof (Route::proof). It
    /// outlives this.
    explicit SessionRights(const net::RouteTable& gateway);
    /// Why not; nothing: it may. `path` is the gateway's, `/v1/…`. Errors: kForbidden for what is
    /// not for callers; kAuthRequired for what needs a key that was proven in this session within
    /// the last kProofLasts, because a stolen session does much harm with it: every change, unless
    /// the declaration of its route says otherwise.
    std::optional<Error> refuse(const ConsoleSession& session, std::string_view method,
                                std::string_view path, std::string_view body, SteadyTime now) const;
    /// Why a session has to prove a key or passkey first; nothing: it did, just now.
    static std::optional<Error> refuse_unproven(const ConsoleSession& session, SteadyTime now);
    /// The same as refuse() of a frame of the chat's WebSocket.
    std::optional<Error> refuse_frame(const ConsoleSession& session, std::string_view frame,
                                      SteadyTime now) const;

private:
    bool needs_proof(std::string_view method, std::string_view path, std::string_view body) const;

    const net::RouteTable& gateway_;
    net::RouteTable of_callers_;
};

}  // namespace crab::console
