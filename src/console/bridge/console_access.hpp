#pragma once

#include "console/bridge/session_records.hpp"
#include "console/console_sessions.hpp"
#include "console/login_tries.hpp"
#include "console/one_time_codes.hpp"
#include "console/relay/session_access.hpp"
#include "net/http/http_request.hpp"
#include "net/http/routes.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace crab::console {

/// Routes of the console have no principal: who asks is the session.
using Routes = net::Routes<std::monostate>;

/// Decides about every request to the console at one origin: whether the page itself sends it, and
/// in which session; and serves the session's own routes below `/console/session`. Sessions are
/// opened by one-time codes. On one event loop.
class ConsoleAccess {
public:
    struct Options {
        std::string authority;  ///< of the origin, which is plain HTTP: `127.0.0.1:42619`
        std::string principal;  ///< whom sessions act for
        std::string version;    ///< of the program
        bool read_only = false;
        ConsoleSessions::Options sessions{};
    };
    /// The references outlive it.
    ConsoleAccess(const Clock& clock, crypto::RandomSource& random, SessionRecords& records,
                  Options options);

    /// A code for one session, and the address that brings it to the page in its fragment.
    Secret<std::string> open_link();
    /// Why a request is not the page's, by its head alone: a name that another site may have given
    /// to this address, another origin or site, a write that is no JSON. Nothing: it may be.
    std::optional<Error> refuse_source(const net::HttpRequest& request) const;
    SessionAccess& session() { return access_; }
    const std::string& origin() const { return origin_; }
    ConsoleSessions& sessions() { return sessions_; }
    void add_routes(Routes& routes);

private:
    using Request = Routes::Request;
    Task<void> sign_in(const Request& request);
    void sign_out(const Request& request);

    const Options options_;
    const std::string origin_;
    SessionRecords& records_;
    OneTimeCodes codes_;
    ConsoleSessions sessions_;
    SessionAccess access_;
    LoginTries tries_;
};

}  // namespace crab::console
