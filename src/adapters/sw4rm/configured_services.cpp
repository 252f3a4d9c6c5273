#include "adapters/sw4rm/configured_services.hpp"

#include "net/codec/protobuf.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

constexpr std::array<std::string_view, 3> kBound{"BOUND_HOME", "BOUND_NON_HOME", "SWITCH_PENDING"};

}  // namespace

Task<std::expected<std::string, CallFailure>> decide(ServiceClient& service,
                                                     HitlInvocation invocation, Deadline patience) {
    std::string request;
    to_wire(request, invocation);
    const auto answer =
        co_await service.unary("/sw4rm.hitl.HitlService/Decide", std::move(request), patience);
    if (!answer) co_return std::unexpected(answer.error());
    const auto decision = parse_hitl_decision(*answer);
    if (!decision)
        co_return std::unexpected(
            local_failure(ErrorCode::kInternal, "the answer is not a HitlDecision"));
    co_return std::string(decision->action);
}

Task<std::expected<std::string, CallFailure>> bound_worktree(ServiceClient& service,
                                                             std::string_view agent_id,
                                                             Deadline patience) {
    std::string request;
    net::ProtobufWriter(request).bytes(1, agent_id);
    const auto answer = co_await service.unary("/sw4rm.worktree.WorktreeService/Status",
                                               std::move(request), patience);
    if (!answer) co_return std::unexpected(answer.error());
    const auto status = parse_worktree_status(*answer);
    if (!status)
        co_return std::unexpected(
            local_failure(ErrorCode::kInternal, "the answer is not a StatusResponse"));
    if (std::ranges::find(kBound, status->state) == kBound.end()) co_return std::string();
    co_return fmt::format("{}/{}", status->repo_id, status->worktree_id);
}

}  // namespace crab::sw4rm
