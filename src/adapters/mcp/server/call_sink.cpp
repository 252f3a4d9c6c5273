#include "adapters/mcp/server/call_sink.hpp"

#include "adapters/mcp/wire/log_level.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <cmath>

namespace crab::mcp {
namespace {

void write_number(json::Writer& writer, double value) {
    if (std::trunc(value) == value && std::abs(value) <= static_cast<double>(kMaxSafeInteger)) {
        writer.integer(static_cast<std::int64_t>(value));
    } else {
        writer.number(value);
    }
}

}  // namespace

bool SendRate::take(SteadyTime now) {
    const std::chrono::duration<double> passed = now - filled_at_;
    left_ = std::min(per_second_, left_ + passed.count() * per_second_);
    filled_at_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
}

void CallSink::on_progress(const core::Progress& progress) {
    if (!request_.meta.progress_token) return;
    const double value = progress.progress.value_or(last_ ? *last_ + 1 : 0);
    if (!std::isfinite(value) || (last_ && value <= *last_) ||
        !progress_rate_.take(clock_.steady_now()))
        return;
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
    notify_(message);
}

std::string_view CallSink::wanted_log_level() const {
    if (request_.modern()) return request_.meta.log_level;
    return level_ = request_.session->log_level();
}

void CallSink::on_log(const Log& log) {
    const auto wanted = rank_of_level(wanted_log_level());
    const auto level = rank_of_level(log.level);
    if (!wanted || !level || *level < *wanted || !log_rate_.take(clock_.steady_now())) return;
    std::string params;
    json::Writer writer(params);
    writer.begin_object().key("level").string(log.level);
    if (!log.logger.empty()) writer.key("logger").string_lossy(log.logger);
    writer.key("data").raw(log.data.empty() ? "null" : log.data).end_object();
    std::string message;
    append_notification(message, "notifications/message", params);
    if (!notify_(message) && request_.session) request_.session->events().add_if_read(message);
}

}  // namespace crab::mcp
