// Any body of `POST /v1/leases`: read or refused with a reason; what was read is within its bounds,
// and each of its capabilities is an action or none, which is decided without harm.

#include "adapters/rtp/hosts/leases_wire.hpp"
#include "base/fuzz_check.hpp"
#include "core/policy/policy.hpp"
#include "trust/named_principal.hpp"

namespace {

using namespace crab;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    static const auto policy = core::Policy::make({}, {{.id = "subscriber/log",
                                                        .role = {},
                                                        .tenants = {},
                                                        .allow = {Glob("events.*")},
                                                        .deny = {Glob("events.*.failed")}}})
                                   .value();
    static const core::Principal log = trust::principal_named("subscriber/log", {});
    const auto request = rtp::parse_lease_request({reinterpret_cast<const char*>(data), size});
    if (!request) {
        require(!request.error().message.empty());
        return 0;
    }
    require(!request->tenant_id.empty() && !request->agent_id.empty() &&
            !request->session_id.empty());
    require(!request->capabilities.empty() && request->capabilities.size() <= 64);
    require(!request->ttl || request->ttl->count() >= 1);
    for (const std::string& capability : request->capabilities) {
        require(!capability.empty() && capability.size() <= 256);
        const core::Decision decision = policy->decide_action(log, capability, "default");
        require(!decision.rule.empty() && decision.verdict != core::Verdict::kNeedsApproval);
        require(!capability.ends_with(".failed") || decision.verdict == core::Verdict::kDeny);
    }
    return 0;
}
