#include "sdk/device_link.hpp"

#include "json/value.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::sdk {
namespace {

constexpr std::uint16_t kNormal = 1000;
constexpr std::uint16_t kTokenExpired = 4401;
constexpr std::int64_t kMaxDeadlineMs = 86'400'000;  // so that no sum overflows

/// The status of a refusal by HTTP; 0 when it was none.
std::int64_t http_status(const Error& error) {
    const auto details = json::Value::parse(error.details);
    const json::Value* status = details ? details->find("status") : nullptr;
    return status != nullptr ? status->as_int64().value_or(0) : 0;
}

std::string describe(const net::CloseInfo& info) {
    if (info.code == 1006) return "the link broke";
    return fmt::format("the gateway closed the link with {}{}{}", info.code,
                       info.reason.empty() ? "" : ": ", info.reason);
}

}  // namespace

DeviceLink::DeviceLink(Options options, Services services, const DeviceTools& tools,
                       DevicePorts& ports)
    : options_(std::move(options)),
      services_(services),
      tools_(tools),
      ports_(ports),
      instance_(fmt::format("{:016x}{:016x}", services.random.random(), services.random.random())),
      session_id_(options_.session_id),
      redial_([this] { dial(); }),
      gather_([this] { send_tools(); }),
      liveness_([this] { check_liveness(); }),
      send_again_([this] { send_again(); }),
      tell_presence_([this] { send_presence(); }) {}

void DeviceLink::start() {
    state_ = State::kFetchingToken;
    ports_.fetch_token(TokenNeed::kFirst);
}

void DeviceLink::stop() {
    for (auto& [id, running] : std::exchange(calls_, {})) running.state->cancel();
    if (state_ == State::kOpen) {
        state_ = State::kClosing;
        ports_.close(kNormal, "goodbye");
    } else if (state_ != State::kClosing) {
        end({DeviceEnd::Reason::kStopped, "stopped"});
    }
}

void DeviceLink::end(DeviceEnd end) {
    if (std::exchange(state_, State::kEnded) == State::kEnded) return;
    for (auto& [id, running] : std::exchange(calls_, {})) running.state->cancel();
    redial_.disarm();
    gather_.disarm();
    liveness_.disarm();
    send_again_.disarm();
    tell_presence_.disarm();
    ports_.ended(std::move(end));
}

// --- Getting a link
// ------------------------------------------------------------------------------------------------

void DeviceLink::dial() {
    if (std::exchange(token_wanted_, false)) {
        state_ = State::kFetchingToken;
        return ports_.fetch_token(refusal_.empty() ? TokenNeed::kFirst : TokenNeed::kRefused);
    }
    state_ = State::kDialing;
    ports_.dial(token_, session_id_);
}

void DeviceLink::on_token(std::expected<std::string, DeviceEnd> token) {
    if (state_ != State::kFetchingToken) return;
    const bool refused_before = !refusal_.empty();
    // the gateway could not be asked for one
    if (!token && token.error().reason == DeviceEnd::Reason::kLost) {
        token_wanted_ = true;
        return retry(token.error().message, Milliseconds(0));
    }
    if (!token) {
        if (refused_before && token.error().message.empty()) token.error().message = refusal_;
        return end(std::move(token.error()));
    }
    if (refused_before && *token == token_) return end({DeviceEnd::Reason::kRefused, refusal_});
    token_ = std::move(*token);
    // the second in a row
    if (refused_before && std::exchange(token_is_new_, true))
        return retry(refusal_, Milliseconds(0));
    dial();
}

void DeviceLink::need_new_token(std::string why) {
    refusal_ = std::move(why);
    state_ = State::kFetchingToken;
    ports_.fetch_token(TokenNeed::kRefused);
}

void DeviceLink::on_refused(const Error& error) {
    if (state_ != State::kDialing) return;
    const std::int64_t status = http_status(error);
    if (status == 401 || status == 403) {
        return need_new_token(
            fmt::format("the gateway refused this device ({}): {}", status, error.message));
    }
    retry(error.message, error.retry_after.value_or(Milliseconds(0)));
}

void DeviceLink::retry(const std::string& why, Milliseconds at_least) {
    if (!options_.reconnect) return end({DeviceEnd::Reason::kLost, why});
    const Milliseconds wait =
        std::max(backoff_.next(services_.random), std::min(at_least, kMaxRetryAfter));
    state_ = State::kWaiting;
    services_.timers.arm(redial_, services_.clock.steady_now() + wait);
    DeviceEvent lost{.kind = DeviceEvent::Kind::kLost, .message = why, .retry_in = wait};
    ports_.report(lost);
}

