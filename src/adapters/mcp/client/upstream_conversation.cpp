#include "adapters/mcp/client/upstream_conversation.hpp"

#include "adapters/mcp/client/coroutine_ends.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "base/cut_text.hpp"
#include "base/log.hpp"
#include "base/scope_exit.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace crab::mcp {
namespace {

constexpr std::size_t kMostQuestions = 32;  ///< of one request at a time
constexpr std::size_t kMostQuestionsOfACall = 64;
constexpr std::size_t kMostProgressText = 4 << 10;
constexpr std::size_t kMostLogData = 64 << 10;
constexpr std::size_t kMostLogger = 256;
constexpr std::string_view kTooLargeLog = "\"left out by the gateway: more than 64 KiB\"";

/// Whether its result is passed on, or read more than once; entries of lists are judged one by one.
bool needs_one_meaning(std::string_view method) {
    return !method.ends_with("/list") && method != "initialize" && method != "server/discover";
}

constexpr std::array<std::string_view, 8> kLevels{"debug", "info",     "notice", "warning",
                                                  "error", "critical", "alert",  "emergency"};

/// Whether somebody's call has sent it, to which a question or a log message may belong.
bool is_call(const UpstreamExchange& exchange) {
    const std::string_view method = exchange.method;
    return !exchange.over() && method != "subscriptions/listen" && method != "ping" &&
           !method.ends_with("/list");
}

std::size_t rank_of(std::string_view level) {
    return static_cast<std::size_t>(std::ranges::find(kLevels, level) - kLevels.begin());
}

std::optional<double> find_number(std::string_view object, std::string_view name) {
    const auto raw = json::find_raw(object, name);
    double number = 0;
    if (!raw || std::from_chars(raw->data(), raw->data() + raw->size(), number).ec != std::errc())
        return std::nullopt;
    return number;
}

}  // namespace

bool is_lower_level(std::string_view level, std::string_view than) {
    return rank_of(level) < rank_of(than);
}

UpstreamConversation::UpstreamConversation(net::EventLoop& loop,
                                           std::unique_ptr<UpstreamTransport> transport,
                                           Options options)
    : loop_(loop),
      options_(std::move(options)),
      transport_(std::move(transport)),
      parser_(json::Limits{.max_bytes = options_.max_message}),
      last_end_(loop.clock().steady_now()) {
    transport_->read_for(*this);
}

Task<ExchangeEnd> UpstreamConversation::run(Request request) {
    if (!is_open()) {
        Error gone = end_ ? *end_
                          : Error{.code = ErrorCode::kUnavailable,
                                  .message = "the connection to the MCP server was closed"};
        co_return ExchangeEnd{.reply = fail(std::move(gone))};
    }
    const std::int64_t number = ++last_id_;
    UpstreamExchange exchange(loop_.timers(), loop_.executor(), number);
    exchange.method = std::move(request.method);
    exchange.headers = std::move(request.headers);
    exchange.sink = request.sink;
    exchange.inquirer = request.inquirer;
    append_request(exchange.message, exchange.id, exchange.method, request.params(number));
    running_.emplace(number, &exchange);
    const ScopeExit leave([&] {
        running_.erase(number);
        last_end_ = loop_.clock().steady_now();
        if (running_.empty()) idle_.wake();
    });
    if (is_opened_ && era_of(revision_) == Era::kLegacy && exchange.inquirer != nullptr) {
        exchange.limit.emplace(loop_.timers(), loop_.clock(), request.deadline);
        co_await exchange.limit->keep(transport_->run(exchange, kNoDeadline));
    } else {
        co_await transport_->run(exchange, request.deadline);
    }
    const bool cancelled = (co_await this_chain()).cancelled();
    ExchangeEnd end = end_of(exchange, cancelled);
    exchange.inquirer = nullptr;  // nothing more is asked
    exchange.sink = nullptr;
    co_await join(exchange.questions);
    co_return end;
}

ExchangeEnd UpstreamConversation::end_of(UpstreamExchange& exchange, bool cancelled) {
    ExchangeEnd end{
        .reply = fail(ErrorCode::kTimeout, "the MCP server did not answer before the deadline"),
        .may_have_run = exchange.written,
        .http_status = exchange.http_status};
    if (exchange.reply) {
        end.reply = std::move(*exchange.reply);
        end.may_have_run = false;
        return end;
    }
    if (exchange.failure) {
        end.may_have_run = exchange.written && !exchange.refused_unrun;
        end.reply = fail(std::move(*exchange.failure));
    } else if (cancelled) {
        end.reply = fail(ErrorCode::kCancelled, "the call was cancelled");
    }
    if (!exchange.failure)
        cancel_upstream(exchange, cancelled ? "the caller has cancelled it" : "it took too long");
    return end;
}

