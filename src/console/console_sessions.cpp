#include "console/console_sessions.hpp"

#include "console/digest_of.hpp"

#include <algorithm>
#include <utility>

namespace crab::console {
namespace {

constexpr std::size_t kMostEnded = 256;  ///< that nobody has asked about yet

std::unexpected<Error> signed_out() {
    return fail(ErrorCode::kUnauthenticated, "not signed in, or no longer; open a new link");
}

}  // namespace

ConsoleSessions::Opened ConsoleSessions::open(std::string principal) {
    drop_ended();
    if (kept_.size() >= options_.max_sessions) {
        note(kept_.front().session.number, End::kCrowdedOut);
        kept_.pop_front();
    }
    Opened opened{.cookie = draw_secret(random_),
                  .key = draw_secret(random_),
                  .session = {.number = ++last_number_,
                              .principal = std::move(principal),
                              .expires_at = clock_.system_now() + options_.lifetime}};
    const SteadyTime now = clock_.steady_now();
    kept_.push_back({.cookie = crypto::sha256(opened.cookie.reveal()),
                     .key = crypto::sha256(opened.key.reveal()),
                     .session = opened.session,
                     .used_at = now,
                     .opened_at = now,
                     .tickets = {}});
    return opened;
}

Result<ConsoleSession> ConsoleSessions::find(std::string_view cookie, std::string_view key) {
    Kept* const kept = find_cookie(cookie);
    if (!kept || !is_digest_of(kept->key, key)) return signed_out();
    kept->used_at = clock_.steady_now();
    const auto place = std::ranges::find_if(kept_, [&](Kept& each) { return &each == kept; });
    kept_.splice(kept_.end(), kept_, place);
    return kept->session;
}

bool ConsoleSessions::is_alive(std::uint64_t number) { return find_number(number) != nullptr; }

Secret<std::string> ConsoleSessions::open_ticket(std::uint64_t number) {
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

void ConsoleSessions::end(std::uint64_t number) {
    if (find_number(number) == nullptr) return;
    kept_.remove_if([&](const Kept& kept) { return kept.session.number == number; });
    note(number, End::kSignedOut);
}

void ConsoleSessions::stop() {
    drop_ended();
    for (const Kept& kept : kept_) note(kept.session.number, End::kStopped);
    kept_.clear();
}

std::vector<ConsoleSessions::Ended> ConsoleSessions::take_ended() {
    drop_ended();
    return std::exchange(ended_, {});
}

void ConsoleSessions::note(std::uint64_t number, End end) {
    if (ended_.size() >= kMostEnded) ended_.erase(ended_.begin());
    ended_.push_back({number, end});
}

std::size_t ConsoleSessions::size() {
    drop_ended();
    return kept_.size();
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
        if (over) note(kept.session.number, End::kExpired);
        return over;
    });
}

ConsoleSessions::Kept* ConsoleSessions::find_cookie(std::string_view cookie) {
    drop_ended();
    const auto found = std::ranges::find_if(
        kept_, [&](const Kept& kept) { return is_digest_of(kept.cookie, cookie); });
    return found == kept_.end() ? nullptr : &*found;
}

ConsoleSessions::Kept* ConsoleSessions::find_number(std::uint64_t number) {
    drop_ended();
    const auto found = std::ranges::find_if(
        kept_, [&](const Kept& kept) { return kept.session.number == number; });
    return found == kept_.end() ? nullptr : &*found;
}

}  // namespace crab::console
