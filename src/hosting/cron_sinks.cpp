#include "hosting/cron_sinks.hpp"

#include "adapters/rtp/events/event_wire.hpp"

namespace crab::hosting {
namespace {

constexpr std::chrono::seconds kPatience{10};

}  // namespace

Result<core::NewEvent> cron_event_of(std::string envelope) {
    json::Parser parser;
    auto published = rtp::parse_envelope(envelope, parser, {.transport = "internal"});
    if (!published) return fail(std::move(published.error()));
    published->event.publisher = "built_in/cron";
    return std::move(published->event);
}

Task<Result<void>> OutboxEventSink::publish(std::string envelope) {
    auto event = cron_event_of(std::move(envelope));
    if (!event) co_return fail(std::move(event.error()));
    const Deadline deadline = clock_.steady_now() + kPatience;
    const auto receipt = co_await outbox_.publish(std::move(*event), deadline);
    if (!receipt) co_return fail(receipt.error());
    if (receipt->status == core::EventStatus::kConflict)
        co_return fail(ErrorCode::kConflict, "another event has this id or key");
    co_return Result<void>();
}

Task<Result<void>> NoEventSink::publish(std::string) {
    co_return fail(Error{.code = ErrorCode::kUnavailable,
                         .message = "nobody takes events",
                         .details = {},
                         .retryable = true,
                         .retry_after = std::chrono::minutes(1)});
}

}  // namespace crab::hosting
