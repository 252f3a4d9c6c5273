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

/// What a run may reach over the network; each label permits what those before it do.
enum class Network : std::uint8_t { kDenyAll, kEgressRestricted, kEgressUnrestricted, kFullAccess };
/// What a run may do on its machine; each level permits what those before it do.
enum class Privilege : std::uint8_t { kMinimal, kDefault, kElevated, kPrivileged };
enum class Backoff : std::uint8_t { kNone, kExponential, kLinear, kConstant };

/// `DENY_ALL`, `MINIMAL`, `exponential`: the words on every wire.
std::string_view name_of(Network network);
std::string_view name_of(Privilege privilege);
std::string_view name_of(Backoff backoff);
/// The label of that name or alias, in any case of ASCII letters, `-` standing for `_`; nothing for
/// any other word.
std::optional<Network> find_network(std::string_view word);
std::optional<Privilege> find_privilege(std::string_view word);
std::optional<Backoff> find_backoff(std::string_view word);

/// What counts where a call states nothing. A budget of 0 is none.
struct PolicyDefaults {
    Milliseconds timeout{30'000};
    std::uint32_t max_retries = 2;
    Backoff backoff = Backoff::kExponential;
    bool needs_worktree = false;
    Network network = Network::kDenyAll;
    Privilege privilege = Privilege::kMinimal;
    Milliseconds budget_cpu{0}, budget_wall{0};
};

/// What no call can pass. Labels that are not set: the default itself. A budget of 0 is not a cap.
struct PolicyCeilings {
    Milliseconds timeout{600'000};
    std::uint32_t max_retries = 5;
    std::optional<Network> network;
    std::optional<Privilege> privilege;
    Milliseconds budget_cpu{0}, budget_wall{0};
};

/// The operator's word on one tool.
struct PolicyLimits {
    PolicyDefaults defaults;
    PolicyCeilings ceilings;
};

/// What binds one call, as it stands in its summary and its audit record.
struct EffectivePolicy {
    Milliseconds timeout{0};
    std::uint32_t max_retries = 0;
    Backoff backoff = Backoff::kNone;
    bool worktree_required = false;
    Network network = Network::kDenyAll;
    Privilege privilege = Privilege::kMinimal;
    Milliseconds budget_cpu{0}, budget_wall{0};  ///< 0: none
    /// Names of the fields whose wish went beyond a ceiling
    std::vector<std::string_view> clamped;

    /// It goes as far as only a person may let it. Source: docs/protocols/sw4rm.md, section 9.
    bool needs_approval() const {
        return network == Network::kFullAccess || privilege >= Privilege::kElevated;
    }
    /// Attempts after the first.
    std::uint32_t retries() const { return backoff == Backoff::kNone ? 0 : max_retries; }
};

/// The policy that binds a call: the defaults, what the call states in their place, capped by the
/// ceilings. `timeout` is the call's wish; zero and empty count as not stated. Pure. Errors:
/// kInvalidArgs for an unknown label and for a negative timeout. Source: docs/protocols/sw4rm.md,
/// section 4.
Result<EffectivePolicy> effective_policy(const PolicyLimits& limits, const ExecutionPolicy& wish,
                                         std::optional<Milliseconds> timeout);

/// Its fields as members of the object that `writer` is in, `clamped` last.
void append_members(json::Writer& writer, const EffectivePolicy& policy);

/// The longest wait before the attempt after `attempt`, which counts from 1. Source:
/// docs/protocols/sw4rm.md, section 5.
Milliseconds longest_wait(Backoff backoff, int attempt);

}  // namespace crab::core