void DeviceLink::on_open() {
    if (state_ != State::kDialing) return;
    const SteadyTime now = services_.clock.steady_now();
    state_ = State::kOpen;
    terms_known_ = changes_pending_ = announced_ = token_is_new_ = false;
    refusal_.clear();
    device_.clear();
    backoff_.link_opened(now);
    ports_.send(connect_frame(options_.name, session_id_, instance_));
    ports_.send(register_frame(tools_.list(), ListMode::kMerge));
    for (const Outbox::Reply& kept : outbox_.link_opened(now)) ports_.send(kept.frame);
    // What the last link's gateway said holds until this one has said its own, or else a link that
    // breaks before that would shorten how long replies are kept. Frames that it may not know wait.
    terms_.replaces_lists = terms_.takes_accepted = terms_.takes_progress = terms_.takes_presence =
        false;
    services_.timers.arm(liveness_, now + kDeadAfter);
}

void DeviceLink::on_closed(const net::CloseInfo& info) {
    if (state_ == State::kClosing) return end({DeviceEnd::Reason::kStopped, "stopped"});
    if (state_ != State::kOpen) return;
    const SteadyTime now = services_.clock.steady_now();
    gather_.disarm();
    liveness_.disarm();
    send_again_.disarm();
    tell_presence_.disarm();
    backoff_.link_lost(now);
    outbox_.link_broke(now +
                       (terms_.resumes ? std::max(terms_.grace, kKeepForResume) : terms_.grace));
    if (info.code == kNormal) {
        return end({DeviceEnd::Reason::kClosedByGateway,
                    "the gateway closed the connection" +
                        (info.reason.empty() ? "" : ": " + info.reason)});
    }
    if (info.code == kTokenExpired)
        return need_new_token("the gateway no longer takes this device's token; pair it again");
    retry(describe(info), Milliseconds(0));
}

void DeviceLink::check_liveness() {
    const SteadyTime dead_at = ports_.last_heard() + kDeadAfter;
    if (services_.clock.steady_now() < dead_at) return services_.timers.arm(liveness_, dead_at);
    ports_.abort();
}

// --- Tools
// ------------------------------------------------------------------------------------------------

void DeviceLink::tools_changed() {
    if (state_ != State::kOpen || gather_.armed()) return;
    services_.timers.arm(gather_, services_.clock.steady_now() + kGatherChanges);
}

void DeviceLink::send_tools() {
    if (!terms_known_) {  // whether it can replace lists comes with `connected`
        changes_pending_ = true;
        return;
    }
    ports_.send(register_frame(tools_.list(),
                               terms_.replaces_lists ? ListMode::kReplace : ListMode::kMerge));
}

void DeviceLink::set_presence(const DevicePresence& presence) {
    if (presence_ == presence) return;
    presence_ = presence;
    if (state_ == State::kOpen && terms_known_ && !tell_presence_.armed())
        services_.timers.arm(tell_presence_, services_.clock.steady_now() + kGatherChanges);
}

void DeviceLink::send_presence() {
    if (state_ == State::kOpen && terms_.takes_presence && presence_)
        ports_.send(presence_frame(*presence_));
}

void DeviceLink::on_registered(json::Element frame) {
    if (const auto rejected = json::get_array(frame, "rejected")) {
        for (const json::Element item : *rejected) {
            DeviceEvent event{.kind = DeviceEvent::Kind::kRejected,
                              .message = fmt::format(
                                  "{}: {}: {}", json::get_string(item, "name").value_or("a tool"),
                                  json::get_string(item, "code").value_or("INTERNAL"),
                                  json::get_string(item, "message").value_or("refused"))};
            ports_.report(event);
        }
    }
    if (std::exchange(announced_, true)) return;
    DeviceEvent event{.kind = DeviceEvent::Kind::kConnected,
                      .message = "connected",
                      .session_id = session_id_,
                      .device = device_,
                      .tools = static_cast<std::size_t>(std::max<std::int64_t>(
                          0, json::get_int64(frame, "registered").value_or(0)))};
    ports_.report(event);
}

// --- Frames
// ------------------------------------------------------------------------------------------------

void DeviceLink::on_text(std::string_view text) {
    if (state_ != State::kOpen) return;
    const auto frame = parser_.parse(text);
    if (!frame) return;  // not for us to judge; the link stays
    const json::Element root = frame->element();
    const std::string_view type = json::get_string(root, "type").value_or("");
    if (type == "tool_call_request") {
        on_request(*frame);
    } else if (type == "result_acknowledged") {
        outbox_.acknowledge(json::get_string(root, "id").value_or(""));
    } else if (type == "tool_call_cancel") {
        cancel(json::get_string(root, "id").value_or(""));
    } else if (type == "tools_registered") {
        on_registered(root);
    } else if (type == "session_start") {
        if (const auto id = json::get_string(root, "session_id")) session_id_ = *id;
    } else if (type == "connected") {
        terms_ = read_terms(root);
        terms_known_ = true;
        device_ = json::get_string(root, "device").value_or("");
        if (std::exchange(changes_pending_, false)) send_tools();
        send_presence();
        if (terms_.resumes && outbox_.size() != 0)
            services_.timers.arm(send_again_,
                                 services_.clock.steady_now() + (send_again_in_ = kSendAgain));
    } else if (type == "error") {
        DeviceEvent event{.message = fmt::format("{}: {}",
                                                 json::get_string(root, "code").value_or("ERROR"),
                                                 json::get_string(root, "message").value_or(""))};
        ports_.report(event);
    }
}

