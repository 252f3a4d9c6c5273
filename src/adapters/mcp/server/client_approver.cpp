#include "adapters/mcp/server/client_approver.hpp"

#include "base/task/waiter.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

std::string form_for(const core::ApprovalQuestion& question) {
    std::string message =
        fmt::format("[crab] May {} of {} run", question.subject.tool, question.subject.source);
    if (!question.agent.empty()) message += fmt::format(" for {}", question.agent);
    message += fmt::format(" with these arguments?\n{}", question.args);
    std::string params;
    json::Writer writer(params);
    writer.begin_object().key("mode").string("form").key("message").string_lossy(message);
    writer.key("requestedSchema")
        .raw(R"({"type":"object","properties":{"approve":{"type":"boolean",)"
             R"("title":"Allow this call","description":"Once, with these arguments"}},)"
             R"("required":["approve"]})");
    writer.end_object();
    return params;
}

enum class Word : std::uint8_t { kNone, kAllow, kDeny };

/// Who closes the form has said nothing.
Word word_of(std::string_view answer) {
    const auto action = json::find_raw_string(answer, "action").value_or("");
    if (action == "decline") return Word::kDeny;
    if (action != "accept") return Word::kNone;
    const auto content = json::find_raw(answer, "content").value_or("");
    return json::find_raw(content, "approve") == "true" ? Word::kAllow : Word::kDeny;
}

}  // namespace

ClientApprover::ClientApprover(Uses uses) : uses_(std::move(uses)), tasks_(uses_.loop.executor()) {}

void ClientApprover::on_wait(const core::ApprovalQuestion& question) {
    if (uses_.sink == nullptr) return;
    uses_.sink->on_progress({.message = fmt::format("waits for approval {}", question.id)});
}

void ClientApprover::on_question(const core::ApprovalQuestion& question) {
    tasks_.spawn("mcp approval", ask(question.id, form_for(question)));
}

void ClientApprover::on_end(const core::ApprovalQuestion&, const core::ApprovalEnd&) {
    tasks_.cancel();
}

Task<void> ClientApprover::ask(std::string id, std::string params) {
    Waiter soon(uses_.loop.timers());  // who asks here is not done with it yet
    if (co_await soon.wait(uses_.loop.now()) == WaitEnd::kCancelled) co_return;
    core::Question question{.kind = core::Question::Kind::kForm,
                            .key = "crab_approval",
                            .method = "elicitation/create",
                            .params = std::move(params)};
    const auto answer = co_await uses_.inquirer->ask(std::move(question));
    const Word word = answer ? word_of(*answer) : Word::kNone;
    if (word != Word::kNone) uses_.approvals->answer(id, word == Word::kAllow, uses_.by);
}

Task<void> ClientApprover::finish() {
    if (tasks_.size() == 0) co_return;
    Waiter waiter(uses_.loop.timers());
    bool ended = false, cancelled = false;
    tasks_.stop([&] {
        ended = true;
        waiter.wake();
    });
    TaskChain& chain = co_await this_chain();
    while (!ended) {
        if (co_await waiter.wait(kNoDeadline) != WaitEnd::kCancelled) continue;
        chain.forget_cancellation();
        cancelled = true;
    }
    if (cancelled) chain.cancel();
}

}  // namespace crab::mcp
