#include "adapters/sw4rm/provider_host.hpp"

#include "base/scope_exit.hpp"
#include "core/call/host_idempotency_key.hpp"
#include "json/parser.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

constexpr std::chrono::seconds kGrace{5};  // let the provider's own timeout error arrive first
constexpr std::size_t kMostKept = std::size_t{1} << 20;  // of streamed output, as the ledger

Duration to_wire_duration(std::chrono::nanoseconds time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    return {.seconds = seconds.count(),
            .nanos = static_cast<std::int32_t>((time - seconds).count())};
}

core::ToolResult result_of(ToolServiceClient::Answer answer, json::Parser& parser) {
    const ScopeExit done([&] { parser.shrink(); });
    core::ToolResult result;
    const std::string_view type = answer.content_type;
    if (type.starts_with(net::kJsonType) && parser.parse(answer.data)) {
        result.kind = core::ContentKind::kJson;
    } else if ((type.empty() || type.starts_with("text/")) &&
               simdjson::validate_utf8(answer.data.data(), answer.data.size())) {
        result.kind = core::ContentKind::kText;
    } else {
        result.kind = core::ContentKind::kBytes;
        result.content_type =
            type.empty() || type.starts_with("text/") || type.starts_with(net::kJsonType)
                ? "application/octet-stream"
                : answer.content_type;
    }
    result.content = std::move(answer.data);
    result.usage.output_bytes = answer.bytes;
    return result;
}

/// Passes on what the tool gives, without the numbers and the end of the other side.
class Relay final : public core::FrameSink {
public:
    explicit Relay(core::FrameSink& to) : to_(to) {}
    void on_frame(const core::ToolFrame& frame) override {
        if (!frame.data.empty())
            to_.on_frame(
                {.number = ++number_, .data = frame.data, .content_type = frame.content_type});
    }
    Task<void> drained() override { return to_.drained(); }

private:
    core::FrameSink& to_;
    std::uint64_t number_ = 0;
};

}  // namespace

/// The provider's state on one event loop.
struct ProviderHost::LoopPart {
    LoopPart(net::EventLoop& event_loop, const ToolServiceClient::Options& options)
        : loop(event_loop), client(event_loop, options) {}
    net::EventLoop& loop;
    ToolServiceClient client;
    json::Parser parser;
};

ProviderHost::ProviderHost(Options options, const std::vector<net::EventLoop*>& loops)
    : options_(std::move(options)) {
    for (net::EventLoop* loop : loops)
        parts_.push_back(std::make_unique<LoopPart>(*loop, options_.client));
}

ProviderHost::~ProviderHost() = default;

ProviderHost::LoopPart& ProviderHost::part_here() const {
    const net::EventLoop* here = net::EventLoop::current();
    for (const auto& part : parts_) {
        if (&part->loop == here) return *part;
    }
    throw std::logic_error("a call runs on a loop that its provider does not know");
}

/// The effective policy with the time left and no retries: one side repeats.
Result<ExecutionPolicy> ProviderHost::policy_of(const core::AdmittedCall& call, SteadyTime now,
                                                Deadline until,
                                                std::vector<std::string>& unenforced) const {
    const core::ExecutionPolicy& stated = call.call().policy;
    ExecutionPolicy wire{.timeout = to_wire_duration(
                             std::max<std::chrono::nanoseconds>(until - now, Milliseconds(1))),
                         .backoff = "none"};
    const core::EffectivePolicy* effective = call.policy();
    if (effective == nullptr) return wire;
    wire.worktree_required = effective->worktree_required;
    if (effective->budget_wall.count() > 0) {
        const auto left = effective->budget_wall -
                          std::chrono::duration_cast<Milliseconds>(now - call.first_dispatch());
        wire.budget_wall_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 1));
    }
    wire.budget_cpu_ms = static_cast<std::uint64_t>(effective->budget_cpu.count());
    if (wire.budget_cpu_ms != 0 && options_.labels != Labels::kTrust)
        unenforced.emplace_back("budget_cpu_ms");
    const auto label = [&](std::string_view requested, std::string_view word,
                           std::string_view& out) -> Result<void> {
        if (requested.empty()) return {};
        switch (options_.labels) {
            case Labels::kEnforce:
                return fail(ErrorCode::kPolicyUnenforceable,
                            fmt::format("{} cannot be enforced at the provider {}, which runs "
                                        "elsewhere; leave it empty",
                                        word, options_.id));
            case Labels::kAdvisory: unenforced.emplace_back(word); return {};
            case Labels::kTrust: out = word; return {};
        }
        return {};
    };
    if (auto kept = label(stated.network_policy, name_of(effective->network), wire.network_policy);
        !kept)
        return fail(std::move(kept.error()));
    if (auto kept =
            label(stated.privilege_level, name_of(effective->privilege), wire.privilege_level);
        !kept)
        return fail(std::move(kept.error()));
    return wire;
}