void DeviceLink::on_request(const json::Root& request) {
    const json::Element root = request.element();
    const std::string id(json::get_string(root, "id").value_or(""));
    const std::string name(json::get_string(root, "name").value_or(""));
    if (id.empty()) return;
    // One run and one reply per request, however often the gateway asks: it asks again after a
    // break, and when it missed something.
    if (calls_.contains(id)) {
        if (terms_.takes_accepted) ports_.send(accepted_frame(id));
        return;
    }
    if (const Outbox::Reply* kept = outbox_.find(id)) {
        if (terms_.resumes) ports_.send(kept->frame);
        return;
    }
    if (seen_.contains(id)) return;
    const auto tool = tools_.find(name);
    if (!tool)
        return reply(
            id,
            ToolAnswer::error(
                "TOOL_NOT_FOUND",
                fmt::format("this device has no tool `{}` any more; list the tools again", name)));

    const bool has_args = json::get_object(root, "args").has_value();
    const auto left = json::get_int64(root, "deadline_ms");
    const Deadline deadline =
        services_.clock.steady_now() +
        (left && *left > 0 ? Milliseconds(std::min(*left, kMaxDeadlineMs)) : kUsualTimeout);
    seen_.add(id);
    auto state = std::make_shared<CallState>(
        id, name, has_args ? std::string(*request.raw_member("args")) : "{}", deadline,
        options_.on_progress,
        CallOrigin{.traceparent = std::string(json::get_string(root, "traceparent").value_or(""))});
    auto alarm = std::make_unique<Alarm>([this, id] { on_deadline(id); });
    services_.timers.arm(*alarm, deadline);
    calls_.emplace(id, Running{state, std::move(alarm)});
    if (!ports_.run(std::move(state), tool, terms_.uploads)) {
        calls_.erase(id);
        return reply(
            id, ToolAnswer::error("RATE_LIMITED",
                                  "this device is busy with other calls; try again in a moment"));
    }
    if (terms_.takes_accepted) ports_.send(accepted_frame(id));
}

void DeviceLink::on_deadline(const std::string& call_id) {
    auto node = calls_.extract(call_id);  // keeps alarm and key alive to the end
    node.mapped().state->cancel();
    reply(node.key(), ToolAnswer::error("TIMEOUT", "the tool did not end before the deadline"));
}

void DeviceLink::cancel(std::string_view call_id) {
    const auto found = calls_.find(std::string(call_id));
    if (found == calls_.end()) return;
    const auto state = std::move(found->second.state);
    calls_.erase(found);  // no reply is needed, and none will be sent
    state->cancel();
}

void DeviceLink::finish(const std::string& call_id, const ToolAnswer& answer) {
    if (calls_.erase(call_id) != 0) reply(call_id, answer);
}

void DeviceLink::finish_uploaded(const std::string& call_id, const std::string& artifact_id) {
    if (calls_.erase(call_id) != 0) deliver(call_id, artifact_frame(call_id, artifact_id));
}

void DeviceLink::progress(const std::string& call_id, const ToolProgress& progress) {
    if (state_ == State::kOpen && terms_.takes_progress && calls_.contains(call_id))
        ports_.send(progress_frame(call_id, progress));
}

void DeviceLink::reply(const std::string& call_id, const ToolAnswer& answer) {
    std::string frame = reply_frame(call_id, answer);
    if (frame.size() > terms_.max_message_bytes) {  // it would close the link, again and again
        frame = reply_frame(
            call_id, ToolAnswer::error(
                         "OVERSIZE",
                         fmt::format("the result takes {} bytes, and {} are allowed; ask for less",
                                     frame.size(), terms_.max_message_bytes)));
    }
    deliver(call_id, std::move(frame));
}

void DeviceLink::deliver(const std::string& call_id, std::string frame) {
    if (state_ == State::kOpen) ports_.send(frame);
    outbox_.add(call_id, std::move(frame));
    if (state_ == State::kOpen && terms_.resumes && !send_again_.armed())
        services_.timers.arm(send_again_,
                             services_.clock.steady_now() + (send_again_in_ = kSendAgain));
}

/// What was not acknowledged within kSendAgain may have been lost on a link that lives, by a proxy
/// that spoiled it.
void DeviceLink::send_again() {
    if (state_ != State::kOpen || outbox_.size() == 0) return;
    for (const Outbox::Reply& kept : outbox_.unacknowledged()) ports_.send(kept.frame);
    send_again_in_ = std::min(2 * send_again_in_, kSendAgainAtMost);
    services_.timers.arm(send_again_, services_.clock.steady_now() + send_again_in_);
}

}  // namespace crab::sdk
