#include "core/call/effective_policy.hpp"

#include "base/doubling_delay.hpp"
#include "core/call/call.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr Milliseconds kLinearStep{250};
constexpr Milliseconds kConstantWait{500};
constexpr Milliseconds kLongestWait{2'000};
constexpr DoublingDelay kExponential{.first = Milliseconds(50), .longest = kLongestWait};

template <class T>
using Words = std::span<const std::pair<std::string_view, T>>;

constexpr std::array<std::pair<std::string_view, Network>, 8> kNetworks{
    {{"deny_all", Network::kDenyAll},
     {"egress_restricted", Network::kEgressRestricted},
     {"egress_unrestricted", Network::kEgressUnrestricted},
     {"full_access", Network::kFullAccess},
     {"none", Network::kDenyAll},
     {"restricted", Network::kEgressRestricted},
     {"unrestricted", Network::kEgressUnrestricted},
     {"full", Network::kFullAccess}}};
constexpr std::array<std::pair<std::string_view, Privilege>, 4> kPrivileges{
    {{"minimal", Privilege::kMinimal},
     {"default", Privilege::kDefault},
     {"elevated", Privilege::kElevated},
     {"privileged", Privilege::kPrivileged}}};
constexpr std::array<std::pair<std::string_view, Backoff>, 5> kBackoffs{
    {{"none", Backoff::kNone},
     {"exponential", Backoff::kExponential},
     {"linear", Backoff::kLinear},
     {"constant", Backoff::kConstant},
     {"fixed", Backoff::kConstant}}};

template <class T>
std::optional<T> find_word(Words<T> words, std::string_view given) {
    const auto same = [](char left, char right) {
        return left == (right >= 'A' && right <= 'Z' ? right - 'A' + 'a'
                        : right == '-'               ? '_'
                                                     : right);
    };
    const auto found = std::ranges::find_if(
        words, [&](const auto& each) { return std::ranges::equal(each.first, given, same); });
    if (found == words.end()) return std::nullopt;
    return found->second;
}

/// Works the fields out one after the other.
class Clamp {
public:
    explicit Clamp(EffectivePolicy& policy) : policy_(policy) {}

    /// `stated` in place of `usual`, capped; a cap of the default alone is nothing the caller asked
    /// for.
    template <class T>
    T operator()(std::string_view field, const std::optional<T>& stated, T usual, T ceiling) {
        if (stated && ceiling < *stated) policy_.clamped.push_back(field);
        return std::min(stated.value_or(usual), ceiling);
    }
    /// The same for budgets, where 0 is none.
    Milliseconds budget(std::string_view field, std::uint64_t stated_ms, Milliseconds usual,
                        Milliseconds ceiling) {
        const auto stated = Milliseconds(
            static_cast<std::int64_t>(std::min<std::uint64_t>(stated_ms, kLongest.count())));
        const auto or_endless = [](Milliseconds budget) {
            return budget.count() == 0 ? kLongest : budget;
        };
        const std::optional<Milliseconds> requested =
            stated_ms == 0 ? std::nullopt : std::optional(stated);
        const Milliseconds capped =
            (*this)(field, requested, or_endless(usual), or_endless(ceiling));
        return capped == kLongest ? Milliseconds(0) : capped;
    }

private:
    static constexpr Milliseconds kLongest = std::chrono::hours(24 * 365);
    EffectivePolicy& policy_;
};

/// The label that was stated, if any. Errors: kInvalidArgs when nobody knows it.
template <class T>
Result<std::optional<T>> stated_label(std::string_view field, std::string_view word,
                                      std::optional<T> (*find)(std::string_view),
                                      std::string_view choices) {
    if (word.empty()) return std::optional<T>();
    if (const auto label = find(word)) return label;
    return fail(ErrorCode::kInvalidArgs,
                fmt::format("policy.{}: this label is unknown; use {}", field, choices));
}

}  // namespace

std::string_view name_of(Network network) {
    switch (network) {
        case Network::kDenyAll: return "DENY_ALL";
        case Network::kEgressRestricted: return "EGRESS_RESTRICTED";
        case Network::kEgressUnrestricted: return "EGRESS_UNRESTRICTED";
        case Network::kFullAccess: return "FULL_ACCESS";
    }
    return "";
}

