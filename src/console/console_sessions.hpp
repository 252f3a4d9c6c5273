#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "crypto/digest.hpp"
#include "crypto/random_source.hpp"

#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <string_view>
#include <vector>

namespace crab::console {

/// What one browser is to the console, from sign-in to sign-out.
struct ConsoleSession {
    std::uint64_t number = 0;  ///< for logs and audit records; opens nothing
    std::string principal;     ///< whom its requests act for
    SystemTime expires_at;     ///< whatever is done in it
};

/// The sessions of the console, in memory, as digests of their two halves. Not thread-safe.
class ConsoleSessions {
public:
    struct Options {
        Milliseconds idle = std::chrono::minutes(30);
        Milliseconds lifetime = std::chrono::hours(12);
        std::size_t max_sessions = 64;  ///< beyond it the one that was used longest ago ends
        Milliseconds ticket_lifetime = std::chrono::seconds(30);
        std::size_t max_tickets = 16;  ///< of one session; beyond it the oldest is good no more
    };
    /// A new session. The halves are told here and never again.
    struct Opened {
        Secret<std::string> cookie, key;
        ConsoleSession session;
    };

    enum class End : std::uint8_t { kSignedOut, kExpired, kCrowdedOut, kStopped };
    /// A session that is no more, for audit records and for what runs in it.
    struct Ended {
        std::uint64_t number = 0;
        End end = End::kSignedOut;
    };

    ConsoleSessions(const Clock& clock, crypto::RandomSource& random, Options options)
        : clock_(clock), random_(random), options_(options) {}

    Opened open(std::string principal);
    /// The session of both halves, which is now used. Errors: kUnauthenticated, the same for every
    /// cause.
    Result<ConsoleSession> find(std::string_view cookie, std::string_view key);
    /// Whether it goes on; does not count as use.
    bool is_alive(std::uint64_t number);
    /// For one WebSocket of that session; empty when it has ended.
    Secret<std::string> open_ticket(std::uint64_t number);
    /// The session of a cookie and one of its tickets, which is good no more. Errors: as find().
    Result<ConsoleSession> redeem_ticket(std::string_view cookie, std::string_view ticket);
    void end(std::uint64_t number);
    /// Ends all, because the console itself ends.
    void stop();
    /// Those that have ended since it was asked last; of many, the last few hundred.
    std::vector<Ended> take_ended();
    std::size_t size();

private:
    struct Ticket {
        crypto::Sha256Digest digest;
        SteadyTime expires_at;
    };
    struct Kept {
        crypto::Sha256Digest cookie, key;
        ConsoleSession session;
        SteadyTime used_at, opened_at;
        std::deque<Ticket> tickets;  // the oldest first
    };
    void drop_ended();
    void note(std::uint64_t number, End end);
    Kept* find_cookie(std::string_view cookie);
    Kept* find_number(std::uint64_t number);

    const Clock& clock_;
    crypto::RandomSource& random_;
    const Options options_;
    std::list<Kept> kept_;  // the one used last at the end
    std::vector<Ended> ended_;
    std::uint64_t last_number_ = 0;
};

}  // namespace crab::console
