#include "adapters/mcp/server/legacy_inquirer.hpp"

#include "adapters/mcp/server/client_questions.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "base/scope_exit.hpp"
#include "json/writer.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

std::string cancelled_message(const RequestId& id) {
    std::string params, message;
    json::Writer(params).begin_object().key("requestId").raw(id.json()).end_object();
    append_notification(message, "notifications/cancelled", params);
    return message;
}

}  // namespace

core::Inquirer::Answers LegacyInquirer::answers() const {
    if (!uses_.answer.takes_events()) return {};
    return answers_of(uses_.session->facts().capabilities, uses_.session->facts().revision);
}

Task<Result<std::string>> LegacyInquirer::ask(core::Question question) {
    const Session::Facts& client = uses_.session->facts();
    net::EventLoop& loop = uses_.exchange.loop();
    if (!can_answer(answers(), question.kind))
        co_return fail(ErrorCode::kUnavailable, "this client cannot be asked for that");
    if (uses_.exchange.caller_gone() && !uses_.answer.waits_for_polling())
        co_return fail(ErrorCode::kUnavailable, "the client's stream is gone, it cannot be asked");
    const auto waiter = std::make_shared<RemoteWaiter>(loop.executor(), loop.timers());
    const auto asked = uses_.session->ask(waiter);
    if (!asked) co_return fail(ErrorCode::kUnavailable, "the session has ended");
    if (open_++ == 0) ++rounds_;
    const ScopeExit over([&] {
        --open_;
        uses_.session->forget(*asked);
    });
    const auto params = params_for(question, client.revision, client.capabilities.sampling_tools,
                                   fmt::format("{}-{}", client.label, *asked->id.text()));
    if (!params) co_return std::unexpected(params.error());
    std::string message;
    append_request(message, asked->id, question.method, *params);
    uses_.answer.notify(message);
    const WaitEnd end = co_await waiter->wait(loop.now() + uses_.patience);
    if (auto answered = asked->take()) {
        if (!*answered) co_return std::unexpected(answered->error());
        AnswerCheck check(question.kind, *params);
        if (check.fits(**answered)) co_return std::move(**answered);
        co_return fail(ErrorCode::kToolFailed, "the client's answer does not fit what was asked");
    }
    uses_.answer.notify(cancelled_message(asked->id));
    if (end == WaitEnd::kCancelled) co_return fail(ErrorCode::kCancelled, "the call was cancelled");
    if (uses_.session->ended()) co_return fail(ErrorCode::kUnavailable, "the session has ended");
    co_return answer_of_silence(question.kind);
}

}  // namespace crab::mcp
