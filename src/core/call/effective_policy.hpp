#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace crab::json {
class Writer;
}

namespace crab::core {

struct ExecutionPolicy;

/// Network access of a run; each label includes those before it.
enum class Network : std::uint8_t { kDenyAll, kEgressRestricted, kEgressUnrestricted, kFullAccess };
/// Privileges of a run on its machine; each level includes those before it.
enum class Privilege : std::uint8_t { kMinimal, kDefault, kElevated, kPrivileged };
enum class Backoff : std::uint8_t { kNone, kExponential, kLinear, kConstant };

/// `DENY_ALL`, `MINIMAL`, `exponential`: the names on every wire.
std::string_view name_of(Network network);
std::string_view name_of(Privilege privilege);
std::string_view name_of(Backoff backoff);
/// The label of that name or alias, case-insensitive in ASCII, with `-` for `_`; nothing for any
/// other word.
std::optional<Network> find_network(std::string_view word);
std::optional<Privilege> find_privilege(std::string_view word);
std::optional<Backoff> find_backoff(std::string_view word);

/// Defaults for what a call does not state. A budget of 0 means none.
struct PolicyDefaults {
    Milliseconds timeout{30'000};
    std::uint32_t max_retries = 2;
    Backoff backoff = Backoff::kExponential;
    bool needs_worktree = false;
    Network network = Network::kDenyAll;
    Privilege privilege = Privilege::kMinimal;
    Milliseconds budget_cpu{0}, budget_wall{0};
};

/// Upper bounds for all calls. An unset label: the default is the bound. A budget of 0 means no
/// bound.
struct PolicyCeilings {
    Milliseconds timeout{600'000};
    std::uint32_t max_retries = 5;
    std::optional<Network> network;
    std::optional<Privilege> privilege;
    Milliseconds budget_cpu{0}, budget_wall{0};
};

/// The operator's policy settings for one tool.
struct PolicyLimits {
    PolicyDefaults defaults;
    PolicyCeilings ceilings;
};

/// The policy that applies to one call, as reported in its summary and audit record.
struct EffectivePolicy {
    Milliseconds timeout{0};
    std::uint32_t max_retries = 0;
    Backoff backoff = Backoff::kNone;
    bool worktree_required = false;
    Network network = Network::kDenyAll;
    Privilege privilege = Privilege::kMinimal;
    Milliseconds budget_cpu{0}, budget_wall{0};  ///< 0: none
    /// Fields whose requested value exceeded a ceiling
    std::vector<std::string_view> clamped;

    /// Whether its labels require an approval. Source: docs/protocols/sw4rm.md, section 9.
    bool needs_approval() const {
        return network == Network::kFullAccess || privilege >= Privilege::kElevated;
    }
    /// Attempts after the first.
    std::uint32_t retries() const { return backoff == Backoff::kNone ? 0 : max_retries; }
};

/// Computes the policy of a call: the defaults, overridden by the call's values, capped by the
/// ceilings. `timeout` is the requested one; zero and empty mean not stated. Pure. Errors:
/// kInvalidArgs for an unknown label and for a negative timeout. Source: docs/protocols/sw4rm.md,
/// section 4.
Result<EffectivePolicy> effective_policy(const PolicyLimits& limits,
                                         const ExecutionPolicy& requested,
                                         std::optional<Milliseconds> timeout);

/// Appends its fields as members of the open object, `clamped` last.
void append_members(json::Writer& writer, const EffectivePolicy& policy);

/// The longest delay before the attempt that follows `attempt`, counted from 1. Source:
/// docs/protocols/sw4rm.md, section 5.
Milliseconds longest_wait(Backoff backoff, int attempt);

}  // namespace crab::core