std::string_view name_of(Privilege privilege) {
    switch (privilege) {
        case Privilege::kMinimal: return "MINIMAL";
        case Privilege::kDefault: return "DEFAULT";
        case Privilege::kElevated: return "ELEVATED";
        case Privilege::kPrivileged: return "PRIVILEGED";
    }
    return "";
}

std::string_view name_of(Backoff backoff) {
    switch (backoff) {
        case Backoff::kNone: return "none";
        case Backoff::kExponential: return "exponential";
        case Backoff::kLinear: return "linear";
        case Backoff::kConstant: return "constant";
    }
    return "";
}

std::optional<Network> find_network(std::string_view word) {
    return find_word<Network>(kNetworks, word);
}
std::optional<Privilege> find_privilege(std::string_view word) {
    return find_word<Privilege>(kPrivileges, word);
}
std::optional<Backoff> find_backoff(std::string_view word) {
    return find_word<Backoff>(kBackoffs, word);
}

Result<EffectivePolicy> effective_policy(const PolicyLimits& limits,
                                         const ExecutionPolicy& requested,
                                         std::optional<Milliseconds> timeout) {
    const PolicyDefaults& usual = limits.defaults;
    const PolicyCeilings& most = limits.ceilings;
    if (timeout && timeout->count() < 0)
        return fail(ErrorCode::kInvalidArgs, "policy.timeout: may not be negative");
    if (timeout && timeout->count() == 0) timeout.reset();
    const auto backoff = stated_label("backoff", requested.backoff, find_backoff,
                                      "none, exponential, linear or constant");
    if (!backoff) return fail(backoff.error());
    const auto network =
        stated_label("network_policy", requested.network_policy, find_network,
                     "DENY_ALL, EGRESS_RESTRICTED, EGRESS_UNRESTRICTED or FULL_ACCESS");
    if (!network) return fail(network.error());
    const auto privilege = stated_label("privilege_level", requested.privilege_level,
                                        find_privilege, "MINIMAL, DEFAULT, ELEVATED or PRIVILEGED");
    if (!privilege) return fail(privilege.error());

    EffectivePolicy policy;
    Clamp clamp(policy);
    const std::optional<std::uint32_t> retries =
        requested.max_retries.value_or(0) == 0 ? std::nullopt : requested.max_retries;
    policy.timeout = clamp("timeout", timeout, usual.timeout, most.timeout);
    policy.max_retries = clamp("max_retries", retries, usual.max_retries, most.max_retries);
    policy.backoff = backoff->value_or(usual.backoff);
    policy.worktree_required = requested.worktree_required || usual.needs_worktree;
    policy.network =
        clamp("network_policy", *network, usual.network, most.network.value_or(usual.network));
    policy.privilege = clamp("privilege_level", *privilege, usual.privilege,
                             most.privilege.value_or(usual.privilege));
    policy.budget_cpu =
        clamp.budget("budget_cpu_ms", requested.budget_cpu_ms, usual.budget_cpu, most.budget_cpu);
    policy.budget_wall = clamp.budget("budget_wall_ms", requested.budget_wall_ms, usual.budget_wall,
                                      most.budget_wall);
    return policy;
}

void append_members(json::Writer& writer, const EffectivePolicy& policy) {
    writer.key("timeout_ms")
        .integer(policy.timeout.count())
        .key("max_retries")
        .unsigned_integer(policy.max_retries);
    writer.key("backoff")
        .string(name_of(policy.backoff))
        .key("worktree_required")
        .boolean(policy.worktree_required);
    writer.key("network_policy")
        .string(name_of(policy.network))
        .key("privilege_level")
        .string(name_of(policy.privilege));
    writer.key("budget_cpu_ms")
        .integer(policy.budget_cpu.count())
        .key("budget_wall_ms")
        .integer(policy.budget_wall.count());
    writer.key("clamped").begin_array();
    for (const std::string_view field : policy.clamped) writer.string(field);
    writer.end_array();
}

Milliseconds longest_wait(Backoff backoff, int attempt) {
    switch (backoff) {
        case Backoff::kNone: return Milliseconds(0);
        case Backoff::kExponential: return kExponential.after(static_cast<std::uint64_t>(attempt));
        case Backoff::kLinear: return std::min(kLongestWait, kLinearStep * attempt);
        case Backoff::kConstant: return kConstantWait;
    }
    return Milliseconds(0);
}

}  // namespace crab::core
