#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "console/console_session.hpp"
#include "console/session_store.hpp"
#include "crypto/digest.hpp"
#include "crypto/random_source.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::console {

/// The sessions of the console, as digests of their two halves, in memory: whoever keeps them
/// longer restores them. Thread-safe.
class ConsoleSessions {
public:
    struct Options {
        Milliseconds idle = std::chrono::minutes(30);
        Milliseconds lifetime = std::chrono::hours(12);
        std::size_t max_sessions = 64;  ///< beyond it the one that was used longest ago ends
        /// The same among those of one principal, so that nobody crowds others out
        std::size_t max_per_principal = 64;
        Milliseconds ticket_lifetime = std::chrono::seconds(30);
        std::uint64_t numbers_after = 0;  ///< so that a process takes other numbers than the last
        std::size_t max_tickets = 16;  ///< of one session; beyond it the oldest is good no more
    };
    /// A new session. The halves are told here and never again.
    struct Opened {
        Secret<std::string> cookie, key;
        ConsoleSession session;
    };

    enum class End : std::uint8_t {
        kSignedOut,
        kExpired,
        kCrowdedOut,
        kStopped,
        kRevoked,  ///< what it was opened with is good no more
        kTurnedOff,  ///< the console lets its principal in no more
    };
    /// A session that is no more, for audit records and for what runs in it.
    struct Ended {
        std::uint64_t number = 0;
        End end = End::kSignedOut;
        std::string principal{};
    };

    ConsoleSessions(const Clock& clock, crypto::RandomSource& random, Options options)
        : clock_(clock), random_(random), options_(options), last_number_(options.numbers_after) {}

    /// For the principal, roles and credential of `wanted`; it ends by `wanted.expires_at` at the
    /// latest, if that says anything.
    Opened open(ConsoleSession wanted);
    /// The session of both halves, which is now used. Errors: kUnauthenticated, the same for every
    /// cause.
    Result<ConsoleSession> find(std::string_view cookie, std::string_view key);
    /// The session of that number; does not count as use.
    std::optional<ConsoleSession> find_open(std::uint64_t number);
    bool is_alive(std::uint64_t number) { return find_open(number).has_value(); }
    /// For one WebSocket of that session; empty when it has ended.
    Secret<std::string> open_ticket(std::uint64_t number);
    /// The session of a cookie and one of its tickets, which is no longer valid then. Errors: as
    /// find().
    Result<ConsoleSession> redeem_ticket(std::string_view cookie, std::string_view ticket);
    /// That key was proven in it, just now.
    void prove(std::uint64_t number, std::string_view key_id);
    /// What that key has proven counts no longer.
    void forget_proofs_of(std::string_view key_id);
    void end(std::uint64_t number, End why = End::kSignedOut);
    /// Ends those of which `is_it` says so; it must not come back here.
    void end_those(const std::function<bool(const ConsoleSession&)>& is_it, End why);
    /// Ends all, because the console itself ends.
    void stop();
    /// Those that have ended since it was asked last; of many, the last few hundred.
    std::vector<Ended> take_ended();
    std::size_t size();

    /// What a store keeps of that session; nothing when it has ended.
    std::optional<StoredSession> stored(std::uint64_t number);
    /// Those of a store, before any other. What is too old has ended.
    void restore(std::vector<StoredSession> sessions);
    /// Sessions that were used since it was asked last.
    std::vector<SessionUse> take_uses();

private:
    struct Ticket {
        crypto::Sha256Digest digest;
        SteadyTime expires_at;
    };
    struct Kept {
        crypto::Sha256Digest cookie, key;
        ConsoleSession session;
        SteadyTime used_at, opened_at;
        std::deque<Ticket> tickets{};  // the oldest first
        bool use_noted = true;  // nothing for take_uses()
    };
    // All of these with mutex_ held.
    void make_room(std::string_view principal);
    void drop_ended();
    void note(const ConsoleSession& session, End end);
    Kept* find_cookie(std::string_view cookie);
    Kept* find_number(std::uint64_t number);
    SystemTime used_at(const Kept& kept) const;

    const Clock& clock_;
    crypto::RandomSource& random_;
    const Options options_;
    std::mutex mutex_;
    std::list<Kept> kept_;  // the one used last at the end
    std::vector<Ended> ended_;
    std::uint64_t last_number_;
};

/// `signed_out`, for audit records.
std::string_view name_of(ConsoleSessions::End end);

}  // namespace crab::console