void UpstreamConversation::cancel_upstream(const UpstreamExchange& exchange,
                                           std::string_view reason) {
    if (transport_->closing_cancels() && era_of(revision_) == Era::kModern) return;
    // The one may not be cancelled; of the other a legacy upstream knows nothing.
    if (exchange.method == "initialize" || exchange.method == "server/discover") return;
    if (!exchange.written) return;
    std::string params;
    json::Writer(params)
        .begin_object()
        .key("requestId")
        .raw(exchange.id.json())
        .key("reason")
        .string(reason)
        .end_object();
    notify("notifications/cancelled", params);
}

void UpstreamConversation::notify(std::string_view method, std::string_view params) {
    if (!is_open()) return;
    std::string message;
    append_notification(message, method, params);
    transport_->send(std::move(message));
}

Task<void> UpstreamConversation::opened(Revision revision, Deadline deadline) {
    revision_ = revision;
    is_opened_ = true;
    transport_->opened(revision);
    if (era_of(revision) == Era::kLegacy) {
        std::string message;
        append_notification(message, "notifications/initialized", {});
        co_await transport_->deliver(std::move(message), deadline);
    }
    co_await transport_->ready(options_.interactive);
}

bool UpstreamConversation::on_message(std::string_view text, UpstreamExchange* carrier) {
    const ScopeExit over([this] { parser_.shrink(); });  // there is one for each session
    const bool batches = is_opened_ && features_of(revision_).batches;
    if (!batches) return take(read_message(text, parser_), carrier);
    auto body = read_body(text, parser_);
    bool any = false;
    if (body)
        for (MessageReading& reading : body->messages) any |= take(std::move(reading), carrier);
    return any;
}

bool UpstreamConversation::take(MessageReading reading, UpstreamExchange* carrier) {
    if (!reading) return false;
    switch (reading->kind) {
        case Message::Kind::kResult:
        case Message::Kind::kError: on_response(*reading, carrier); break;
        case Message::Kind::kNotification: on_notification(*reading, carrier); break;
        case Message::Kind::kRequest: on_request(*reading, carrier); break;
    }
    return true;
}

void UpstreamConversation::on_response(Message& message, UpstreamExchange* carrier) {
    UpstreamExchange* exchange = message.id ? find(*message.id) : nullptr;
    // An error to an id that the upstream could not read is about what was just sent to it.
    if (!message.id && message.kind == Message::Kind::kError) exchange = carrier;
    if (exchange == nullptr || exchange->over() || (carrier != nullptr && carrier != exchange))
        return drop("an MCP server answers what it was not asked", message);
    if (message.is_ambiguous && needs_one_meaning(exchange->method))
        exchange->fail({.code = ErrorCode::kToolFailed,
                        .message = "the MCP server's answer has two members of one name, so that "
                                   "it means different things to different readers; the call may "
                                   "have taken effect"});
    else if (message.kind == Message::Kind::kResult)
        exchange->end(std::string(message.result));
    else
        exchange->end(std::unexpected(std::move(message.error)));
}

/// The log has the first of a session, the counter all.
void UpstreamConversation::drop(std::string_view why, const Message& message) {
    if (options_.dropped) options_.dropped->fetch_add(1, std::memory_order_relaxed);
    if (std::exchange(has_dropped_, true)) return;
    log::warn(why, {{"source", options_.source},
                    {"id", message.id ? message.id->json() : std::string("none")}});
}

void UpstreamConversation::on_notification(const Message& message, UpstreamExchange* carrier) {
    const std::string_view method = message.method;
    if (method == "notifications/progress") return on_progress(message.params);
    if (method == "notifications/message" && on_log(message.params, carrier)) return;
    if (method == "notifications/cancelled") return;  // an answer that comes late does no harm
    if (listener_ != nullptr) listener_->on_notification(method, message.params);
}

void UpstreamConversation::on_progress(std::string_view params) {
    const auto token = RequestId::read(json::find_raw(params, "progressToken").value_or(""));
    UpstreamExchange* const exchange = token ? find(*token) : nullptr;
    const auto progress = find_number(params, "progress");
    if (exchange == nullptr || exchange->over() || exchange->sink == nullptr || !progress ||
        *progress <= exchange->progress)
        return;
    exchange->progress = *progress;
    if (!exchange->progress_rate.admits(loop_.clock().steady_now())) return;
    const std::string text = json::find_raw_string(params, "message").value_or("");
    core::Progress told{.message = std::string(cut_text(text, kMostProgressText)),
                        .progress = progress,
                        .total = find_number(params, "total")};
    exchange->sink->on_progress(told);
}

