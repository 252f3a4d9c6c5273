#include "adapters/mcp/server/tool_calls.hpp"

#include "adapters/mcp/server/call_sink.hpp"
#include "adapters/mcp/server/client_approver.hpp"
#include "adapters/mcp/server/client_questions.hpp"
#include "adapters/mcp/server/legacy_inquirer.hpp"
#include "adapters/mcp/wire/log_level.hpp"
#include "base/scope_exit.hpp"
#include "core/call/long_call.hpp"
#include "json/raw_parts.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::mcp {
namespace {

/// Of a modern client that cannot be asked for anything and takes no tasks.
class NoTasks final : public core::Inquirer, private core::LongCall {
public:
    Answers answers() const override { return {}; }
    Task<Result<std::string>> ask(core::Question) override {
        co_return fail(ErrorCode::kUnavailable, "this client cannot be asked");
    }
    core::LongCall* long_call() override { return this; }

private:
    bool outlives_gateway() const override { return false; }
    std::string_view resumes() const override { return {}; }
    bool stays_open() const override { return false; }
    void on_asked(std::string_view) override {}
    void on_deferred(std::string_view) override {}
    bool refuses_deferred() const override { return true; }
};

}  // namespace

const std::vector<HeaderParam>* ToolCalls::header_params(const core::PrincipalRef& principal,
                                                         std::string_view name) {
    const auto view = uses_.tools.view_of(principal);
    const bool is_whole = uses_.tools.scope().is_whole();
    if (const auto* const item = is_whole ? view->find(name) : view->find_by_any_name(name))
        return &uses_.tools.header_params(item->tool);
    if (!is_whole) return nullptr;
    const auto tool = uses_.pipeline.resolve(*principal, {}, name);
    return tool ? &uses_.tools.header_params(*tool) : nullptr;
}

Task<CallAnswer> ToolCalls::read_artifact(const ClientRequest& request, const CallPlan& plan) {
    const auto read = co_await uses_.artifacts.read(plan.key, plan.about, request.principal);
    if (!read) co_return answer_of_error(request, plan, read.error());
    ResultForm form = request.form();
    form.ttl = Milliseconds(0);
    CallAnswer answer;
    append_read_result(answer.result, *read, form);
    co_return answer;
}

Task<Reply> ToolCalls::run(const ClientRequest& request, net::HttpExchange& exchange,
                           PostAnswer& answer) {
    if (!request.meta.log_level.empty() && !rank_of_level(request.meta.log_level))
        co_return Reply::invalid_params(
            request, fmt::format("log level: one of {}", fmt::join(kLogLevels, ", ")));
    if (!request.meta.wrong.empty()) co_return Reply::invalid_params(request, request.meta.wrong);
    if (request.method == "tools/call") {
        auto view = uses_.tools.view_of(request.principal);
        if (view->searched && json::read_raw_string(request.meta.beside.name) == kFindTools)
            co_return co_await uses_.search.find(request, std::move(view), uses_.tools,
                                                 uses_.state.searches);
    }
    if (request.modern() && !request.meta.beside.request_state.empty())
        co_return co_await askable_.go_on(request, answer);
    if (AskableCalls::can_be_asked(request) && !CallPlans::reads_artifact(request))
        co_return co_await askable_.begin(request, answer);
    auto planned = plans_.plan(request);
    if (!planned) co_return std::move(planned.error());
    const CallPlan& plan = *planned;
    if (plan.shape == CallShape::kArtifact) {
        const CallAnswer read = co_await read_artifact(request, plan);
        co_return read.reply(request);
    }
    // a copy, for the next request reads another one
    const ClientIdentity client = request.session ? request.session->facts().client
                                                  : identities_.read(request.meta.client_info);
    core::Call call;
    fill_call(call, request, plan, client);
    call.canceller = &exchange.canceller();
    if (request.modern())
        exchange.goes_on_when_caller_leaves(
            [&call] { return core::Pipeline::goes_on_for_others(call); });
    const ScopeExit over([&] { exchange.goes_on_when_caller_leaves({}); });
    CallSink sink(
        request, [&answer](const std::string& message) { return answer.notify(message); },
        exchange.loop().clock());
    NoTasks no_tasks;
    if (request.modern()) call.inquirer = &no_tasks;
    std::optional<LegacyInquirer> inquirer;
    if (request.session) {
        inquirer.emplace(LegacyInquirer::Uses{.session = request.session,
                                              .exchange = exchange,
                                              .answer = answer,
                                              .patience = uses_.state.options.input_wait});
        if (can_answer_any(inquirer->answers())) call.inquirer = &*inquirer;
    }
    std::optional<ClientApprover> approver;
    core::Approvals* const owners =
        call.inquirer != nullptr ? uses_.state.options.owners_approve : nullptr;
    if (owners != nullptr || sink.wants_progress()) {
        approver.emplace(
            ClientApprover::Uses{uses_.loop, &sink, owners, call.inquirer, request.principal->id});
        call.approver = &*approver;
        call.approval_stops_clock = owners != nullptr;
    }
    const core::AuthenticatedCall authenticated(call, request.principal);
    const core::CallEnd end = co_await uses_.calls.run(authenticated, sink);
    if (approver) co_await approver->finish();
    co_return answer_of(request, plan, call, end, uses_.state.links, uses_.loop.take_buffer())
        .reply(request);
}

}  // namespace crab::mcp
