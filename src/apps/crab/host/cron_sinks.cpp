#include "apps/crab/host/cron_sinks.hpp"

#include "json/value.hpp"

namespace crab::app {

Task<Result<void>> HubEventSink::publish(std::string envelope) {
    const auto parsed = json::Value::parse(envelope);
    const json::Value* const type = parsed ? parsed->find("event_type") : nullptr;
    if (type == nullptr || !type->as_string()) co_return fail(ErrorCode::kInvalidArgs, "an event needs an event_type");
    const core::Event event{.type = std::string(*type->as_string()), .time = clock_.system_now(), .payload = std::move(envelope)};
    events_.publish(event);
    co_return Result<void>();
}

Task<Result<void>> NoEventSink::publish(std::string) {
    co_return fail(
        Error{.code = ErrorCode::kUnavailable, .message = "nobody takes events", .details = {}, .retryable = true, .retry_after = std::chrono::minutes(1)});
}

}  // namespace crab::app
