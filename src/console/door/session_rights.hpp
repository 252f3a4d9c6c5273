#pragma once

#include "base/clock.hpp"
#include "console/console_session.hpp"
#include "net/http/route_table.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace crab::console {

/// What a session may ask of the gateway through a console that is open to other machines.
class SessionRights {
public:
    static constexpr std::chrono::minutes kProofLasts{5};

    SessionRights();
    /// Why not; nothing: it may. `path` is the gateway's, `/v1/…`. Errors: kForbidden for what is
    /// not for callers; kAuthRequired for what needs a key that was proven in this session within
    /// the last kProofLasts, because a stolen session does much harm with it: credentials of
    /// operators and peers, revocations, lasting approvals, reloads, MCP servers.
    std::optional<Error> refuse(const ConsoleSession& session, std::string_view method,
                                std::string_view path, std::string_view body, SteadyTime now) const;
    /// Why a session has to prove a key or passkey first; nothing: it did, just now.
    static std::optional<Error> refuse_unproven(const ConsoleSession& session, SteadyTime now);
    /// The same as refuse() of a frame of the chat's WebSocket.
    std::optional<Error> refuse_frame(const ConsoleSession& session, std::string_view frame,
                                      SteadyTime now) const;

private:
    enum class Weight : std::uint8_t {
        kAlways,
        kOperatorRole,  ///< when the body may speak of an operator's role
        kForEver,  ///< when the body may speak of a decision for ever
    };
    void add(net::RouteTable& table, net::Method method, std::string_view path);
    void add_heavy(net::Method method, std::string_view path, Weight weight);
    bool is_heavy(std::string_view method, std::string_view path, std::string_view body) const;

    net::RouteTable of_callers_;
    net::RouteTable heavy_;
    std::vector<Weight> weights_;  ///< of heavy_, by index
};

}  // namespace crab::console
