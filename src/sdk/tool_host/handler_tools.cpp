#include "sdk/tool_host/handler_tools.hpp"

#include "base/log.hpp"
#include "core/pipeline/late_call.hpp"
#include "json/writer.hpp"
#include "sdk/answer_bytes.hpp"
#include "sdk/run_handler.hpp"

#include <utility>

namespace crab::sdk {
namespace {

constexpr std::size_t kThreads = kCallsAtOnce;   // the gate lets no more in

/// `CODE: message`; another word than an error's is the tool's own.
core::Outcome failure(std::string_view content) {
    const std::size_t colon = content.find(": ");
    const auto code =
        colon == std::string_view::npos ? std::nullopt : find_error_code(content.substr(0, colon));
    if (!code) return fail(ErrorCode::kToolFailed, std::string(content));
    return fail(*code, std::string(content.substr(colon + 2)));
}

/// Results are objects on the wire, so they are objects before their schema is looked at.
core::Outcome outcome_of(const ToolAnswer& answer, std::vector<std::string> logs) {
    core::ToolResult result{.kind = core::ContentKind::kJson,
                            .content = {},
                            .content_type = {},
                            .logs = std::move(logs),
                            .usage = {}};
    json::Writer writer(result.content);
    switch (answer.kind()) {
        case ToolAnswer::Kind::kError: return failure(answer.content());
        case ToolAnswer::Kind::kText:
            writer.begin_object().key("text").string_lossy(answer.content()).end_object();
            break;
        case ToolAnswer::Kind::kBytes: result.content = inline_bytes(answer); break;
        case ToolAnswer::Kind::kJson: {
            // there is one: it was parsed
            const std::size_t begin = answer.content().find_first_not_of(" \t\r\n");
            if (answer.content()[begin] == '{') {
                result.content = answer.content().substr(begin);
            } else {
                writer.begin_object().key("value").raw(answer.content()).end_object();
            }
            break;
        }
    }
    return result;
}

std::shared_ptr<CallState> state_of(const core::AdmittedCall& admitted) {
    const core::Call& call = admitted.call();
    const core::CallContext& context = call.context;
    CallOrigin origin{.tenant_id = std::string(call.tenant),
                      .context = {.agent_id = std::string(context.agent_id),
                                  .session_id = std::string(context.session_id),
                                  .platform = std::string(context.platform),
                                  .channel_id = std::string(context.channel_id),
                                  .actor_id = std::string(context.actor_id),
                                  .isolation_key = std::string(context.isolation_key),
                                  .trace_id = std::string(context.trace_id),
                                  .request_origin = std::string(context.request_origin)},
                      .traceparent = std::string(call.traceparent)};
    return std::make_shared<CallState>(std::string(call.id), admitted.tool().spec.name,
                                       std::string(admitted.args()), admitted.deadline(), nullptr,
                                       std::move(origin));
}

}  // namespace

/// One call whose handler has not returned yet, or has just done so.
struct HandlerTools::Running {
    Running(net::EventLoop& home, std::shared_ptr<CallState> state)
        : call(std::move(state)), waiter(home.timers()) {}
    std::shared_ptr<CallState> call;
    Waiter waiter;
    core::Outcome outcome = fail(ErrorCode::kInternal, "the handler has not returned");
    bool returned = false;                   ///< on the loop's thread
    std::shared_ptr<core::LateCall> late;    ///< the call is answered already
};

HandlerTools::HandlerTools(std::vector<HandledTool> tools, net::EventLoop& home)
    : home_(home), tools_(std::move(tools)), late_results_(home.executor()), pool_(kThreads, 0) {
    for (const HandledTool& tool : tools_) handlers_.emplace(tool.spec.name, &tool.handler);
}

HandlerTools::~HandlerTools() = default;

Result<void> HandlerTools::register_in(core::Registry& registry) {
    std::vector<core::ToolSpec> specs;
    for (const HandledTool& tool : tools_) specs.push_back(tool.spec);
    register_tools(registry, std::move(specs), *this);
    return {};
}

Task<core::Outcome> HandlerTools::run(core::AdmittedCall call, core::FrameSink&) {
    const auto running = std::make_shared<Running>(home_, state_of(call));
    auto job = [this, running, handler = handlers_.at(call.tool().spec.name)] {
        const Handled handled = run_handler(*handler, running->call);
        if (!handled.complaint.empty()) {
            const CallState& call = *running->call;
            const std::string& trace_id = call.origin().context.trace_id;
            log::error(
                "a handler failed",
                {{"call_id", call.id()}, {"trace_id", trace_id}, {"reason", handled.complaint}});
        }
        running->outcome = outcome_of(handled.answer, running->call->take_logs());
        home_.post([this, running] { on_returned(running); });
    };
    if (!pool_.submit(std::move(job))) {
        co_return fail(Error{.code = ErrorCode::kRateLimited,
                             .message = "the host is busy; call again later",
                             .details = {},
                             .retryable = true,
                             .retry_after = Milliseconds(1000)});
    }
    running_.insert(running);
    const WaitEnd end = co_await running->waiter.wait(call.deadline());
    if (running->returned) co_return std::move(running->outcome);
    running->late = call.leave_running();
    running->call->cancel();
    if (end == WaitEnd::kCancelled) co_return fail(ErrorCode::kCancelled, "the call was cancelled");
    co_return fail(ErrorCode::kTimeout,
                   "the tool did not answer before the deadline; it may still take effect");
}

void HandlerTools::on_returned(const std::shared_ptr<Running>& running) {
    running_.erase(running);
    running->returned = true;
    if (running->late) {
        late_results_.spawn("late result", running->late->finish(std::move(running->outcome)),
                            running->late);
    } else {
        running->waiter.wake();
    }
    check_stopped();
}

void HandlerTools::stop(std::function<void()> done) {
    on_stopped_ = std::move(done);
    for (const auto& running : std::vector(running_.begin(), running_.end()))
        running->call->cancel();
    check_stopped();
}

void HandlerTools::check_stopped() {
    if (on_stopped_ && running_.empty()) late_results_.stop(std::exchange(on_stopped_, nullptr));
}

}  // namespace crab::sdk
