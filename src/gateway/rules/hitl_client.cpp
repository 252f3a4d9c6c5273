#include "gateway/rules/hitl_client.hpp"

#include "adapters/sw4rm/configured_services.hpp"
#include "admin/approvals_wire.hpp"
#include "base/log.hpp"
#include "net/loop/finish_on.hpp"

#include <algorithm>
#include <utility>

namespace crab::gateway {
namespace {

constexpr Milliseconds kPatience{60'000};
constexpr std::string_view kName = "service/hitl";

bool is_approve(std::string_view action) {
    return std::ranges::equal(action, std::string_view("approve"),
                              [](char given, char wanted) { return (given | 0x20) == wanted; });
}

/// What Decide's `context` holds.
std::string context_of(const core::ApprovalQuestion& question) {
    std::string text;
    json::Writer writer(text);
    admin::append_approval(writer, question, core::ApprovalEnd{});
    return text;
}

}  // namespace

HitlClient::HitlClient(core::Approvals& approvals, net::EventLoop& loop,
                       sw4rm::ServiceClient::Options service)
    : approvals_(approvals),
      loop_(loop),
      client_(loop, std::move(service)),
      watch_(approvals),
      tasks_(loop.executor()) {}

void HitlClient::on_question(const core::ApprovalQuestion& question) {
    loop_.post([this, question]() mutable {
        tasks_.spawn("asking the hitl service", ask(std::move(question)));
    });
}

void HitlClient::on_end(const core::ApprovalQuestion& question) {
    loop_.post([this, id = question.id] {
        if (const auto asked = asked_.find(id); asked != asked_.end()) asked->second->cancel();
    });
}

Task<void> HitlClient::ask(core::ApprovalQuestion question) {
    using Reason = sw4rm::HitlInvocation::Reason;
    const std::string& id = question.id;
    const std::string context = context_of(question);
    const bool escalation = question.subject.rule.empty();  // only the labels ask
    const sw4rm::HitlInvocation invocation{
        .reason = escalation ? Reason::kToolPrivilegeEscalation : Reason::kSecurityApproval,
        .context = context,
        .proposed_actions = {"approve", "deny"}};
    const Deadline patience = loop_.clock().steady_now() + kPatience;
    TaskChain& chain = co_await this_chain();
    asked_.emplace(id, &chain);
    const auto action = co_await sw4rm::decide(client_, invocation, patience);
    asked_.erase(id);
    if (chain.cancelled()) co_return;
    if (action) {
        (void)approvals_.answer(id, is_approve(*action), kName);
        co_return;
    }
    log::warn("the hitl service did not decide", {{"approval", id},
                                                  {"call_id", question.call_id},
                                                  {"trace_id", question.trace_id},
                                                  {"reason", action.error().error.message}});
    approvals_.pass(id);
}

void HitlClient::stop() {
    net::finish_on(loop_, [this](std::function<void()> done) {
        client_.close();
        tasks_.stop(std::move(done));
    });
}

}  // namespace crab::gateway
