#include "adapters/mcp/server/tool_calls.hpp"

#include "adapters/mcp/wire/error_form.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "adapters/mcp/wire/own_result.hpp"
#include "adapters/mcp/wire/result.hpp"
#include "base/scope_exit.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace crab::mcp {
namespace {

constexpr std::size_t kMostAgentName = 64;

void write_number(json::Writer& writer, double value) {
    if (std::trunc(value) == value && std::abs(value) <= static_cast<double>(kMaxSafeInteger)) {
        writer.integer(static_cast<std::int64_t>(value));
    } else {
        writer.number(value);
    }
}

/// Turns progress into notifications on the answer: with a token only, strictly rising, ten at once
/// and then ten a second.
class ProgressSink final : public core::FrameSink {
public:
    ProgressSink(const ClientRequest& request, PostAnswer& answer, const Clock& clock)
        : request_(request), answer_(answer), clock_(clock), filled_at_(clock.steady_now()) {}

    bool wants_progress() const override { return request_.meta.progress_token.has_value(); }
    void on_progress(const core::Progress& progress) override {
        if (!wants_progress()) return;
        const double value = progress.progress.value_or(last_ ? *last_ + 1 : 0);
        if (!std::isfinite(value) || (last_ && value <= *last_) || !may_send()) return;
        last_ = value;
        std::string params;
        json::Writer writer(params);
        writer.begin_object().key("progressToken").raw(request_.meta.progress_token->json());
        write_number(writer.key("progress"), value);
        if (progress.total && std::isfinite(*progress.total))
            write_number(writer.key("total"), *progress.total);
        if (!progress.message.empty() && features_of(request_.revision).completions)
            writer.key("message").string_lossy(progress.message);
        writer.end_object();
        std::string message;
        append_notification(message, "notifications/progress", params);
        answer_.notify(message);
    }

private:
    static constexpr double kPerSecond = 10;

    bool may_send() {
        const SteadyTime now = clock_.steady_now();
        const std::chrono::duration<double> passed = now - filled_at_;
        left_ = std::min(kPerSecond, left_ + passed.count() * kPerSecond);
        filled_at_ = now;
        if (left_ < 1) return false;
        left_ -= 1;
        return true;
    }

    const ClientRequest& request_;
    PostAnswer& answer_;
    const Clock& clock_;
    SteadyTime filled_at_;
    double left_ = kPerSecond;
    std::optional<double> last_;
};

std::string result_object(const core::ToolResult& result, std::string_view call_id) {
    switch (result.kind) {
        case core::ContentKind::kText: return text_result(result.content);
        case core::ContentKind::kJson:
            return result.content_type == kMcpResultType ? result.content
                                                         : json_result(result.content);
        case core::ContentKind::kBytes:
            return bytes_result(result.content, result.content_type, call_id);
    }
    return text_result(result.content);
}

std::string call_meta(const core::Call& call, const core::CallEnd& end) {
    std::string meta;
    json::Writer writer(meta);
    writer.begin_object().key("crab/call").begin_object().key("id").string(call.id);
    if (end.replayed) writer.key("replayed").boolean(true);
    writer.key("duration_ms")
        .integer(std::chrono::duration_cast<Milliseconds>(end.duration).count());
    writer.end_object().end_object();
    return meta;
}

Reply reply_of(const ClientRequest& request, const core::Call& call, const core::CallEnd& end) {
    const std::string meta = call_meta(call, end);
    std::string result;
    if (end.outcome->has_value()) {
        append_call_result(result, result_object(**end.outcome, call.id), request.form(meta));
        return Reply::of_result(request, result);
    }
    const Error& error = end.outcome->error();
    const ErrorForm form = form_of(error.code);
    switch (form.shape) {
        case ErrorShape::kRpcError: return Reply::of_error(request, rpc_error(error));
        case ErrorShape::kHttpStatus:
            return Reply::of_error(request, rpc_error(error, rpc_code::kInvalidRequest),
                                   form.http_status);
        case ErrorShape::kToolResult: break;
    }
    append_error_result(result, error, request.form(meta));
    return Reply::of_result(request, result);
}

/// The name that the client gives itself; nobody vouches for it.
std::string client_name(const ClientRequest& request) {
    std::string name = request.session
                           ? request.session->facts().client_name
                           : json::find_raw_string(request.meta.client_info, "name").value_or("");
    return name.size() <= kMostAgentName ? name : std::string();
}

}  // namespace

const std::vector<HeaderParam>* ToolCalls::header_params(const core::PrincipalRef& principal,
                                                         std::string_view name) {
    const auto view = lists_.view_of(principal);
    if (const auto* const item = view->find(name)) return &lists_.header_params(item->tool);
    const auto tool = pipeline_.resolve(*principal, {}, name);
    return tool ? &lists_.header_params(*tool) : nullptr;
}

Task<Reply> ToolCalls::run(const ClientRequest& request, net::HttpExchange& exchange,
                           PostAnswer& answer) {
    const auto name = json::find_raw_string(request.params, "name");
    if (!name) co_return Reply::invalid_params(request, "name: a string");
    const std::string_view arguments =
        json::find_raw(request.params, "arguments").value_or(std::string_view());
    if (!arguments.empty() && arguments != "null" && !arguments.starts_with('{'))
        co_return Reply::invalid_params(request, "arguments: an object");
    if (json::find_raw(request.params, "requestState") ||
        json::find_raw(request.params, "inputResponses"))
        co_return Reply::invalid_params(request, "requestState: not one that was given for this");
    const auto view = lists_.view_of(request.principal);
    const auto* const item = view->find(*name);
    const std::string agent = client_name(request);
    core::Call call;
    call.front = "mcp";
    call.tool = item != nullptr ? item->own_name : *name;
    call.args = arguments;
    call.canceller = &exchange.canceller();
    call.traceparent = request.meta.traceparent;
    call.idempotency_key = request.meta.idempotency_key;
    if (request.meta.timeout_ms) call.timeout = Milliseconds(*request.meta.timeout_ms);
    call.context.agent_id = agent;
    if (request.session) call.context.session_id = request.session->facts().id;
    if (request.modern())
        exchange.goes_on_when_caller_leaves(
            [&call] { return core::Pipeline::goes_on_for_others(call); });
    const ScopeExit over([&] { exchange.goes_on_when_caller_leaves({}); });
    ProgressSink sink(request, answer, exchange.loop().clock());
    const core::AuthenticatedCall authenticated(call, request.principal);
    const core::CallEnd end = co_await pipeline_.run(authenticated, sink);
    co_return reply_of(request, call, end);
}

}  // namespace crab::mcp
