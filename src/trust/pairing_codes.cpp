#include "trust/pairing_codes.hpp"

#include "crypto/digest.hpp"
#include "crypto/random.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace crab::trust {
namespace {

constexpr std::uint64_t kCodes = 1'000'000'000'000;  // twelve digits: 40 bits
constexpr std::size_t kIdBytes = 8;
constexpr auto kTriesCounted = std::chrono::minutes(1);

std::string digits_of(std::string_view code) {
    std::string digits;
    for (const char c : code) {
        if (c != '-' && c != ' ') digits += c;
    }
    return digits;
}

IssueRequest request_for(const PairingOffer& offer) {
    return {.name = offer.name,
            .roles = offer.roles,
            .tenants = offer.tenants,
            .lifetime = offer.lifetime,
            .device = offer.device};
}

std::unexpected<Error> limited(const char* message, SteadyTime::duration wait) {
    Error error{.code = ErrorCode::kRateLimited, .message = message};
    error.retry_after = std::chrono::ceil<Milliseconds>(wait);
    return fail(std::move(error));
}

}  // namespace

Result<DeviceCode> PairingCodes::open(PairingOffer offer) {
    if (offer.name.empty()) offer.name = "Device";
    if (auto good = tokens_.check(request_for(offer)); !good) return fail(std::move(good.error()));
    const SteadyTime now = clock_.steady_now();
    const std::scoped_lock lock(mutex_);
    drop_dead_codes(now);
    if (open_.size() >= options_.max_open)
        return limited("too many pairing codes are open: use one or wait until one expires",
                       open_.front().expires_at - now);
    const std::string digits = fmt::format("{:012}", crypto::random_below(kCodes));
    const std::string id = crypto::random_hex(kIdBytes);
    open_.push_back({.id = id,
                     .digits = digits,
                     .offer = std::move(offer),
                     .expires_at = now + options_.lifetime});
    recent_.push_back({.id = id, .state = "open", .device = {}});
    if (recent_.size() > kRemembered) recent_.pop_front();
    return DeviceCode{
        .id = id,
        .code = Secret(digits.substr(0, 4) + '-' + digits.substr(4, 4) + '-' + digits.substr(8)),
        .expires_at = clock_.system_now() + options_.lifetime};
}

Result<void> PairingCodes::end(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    drop_dead_codes(clock_.steady_now());
    if (std::erase_if(open_, [&](const Open& open) { return open.id == id; }) == 0)
        return fail(ErrorCode::kNotFound,
                    "no pairing with this id is open: it was used, has expired, or was ended");
    note(id, "ended");
    return {};
}

Result<void> PairingCodes::vouch(std::string_view code, std::string public_key) {
    const std::scoped_lock lock(mutex_);
    drop_dead_codes(clock_.steady_now());
    const auto match = find(code);
    if (match == open_.end() || !match->offer.roles.has(core::Role::kDevice))
        return fail(ErrorCode::kNotFound, "no device's pairing code is open that is this one");
    match->vouched_key = std::move(public_key);
    return {};
}

Result<IssuedToken> PairingCodes::redeem(std::string_view code, std::string_view remote_address,
                                         std::string public_key) {
    auto taken = take(code, remote_address);
    if (!taken) return fail(std::move(taken.error()));
    const PairingOffer& offer = taken->offer;
    IssueRequest request = request_for(offer);
    request.public_key = std::move(public_key);
    // A person's key is for signing in to the console.
    request.for_console = !request.public_key.empty() && !offer.roles.has(core::Role::kDevice);
    if (!request.public_key.empty() && request.public_key == taken->vouched_key)
        request.roles.add(core::Role::kTrustedDevice);
    auto issued = tokens_.issue(request);
    const std::scoped_lock lock(mutex_);
    if (issued)
        note(taken->id, "paired", issued->slug);
    else
        open_.push_back(std::move(*taken));  // the code stays valid for another try
    return issued;
}

std::vector<PairingProgress> PairingCodes::recent() {
    const std::scoped_lock lock(mutex_);
    drop_dead_codes(clock_.steady_now());
    return {recent_.begin(), recent_.end()};
}

void PairingCodes::note(std::string_view id, std::string_view state, std::string_view device) {
    const auto found = std::ranges::find(recent_, id, &PairingProgress::id);
    if (found == recent_.end()) return;
    found->state = state;
    found->device = device;
}

/// Removes the code that matches, so that nobody else can redeem it meanwhile.
Result<PairingCodes::Open> PairingCodes::take(std::string_view code,
                                              std::string_view remote_address) {
    const SteadyTime now = clock_.steady_now();
    const std::scoped_lock lock(mutex_);
    if (auto counted = count_try(remote_address, now); !counted)
        return fail(std::move(counted.error()));
    drop_dead_codes(now);
    if (open_.empty())
        return fail(ErrorCode::kNotFound,
                    "no pairing code is open: ask the operator for one (`crab devices pair`)");
    const auto match = find(code);
    if (match == open_.end()) {
        for (Open& open : open_) ++open.wrong_tries;
        return fail(ErrorCode::kForbidden,
                    "the pairing code is wrong: compare it, or ask the operator for a new one");
    }
    Open taken = std::move(*match);
    open_.erase(match);
    return taken;
}

std::vector<PairingCodes::Open>::iterator PairingCodes::find(std::string_view code) {
    const std::string digits = digits_of(code);
    auto match = open_.end();
    // compare all codes, for constant time
    for (auto it = open_.begin(); it != open_.end(); ++it) {
        if (crypto::constant_time_equal(it->digits, digits)) match = it;
    }
    return match;
}

Result<void> PairingCodes::count_try(std::string_view remote_address, SteadyTime now) {
    if (tries_.size() >= options_.max_addresses) {
        std::erase_if(
            tries_, [&](const auto& entry) { return entry.second.back() <= now - kTriesCounted; });
    }
    const std::string address(remote_address);
    const auto found = tries_.find(address);
    if (found == tries_.end() && tries_.size() >= options_.max_addresses) {
        return limited("too many addresses try to pair: wait a minute", kTriesCounted);
    }
    std::deque<SteadyTime>& tries = found == tries_.end() ? tries_[address] : found->second;
    while (!tries.empty() && tries.front() <= now - kTriesCounted) tries.pop_front();
    if (tries.size() >= static_cast<std::size_t>(options_.tries_per_minute)) {
        return limited("too many tries to pair from this address: wait",
                       tries.front() + kTriesCounted - now);
    }
    tries.push_back(now);
    return {};
}

void PairingCodes::drop_dead_codes(SteadyTime now) {
    std::erase_if(open_, [&](const Open& open) {
        const bool expired = open.expires_at <= now;
        if (!expired && open.wrong_tries < options_.wrong_tries) return false;
        note(open.id, expired ? "expired" : "ended");
        return true;
    });
}

}  // namespace crab::trust
