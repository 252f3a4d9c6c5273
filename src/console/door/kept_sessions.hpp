#pragma once

#include "base/task/blocking_pool.hpp"
#include "console/console_sessions.hpp"
#include "console/login_tries.hpp"
#include "console/session_store.hpp"
#include "net/loop/peer_address.hpp"
#include "trust/tokens.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace crab::console {

/// Whom the console on the public listener lets in.
enum class DoorMode : std::uint8_t {
    kOff,        ///< there is no such path
    kOperators,  ///< whose credential has the role operator or cli_admin
    kPeople,     ///< those with the role caller too, for Chat
};

/// The sessions of the console on the public listener: each acts for the principal of a token or
/// key, ends with that, and outlives a restart. Thread-safe.
class KeptSessions {
public:
    /// What became of a session, for the audit log.
    struct Change {
        std::string_view kind;  ///< `console.session.opened`, `.ended`, `.refused`
        std::string principal;
        std::uint64_t session = 0;
        std::string_view why;
    };
    /// What it uses; all of it outlives it.
    struct Uses {
        const Clock& clock;
        crypto::RandomSource& random;
        trust::Tokens& tokens;
        std::shared_ptr<SessionStore> store;
        BlockingPool& pool;
        /// Any thread, does not block. False: it is not recorded.
        std::function<bool(const Change&)> record;
        /// Sessions may have ended in whose name something runs. Any thread, only posts.
        std::function<void()> ended;
    };
    explicit KeptSessions(Uses uses);

    /// Restores the sessions of the store whose credential is still good; blocks. Errors: those of
    /// the store.
    Result<void> load();
    DoorMode mode() const { return mode_; }
    /// Ends the sessions of those whom it lets in no more.
    void set_mode(DoorMode mode);
    bool lets_in(core::Roles roles) const;

    /// Limits tries to sign in, and to prove a key, by network; of a proxy that passes requests on,
    /// by whom it passes them on for, and all of them together. Errors: kRateLimited.
    Result<void> count_try(const net::PeerAddress& peer, std::string_view passed_on_for);
    void note_refused();
    /// Whose bearer token that is. Errors: those of Tokens::prove().
    Result<trust::Proven> prove_token(std::string_view token) const;
    /// A session for whom a credential has proven; recorded and stored before it is answered.
    /// `by_key`: with a key, just now. Errors: kForbidden for a role that is not let in;
    /// kUnavailable when it cannot be recorded or stored; kUnauthenticated for a credential that
    /// was revoked meanwhile.
    Task<Result<ConsoleSessions::Opened>> open(trust::Proven proven, bool by_key);
    /// That key of its principal was proven in it, just now; it counts until the key is revoked.
    void prove(std::uint64_t number, std::string_view key_id);
    /// Ends it, in the store too before this returns. Errors: those of the store; then it may come
    /// back with a restart.
    Task<Result<void>> sign_out(std::uint64_t number);
    ConsoleSessions& sessions() { return sessions_; }
    /// The principal that a session acts for, while its credential is good and has its roles.
    /// Errors: kUnauthenticated.
    Result<core::PrincipalRef> principal_of(const ConsoleSession& session) const;

    /// What a request of this session says to the gateway's own admin socket, which nobody else can
    /// say.
    std::string acting(std::uint64_t number) const;
    /// Whom that is; null when it is not of this process, or the session has ended.
    core::PrincipalRef find_acting(std::string_view text);

    /// Every second, on one thread: records what has ended, and has the store forget it.
    void look();
    /// Stores when sessions were used last; blocks.
    void flush();

private:
    bool is_good(const ConsoleSession& session) const;

    const Uses uses_;
    const std::array<std::uint8_t, 32> secret_;  ///< of acting(); of this process
    std::atomic<DoorMode> mode_ = DoorMode::kOff;
    ConsoleSessions sessions_;
    std::mutex tries_mutex_;
    LoginTries tries_;
};

}  // namespace crab::console
