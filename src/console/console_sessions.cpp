#include "console/console_sessions.hpp"

#include "console/digest_of.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace crab::console {
namespace {

constexpr std::size_t kMostEnded = 512;  ///< that nobody has asked about yet

std::unexpected<Error> signed_out() {
    return fail(ErrorCode::kUnauthenticated, "not signed in, or no longer; open a new link");
}

}  // namespace

std::string_view name_of(ConsoleSessions::End end) {
    switch (end) {
        case ConsoleSessions::End::kSignedOut: return "signed_out";
        case ConsoleSessions::End::kExpired: return "expired";
        case ConsoleSessions::End::kCrowdedOut: return "crowded_out";
        case ConsoleSessions::End::kStopped: return "stopped";
        case ConsoleSessions::End::kRevoked: return "revoked";
        case ConsoleSessions::End::kTurnedOff: return "turned_off";
    }
    return "stopped";
}

ConsoleSessions::Opened ConsoleSessions::open(ConsoleSession wanted) {
    const std::scoped_lock lock(mutex_);
    drop_ended();
    make_room(wanted.principal);
    const SystemTime latest = clock_.system_now() + options_.lifetime;
    wanted.number = ++last_number_;
    wanted.expires_at =
        wanted.expires_at == SystemTime{} ? latest : std::min(latest, wanted.expires_at);
    Opened opened{
        .cookie = draw_secret(random_), .key = draw_secret(random_), .session = std::move(wanted)};
    const SteadyTime now = clock_.steady_now();
    kept_.push_back({.cookie = crypto::sha256(opened.cookie.reveal()),
                     .key = crypto::sha256(opened.key.reveal()),
                     .session = opened.session,
                     .used_at = now,
                     .opened_at = now});
    return opened;
}

void ConsoleSessions::make_room(std::string_view principal) {
    const auto end_oldest = [&](const auto& is_it) {
        const auto oldest = std::ranges::find_if(kept_, is_it);
        note(oldest->session, End::kCrowdedOut);
        kept_.erase(oldest);
    };
    const auto is_its = [&](const Kept& kept) { return kept.session.principal == principal; };
    const auto its = std::ranges::count_if(kept_, is_its);
    if (static_cast<std::size_t>(its) >= options_.max_per_principal) end_oldest(is_its);
    if (kept_.size() >= options_.max_sessions) end_oldest([](const Kept&) { return true; });
}

Result<ConsoleSession> ConsoleSessions::find(std::string_view cookie, std::string_view key) {
    const std::scoped_lock lock(mutex_);
    Kept* const kept = find_cookie(cookie);
    if (!kept || !is_digest_of(kept->key, key)) return signed_out();
    kept->used_at = clock_.steady_now();
    kept->use_noted = false;
    const auto place = std::ranges::find_if(kept_, [&](Kept& each) { return &each == kept; });
    kept_.splice(kept_.end(), kept_, place);
    return kept->session;
}

std::optional<ConsoleSession> ConsoleSessions::find_open(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    const Kept* const kept = find_number(number);
    return kept == nullptr ? std::nullopt : std::optional(kept->session);
}

Secret<std::string> ConsoleSessions::open_ticket(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    Kept* const kept = find_number(number);
    if (!kept) return {};
    if (kept->tickets.size() >= options_.max_tickets) kept->tickets.pop_front();
    Secret<std::string> ticket = draw_secret(random_);
    kept->tickets.push_back(
        {crypto::sha256(ticket.reveal()), clock_.steady_now() + options_.ticket_lifetime});
    return ticket;
}

Result<ConsoleSession> ConsoleSessions::redeem_ticket(std::string_view cookie,
                                                      std::string_view ticket) {
    const std::scoped_lock lock(mutex_);
    Kept* const kept = find_cookie(cookie);
    if (!kept) return signed_out();
    const SteadyTime now = clock_.steady_now();
    std::erase_if(kept->tickets, [&](const Ticket& each) { return each.expires_at <= now; });
    const auto found = std::ranges::find_if(
        kept->tickets, [&](const Ticket& each) { return is_digest_of(each.digest, ticket); });
    if (found == kept->tickets.end()) return signed_out();
    kept->tickets.erase(found);
    return kept->session;
}

void ConsoleSessions::prove(std::uint64_t number, std::string_view key_id) {
    const std::scoped_lock lock(mutex_);
    Kept* const kept = find_number(number);
    if (kept == nullptr) return;
    kept->session.proven_at = clock_.steady_now();
    kept->session.proven_by = key_id;
}