/// False when it belongs to no request.
bool UpstreamConversation::on_log(std::string_view params, UpstreamExchange* carrier) {
    UpstreamExchange* const exchange = carrier != nullptr ? carrier : only_one_running();
    if (exchange == nullptr) return false;
    if (exchange->sink == nullptr || exchange->over()) return true;
    const std::string level = json::find_raw_string(params, "level").value_or("");
    const std::string_view wanted = exchange->sink->wanted_log_level();
    if (wanted.empty() || rank_of(level) >= kLevels.size() || is_lower_level(level, wanted))
        return true;
    if (!exchange->log_rate.admits(loop_.clock().steady_now())) return true;
    const std::string logger = json::find_raw_string(params, "logger").value_or("");
    const std::string_view data = json::find_raw(params, "data").value_or("null");
    exchange->sink->on_log({.level = level,
                            .logger = cut_text(logger, kMostLogger),
                            .data = data.size() <= kMostLogData ? data : kTooLargeLog});
    return true;
}

void UpstreamConversation::on_request(const Message& message, UpstreamExchange* carrier) {
    if (is_opened_ && era_of(revision_) == Era::kModern)
        return drop("an MCP server asks in a revision in which it may not", message);
    std::string out;
    const auto refuse = [&](std::int64_t code, std::string why) {
        append_error(out, &*message.id, Era::kLegacy, {.code = code, .message = std::move(why)});
        transport_->send(std::move(out));
    };
    if (message.method == "ping") {
        append_result(out, *message.id, "{}");
        return transport_->send(std::move(out));
    }
    auto question = upstream_question(options_.source, suggested_key(message.params),
                                      message.method, message.params);
    if (!question) return refuse(question.error().code, question.error().message);
    UpstreamExchange* owner = carrier;
    if (owner == nullptr && options_.interactive) owner = only_one_running();
    if (owner == nullptr || owner->over() || owner->inquirer == nullptr)
        return refuse(any_running() ? rpc_code::kInternalError : rpc_code::kMethodNotFound,
                      "no call is running that could be asked");
    if (!may_ask(*question, owner->inquirer->answers(), options_.ask))
        return refuse(rpc_code::kMethodNotFound, "nobody declared to answer that");
    if (owner->questions.size() >= kMostQuestions)
        return refuse(rpc_code::kInternalError, "too many questions at a time");
    if (++owner->asked > kMostQuestionsOfACall)
        return refuse(rpc_code::kInternalError, "too many questions in one call");
    owner->questions.spawn("question of an MCP server",
                           answer(*owner, *message.id, std::move(*question)));
}

Task<void> UpstreamConversation::answer(UpstreamExchange& owner, RequestId id,
                                        core::Question question) {
    if (owner.limit) owner.limit->pause();
    const Result<std::string> answer = co_await owner.inquirer->ask(question);
    if (owner.limit) owner.limit->go_on();
    if ((co_await this_chain()).cancelled()) co_return;
    std::string out;
    if (answer)
        append_result(out, id, *answer);
    else if (const auto result = result_of_failed_question(question, answer.error()))
        append_result(out, id, *result);
    else
        append_error(out, &id, Era::kLegacy, rpc_error_of_question(answer.error()));
    transport_->send(std::move(out));
}

UpstreamExchange* UpstreamConversation::find(const RequestId& id) const {
    const std::int64_t* const number = id.number();
    const auto it = number != nullptr ? running_.find(*number) : running_.end();
    return it == running_.end() ? nullptr : it->second;
}

bool UpstreamConversation::any_running() const {
    return std::ranges::any_of(running_, [](const auto& each) { return is_call(*each.second); });
}

UpstreamExchange* UpstreamConversation::only_one_running() const {
    UpstreamExchange* only = nullptr;
    for (const auto& [number, exchange] : running_) {
        if (!is_call(*exchange)) continue;
        if (only != nullptr) return nullptr;
        only = exchange;
    }
    return only;
}

void UpstreamConversation::on_end(const Error& why) {
    if (end_ || closed_) return;
    end_ = why;
    if (listener_ != nullptr) listener_->on_end(why);
}

Task<void> UpstreamConversation::close() {
    if (std::exchange(closed_, true)) co_return;
    co_await uninterrupted(close_all());
}

Task<void> UpstreamConversation::close_all() {
    co_await transport_->close();
    idle_.reset();
    while (!running_.empty()) co_await idle_.wait();
}

}  // namespace crab::mcp