Task<core::Outcome> ProviderHost::run(core::AdmittedCall call, core::FrameSink& sink) {
    LoopPart& here = part_here();
    const SteadyTime now = here.loop.clock().steady_now();
    Deadline until = call.deadline();
    bool wall_ended = false;
    if (call.policy() != nullptr && call.policy()->budget_wall.count() > 0) {
        const Deadline wall = call.first_dispatch() + call.policy()->budget_wall;
        wall_ended = wall < until;
        until = std::min(until, wall);
    }
    std::vector<std::string> unenforced;
    const auto policy = policy_of(call, now, until, unenforced);
    if (!policy) co_return fail(policy.error());
    auto pass = breaker_.admit(now);
    if (!pass) {
        co_return fail(
            ErrorCode::kUnavailable,
            fmt::format(
                "the provider {} does not answer; the call was not started, call again later",
                id()));
    }
    // one id for all attempts and repeats: it is the key as well
    const std::string call_id = core::host_idempotency_key(call.call(), *call.principal());
    const std::array<net::HttpHeader, 2> metadata{
        {{"x-correlation-id",
          call.call().context.trace_id.empty() ? call.call().id : call.call().context.trace_id},
         {"traceparent", call.call().traceparent}}};
    const bool is_json = call.call().body_type.empty();
    const ToolServiceClient::Order order{
        .call = {.call_id = call_id,
                 .tool_name = call.tool().spec.name,
                 .provider_id = options_.provider_id,
                 .content_type = is_json ? net::kJsonType : call.call().body_type,
                 .args = is_json ? call.args() : call.call().body,
                 .policy = *policy},
        .metadata = metadata,
        .deadline = until + kGrace,
        .patience = until};
    core::Outcome outcome;
    if (call.call().wants_stream) {
        Relay relay(sink);
        outcome =
            outcome_of(co_await here.client.call_stream(order, relay), call, *pass, wall_ended);
    } else {
        outcome = outcome_of(co_await here.client.call(order), call, *pass, wall_ended);
    }
    if (outcome && !unenforced.empty()) {
        outcome->extras = std::make_shared<const core::ResultExtras>(core::ResultExtras{
            .unenforced = std::move(unenforced), .place = {}, .presentation = {}});
    }
    co_return outcome;
}

core::Outcome ProviderHost::outcome_of(ToolServiceClient::Ended ended,
                                       const core::AdmittedCall& call,
                                       core::CircuitBreaker::Pass& pass, bool wall_ended) {
    LoopPart& here = part_here();
    if (ended) {
        pass.succeeded();
        if (call.call().wants_stream && ended->bytes > kMostKept) ended->data.clear();
        return result_of(std::move(*ended), here.parser);
    }
    CallFailure& failure = ended.error();
    Error& error = failure.error;
    if (failure.answered) {
        pass.succeeded();
        if (error.code == ErrorCode::kToolNotFound && told_of_unknown_tool_)
            told_of_unknown_tool_();
        return fail(std::move(error));
    }
    // Short caller deadlines say nothing about the provider.
    if (!failure.impatient &&
        (error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kOutcomeUnknown))
        pass.failed(here.loop.clock().steady_now());
    if (error.code == ErrorCode::kUnavailable) {
        error.message =
            fmt::format("the provider {} could not be reached, the call was not started: {}", id(),
                        error.message);
    } else if (error.code == ErrorCode::kOutcomeUnknown) {
        error.message = fmt::format(
            "the provider {} got the call and gave no answer: {}; the call may have taken effect",
            id(), error.message);
    } else if (error.code == ErrorCode::kTimeout) {
        if (wall_ended) error.code = ErrorCode::kWallTimeout;
        error.message = fmt::format("the provider {} did not answer before the {}", id(),
                                    wall_ended ? "wall budget was used up" : "deadline");
    } else if (error.code == ErrorCode::kInternal) {
        error.message =
            fmt::format("the provider {} gave no usable answer: {}; the call may have taken effect",
                        id(), error.message);
        error.retryable = false;
    }
    return fail(std::move(error));
}

Task<Result<std::optional<std::string>>> ProviderHost::fetch_tools(Deadline deadline) {
    LoopPart& here = part_here();
    auto answer = co_await here.client.describe(options_.provider_id, deadline);
    if (answer) {
        breaker_.on_success();
        co_return std::move(*answer);
    }
    const CallFailure& failure = answer.error();
    if (failure.answered) {
        breaker_.on_success();
    } else if (failure.error.code != ErrorCode::kCancelled) {
        breaker_.on_failure(here.loop.clock().steady_now());
        // a connection without responses may be dead
        here.client.retire();
    }
    co_return fail(failure.error);
}

void ProviderHost::stop(net::EventLoop& loop, std::function<void()> done) {
    for (const auto& part : parts_) {
        if (&part->loop == &loop) return part->client.stop(std::move(done));
    }
    done();
}

}  // namespace crab::sw4rm
