#include "gateway/fleet/fleet_trust.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <utility>

namespace crab::gateway {
namespace {

constexpr std::chrono::seconds kLookForRevocations{1};
/// Of those who hint one after the other
constexpr Milliseconds kGather{20};

}  // namespace

FleetTrust::FleetTrust(Uses uses, std::vector<Watched> others)
    : uses_(std::move(uses)),
      watched_(std::move(others)),
      pause_(uses_.loop.timers()),
      known_at_(uses_.loop.clock().steady_now()) {
    trust::Tokens& tokens = uses_.tokens;
    trust::PairingCodes& codes = uses_.codes;
    watched_.push_back({"token", [&tokens] { return tokens.refresh(); }});
    watched_.push_back({"session", [&tokens] { return tokens.refresh_sessions(); }});
    watched_.push_back({"code", [&codes] { return codes.refresh(); }});
    tokens.on_revoked([this](const std::string& credential) { revoked(credential); });
}

Task<void> FleetTrust::run() {
    const TaskChain& chain = co_await this_chain();
    const Clock& clock = uses_.loop.clock();
    Waiter gather(uses_.loop.timers());
    while (!chain.cancelled()) {
        say_hint();
        auto numbers = co_await uses_.pool.run([this, seen = seen_] { return look(seen); });
        judge(numbers.has_value());
        if (numbers) seen_ = std::move(*numbers);
        if (!numbers && !failing_)
            log::warn("what other gateways have granted and revoked was not read",
                      {{"reason", numbers.error().message}});
        failing_ = !numbers;
        if (co_await pause_.wait(clock.steady_now() + kLookForRevocations) == WaitEnd::kWoken)
            co_await gather.wait(clock.steady_now() + kGather);
    }
}

/// On a pool thread.
Result<FleetTrust::Numbers> FleetTrust::look(const Numbers& seen) const {
    auto numbers = uses_.changes.read();
    if (!numbers) return numbers;
    const auto has_changed = [&](std::string_view what) {
        const auto now = numbers->find(what);
        const auto before = seen.find(what);
        return now != numbers->end() && (before == seen.end() || before->second != now->second);
    };
    for (const Watched& each : watched_) {
        if (!has_changed(each.what)) continue;
        if (auto read = each.refresh(); !read) return fail(std::move(read.error()));
    }
    // They expire without a change.
    const auto is_open = [](const trust::PairingProgress& code) { return code.state == "open"; };
    if (std::ranges::any_of(uses_.codes.recent(), is_open))
        if (auto read = uses_.codes.refresh(); !read) return fail(std::move(read.error()));
    return numbers;
}

void FleetTrust::judge(bool has_looked) {
    const SteadyTime now = uses_.loop.clock().steady_now();
    // Who hears others is told whom they have seen revoked.
    if (has_looked || uses_.hears_others()) known_at_ = now;
    const bool cut_off = now - known_at_ > uses_.stale;
    if (cut_off == uses_.tokens.is_cut_off()) return;
    uses_.tokens.set_cut_off(cut_off);
    if (cut_off)
        log::error("cut off from the database and from other nodes for too long: nothing is served",
                   {{"trust_stale_ms", uses_.stale.count()}});
    else
        log::info("no longer cut off from the fleet", {});
}

void FleetTrust::say_hint() {
    const SteadyTime now = uses_.loop.clock().steady_now();
    // Who hears nothing for longer than that believes nobody.
    const auto repeated = uses_.stale + 2 * kLookForRevocations;
    fleet::Hint hint;
    {
        const std::scoped_lock lock(mutex_);
        while (!revoked_.empty() && (revoked_.front().second + repeated < now ||
                                     revoked_.size() > fleet::Hint::kMostRevoked))
            revoked_.pop_front();
        for (const auto& [id, at] : revoked_) hint.revoked.push_back(id);
    }
    if (has_changed_.exchange(false) || !hint.revoked.empty()) uses_.say(hint);
}

void FleetTrust::on_hint(std::string_view body) {
    const auto hint = fleet::parse_hint(body);
    if (!hint) return;
    uses_.tokens.take_revoked(hint->revoked);
    pause_.wake();
}

void FleetTrust::revoked(const std::string& credential) {
    {
        const std::scoped_lock lock(mutex_);
        revoked_.emplace_back(credential, uses_.loop.clock().steady_now());
    }
    wake();
}

void FleetTrust::changed_here() {
    has_changed_ = true;
    wake();
}

void FleetTrust::wake() {
    uses_.loop.post([this] { pause_.wake(); });
}

}  // namespace crab::gateway
