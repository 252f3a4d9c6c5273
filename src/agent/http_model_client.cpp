#include "agent/http_model_client.hpp"

#include "base/log.hpp"
#include "base/task/waiter.hpp"
#include "net/codec/sse.hpp"

#include <algorithm>

namespace crab::agent {
namespace {

constexpr std::size_t kMostEvent = std::size_t{2} << 20;
constexpr std::size_t kMostBody = std::size_t{64} << 20;
constexpr Milliseconds kAfterTheEnd{1'000};     // for the connection to become free again
// for what may follow a whole answer: usage, the end
constexpr Milliseconds kAfterTheAnswer{5'000};
const net::HttpClientOptions kHttpOptions{.max_connections = 1'024,
                                          .max_waiting = 4'096,
                                          .max_body_bytes = kMostBody,
                                          .connect = Milliseconds(10'000),
                                          .idle = Milliseconds(30'000)};

/// Feeds what comes to an answer's reader.
class EventBody final : public net::HttpBodySink {
public:
    EventBody(AnswerReader& reader, Milliseconds silence) : reader_(reader), silence_(silence) {}

    bool takes(const net::HttpReply& head) override {
        took_ = head.status == 200 &&
                head.find("content-type").value_or("").starts_with("text/event-stream");
        return took_;
    }
    bool on_body(std::string_view piece) override {
        for (;;) {
            const net::SseEvent event = parser_.next(piece);
            switch (event.kind) {
                case net::SseEvent::Kind::kNeedMore: return true;
                case net::SseEvent::Kind::kRefused:
                    broken = Error{.code = ErrorCode::kOversize,
                                   .message = "one event of the model's stream is too large"};
                    return false;
                case net::SseEvent::Kind::kEvent: break;
            }
            if (auto taken = reader_.on_event(event.type, event.data); !taken) {
                broken = std::move(taken.error());
                return false;
            }
        }
    }
    Milliseconds patience() const override {
        if (reader_.finished()) return kAfterTheEnd;
        return reader_.whole() ? std::min(kAfterTheAnswer, silence_) : silence_;
    }
    bool took() const { return took_; }

    std::optional<Error> broken;   ///< why the stream was given up

private:
    AnswerReader& reader_;
    const Milliseconds silence_;
    net::SseParser parser_{kMostEvent};
    bool took_ = false;
};

}  // namespace

/// The result of one request.
struct HttpModelClient::Attempt {
    Result<ModelAnswer> answer;
    bool may_repeat = false;                 ///< nothing received; a retry may succeed
    std::optional<Milliseconds> asked{};     ///< Retry-After
};

namespace {

/// Some servers do not stream what they are asked to stream, and answer with all of it at once.
Result<ModelAnswer> whole_answer(AnswerReader& reader, std::string_view body) {
    const std::size_t first = body.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || body[first] != '{')
        return fail(ErrorCode::kInternal,
                    "the model's server answered with neither an event stream nor JSON");
    if (auto read = reader.on_whole(body); !read) return fail(std::move(read.error()));
    if (!reader.whole())
        return fail(ErrorCode::kInternal,
                    "the model's server answered with JSON that holds no answer");
    return reader.take();
}

}  // namespace

HttpModelClient::~HttpModelClient() {
    if (client_) client_->close();
}

Task<Result<std::shared_ptr<net::HttpClient>>> HttpModelClient::client(Deadline deadline) {
    if (client_) co_return client_;
    const net::Endpoint endpoint = net::Endpoint::tcp(model_->url.host, model_->url.port);
    auto addresses = co_await names_.find(loop_, endpoint, deadline);
    if (!addresses) co_return fail(std::move(addresses.error()));
    if (!client_) {  // another request may have been faster
        net::HttpAuthority authority{.server = {.addresses = std::move(*addresses),
                                                .tls = model_->tls,
                                                .server_name = model_->url.host},
                                     .host = model_->url.host_field(),
                                     .check_certificate = {}};
        client_ = std::make_shared<net::HttpClient>(loop_, std::move(authority), kHttpOptions);
    }
    co_return client_;
}

Task<HttpModelClient::Attempt> HttpModelClient::attempt(const net::HttpCall& call, AnswerSink& sink,
                                                        Deadline deadline) {
    const auto reader = model_->api->reader(sink);
    EventBody body(*reader, model_->silence);
    net::HttpCall streamed = call;
    streamed.sink = &body;
    auto connected = co_await client(deadline);
    if (!connected)
        co_return Attempt{
            .answer = fail(ErrorCode::kUnavailable,
                           "the model's server is not found: " + connected.error().message),
            .may_repeat = true};
    const std::shared_ptr<net::HttpClient> http = *connected;
    net::HttpResult reply = co_await http->send(streamed, deadline);
    if (body.broken)
        co_return Attempt{
            .answer = fail(*body.broken),
            .may_repeat = !reader->heard() && body.broken->code == ErrorCode::kUnavailable};
    // also when it did not end as it should
    if (body.took() && reader->whole()) co_return Attempt{.answer = reader->take()};
    if (!reply) {
        const Error& error = reply.error().error;
        // unreachable: the name may resolve to another address by now
        if (!reply.error().written && client_ == http) {
            client_->close();
            client_ = nullptr;
        }
        if (error.code == ErrorCode::kCancelled) co_return Attempt{.answer = fail(error)};
        const bool lost = error.code == ErrorCode::kUnavailable;
        const ErrorCode code =
            error.code == ErrorCode::kOversize ? ErrorCode::kOversize : ErrorCode::kUnavailable;
        co_return Attempt{
            .answer =
                fail(code, "the model's server cannot be reached or broke off: " + error.message),
            .may_repeat = lost && !reader->heard()};
    }
    if (body.took())
        co_return Attempt{.answer = fail(ErrorCode::kUnavailable, "the model's stream broke off"),
                          .may_repeat = !reader->heard()};
    if (reply->status == 200) co_return Attempt{.answer = whole_answer(*reader, reply->body)};
    Error refused = refusal(reply->status, refusal_text(reply->body));
    const auto asked = refused.retry_after = reply->retry_after(loop_.clock().system_now());
    co_return Attempt{.answer = fail(std::move(refused)),
                      .may_repeat = RetryRule::helps(reply->status),
                      .asked = asked};
}

Task<Result<ModelAnswer>> HttpModelClient::ask(const ModelRequest& request, AnswerSink& sink,
                                               Deadline deadline) {
    std::vector<std::string_view> offered;
    for (const OfferedToolRef& tool : request.tools) offered.emplace_back(tool->name);
    const ToolNames names(offered);
    std::string body;
    model_->api->write(body, request, names, model_->settings);
    const std::string target = model_->url.path + std::string(model_->api->path());
    const net::OwnedHeaders owned = model_->api->headers(model_->key);
    std::vector<net::HttpHeader> headers;
    for (const auto& [name, value] : owned) headers.push_back({name, value});
    if (!request.traceparent.empty()) headers.push_back({"traceparent", request.traceparent});
    const net::HttpCall call{.method = "POST",
                             .target = target,
                             .content_type = "application/json",
                             .body = body,
                             .headers = headers,
                             .sink = nullptr};
    for (int repeat = 0;; ++repeat) {
        Attempt made = co_await attempt(call, sink, deadline);
        if (made.answer) {
            made.answer->reasoning.model = model_->settings.model;
            // nobody wants it back
            if (!model_->settings.return_reasoning && model_->settings.thinking_tokens <= 0)
                made.answer->reasoning.text.clear();
            for (ToolRequest& each : made.answer->requests) each.tool = names.to_gateway(each.tool);
            co_return std::move(made.answer);
        }
        const auto delay = made.may_repeat
                               ? model_->retry.delay(repeat, made.asked, loop_.ids().random())
                               : std::nullopt;
        if (!delay || loop_.clock().steady_now() + *delay >= deadline)
            co_return std::move(made.answer);
        log::info("model asked again", {{"provider", model_->provider},
                                        {"model", model_->settings.model},
                                        {"reason", made.answer.error().message},
                                        {"delay_ms", delay->count()}});
        Waiter pause(loop_.timers());
        if (co_await pause.wait(loop_.clock().steady_now() + *delay) == WaitEnd::kCancelled)
            co_return fail(ErrorCode::kCancelled, "the request was cancelled");
    }
}

}  // namespace crab::agent