void ConsoleSessions::forget_proofs_of(std::string_view key_id) {
    const std::scoped_lock lock(mutex_);
    for (Kept& kept : kept_)
        if (kept.session.proven_by == key_id) kept.session.proven_at.reset();
}

void ConsoleSessions::end(std::uint64_t number, End why) {
    end_those([&](const ConsoleSession& session) { return session.number == number; }, why);
}

void ConsoleSessions::end_those(const std::function<bool(const ConsoleSession&)>& is_it, End why) {
    const std::scoped_lock lock(mutex_);
    drop_ended();
    kept_.remove_if([&](const Kept& kept) {
        const bool ends = is_it(kept.session);
        if (ends) note(kept.session, why);
        return ends;
    });
}

void ConsoleSessions::stop() {
    end_those([](const ConsoleSession&) { return true; }, End::kStopped);
}

std::vector<ConsoleSessions::Ended> ConsoleSessions::take_ended() {
    const std::scoped_lock lock(mutex_);
    drop_ended();
    return std::exchange(ended_, {});
}

void ConsoleSessions::note(const ConsoleSession& session, End end) {
    if (ended_.size() >= kMostEnded) ended_.erase(ended_.begin());
    ended_.push_back({session.number, end, session.principal});
}

std::size_t ConsoleSessions::size() {
    const std::scoped_lock lock(mutex_);
    drop_ended();
    return kept_.size();
}

std::optional<StoredSession> ConsoleSessions::stored(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    const Kept* const kept = find_number(number);
    if (!kept) return std::nullopt;
    return StoredSession{kept->cookie, kept->key, kept->session, used_at(*kept)};
}

void ConsoleSessions::restore(std::vector<StoredSession> sessions) {
    const std::scoped_lock lock(mutex_);
    const SystemTime now = clock_.system_now();
    const SteadyTime steady_now = clock_.steady_now();
    std::ranges::sort(sessions, {}, &StoredSession::used_at);
    for (StoredSession& each : sessions) {
        last_number_ = std::max(last_number_, each.session.number);
        // A clock that was set back makes nothing younger than now.
        const SystemTime opened = each.session.expires_at - options_.lifetime;
        kept_.push_back(
            {.cookie = each.cookie,
             .key = each.key,
             .session = std::move(each.session),
             .used_at = steady_now - std::max(SystemTime::duration{}, now - each.used_at),
             .opened_at = steady_now - std::max(SystemTime::duration{}, now - opened)});
    }
}

std::vector<SessionUse> ConsoleSessions::take_uses() {
    const std::scoped_lock lock(mutex_);
    std::vector<SessionUse> uses;
    for (Kept& kept : kept_) {
        if (!std::exchange(kept.use_noted, true))
            uses.push_back({kept.session.number, used_at(kept)});
    }
    return uses;
}

SystemTime ConsoleSessions::used_at(const Kept& kept) const {
    const auto ago = clock_.steady_now() - kept.used_at;
    return clock_.system_now() - std::chrono::duration_cast<SystemTime::duration>(ago);
}

void ConsoleSessions::drop_ended() {
    const SteadyTime now = clock_.steady_now();
    // The steady clock stands still while a machine sleeps, and people set the other one: a session
    // is over when either says so.
    const SystemTime system_now = clock_.system_now();
    kept_.remove_if([&](const Kept& kept) {
        const bool over = now >= kept.used_at + options_.idle ||
                          now >= kept.opened_at + options_.lifetime ||
                          system_now >= kept.session.expires_at;
        if (over) note(kept.session, End::kExpired);
        return over;
    });
}

ConsoleSessions::Kept* ConsoleSessions::find_cookie(std::string_view cookie) {
    drop_ended();
    if (cookie.size() > kMostSecretBytes) return nullptr;
    const crypto::Sha256Digest digest = crypto::sha256(cookie);
    const auto found = std::ranges::find_if(
        kept_, [&](const Kept& kept) { return crypto::constant_time_equal(kept.cookie, digest); });
    return found == kept_.end() ? nullptr : &*found;
}

ConsoleSessions::Kept* ConsoleSessions::find_number(std::uint64_t number) {
    drop_ended();
    const auto found = std::ranges::find_if(
        kept_, [&](const Kept& kept) { return kept.session.number == number; });
    return found == kept_.end() ? nullptr : &*found;
}

}  // namespace crab::console
