#include "sdk/http_tool_transport.hpp"

#include "base/id_source.hpp"
#include "net/codec/sse.hpp"
#include "net/http/blocking_client.hpp"
#include "sdk/call_wire.hpp"
#include "sdk/wire_error.hpp"

#include <mutex>
#include <utility>

namespace crab::sdk {
namespace {

constexpr Milliseconds kLongestCall{120'000};
// the gateway decides about timeouts; this is for one that says nothing
constexpr Milliseconds kHttpMargin{5'000};
constexpr Milliseconds kListingTime{30'000};
constexpr std::size_t kMaxEventBytes = std::size_t{16} << 20;

CallResult no_answer(std::string call_id, ToolError error) {
    return {.status = CallResult::Status::kNoAnswer,
            .call_id = std::move(call_id),
            .error = std::move(error)};
}

/// Takes the events of a streamed call apart.
class EventReader {
public:
    EventReader(const StreamCallbacks& callbacks, std::string_view call_id)
        : callbacks_(callbacks), call_id_(call_id), parser_(kMaxEventBytes) {}

    /// False ends the stream: the caller has enough, or what came is too large.
    bool take(std::string_view part) {
        while (true) {
            const net::SseEvent event = parser_.next(part);
            if (event.kind == net::SseEvent::Kind::kRefused) return false;
            if (event.kind == net::SseEvent::Kind::kNeedMore) return true;
            if (event.type == "result") {
                result_ = read_call_response(event.data, call_id_);
            } else if (event.type == "frame" && callbacks_.on_frame) {
                const auto frame = read_frame(event.data);
                if (frame && !callbacks_.on_frame(*frame)) {
                    enough_ = true;
                    return false;
                }
            } else if (event.type == "progress" && callbacks_.on_progress) {
                tell_progress(event.data);
            }
        }
    }
    const std::optional<CallResult>& result() const { return result_; }
    bool enough() const { return enough_; }  ///< a callback said so

private:
    void tell_progress(std::string_view data) const {
        const auto body = json::Value::parse(data);
        if (!body) return;
        const json::Value* progress = body->find("progress");
        const json::Value* total = body->find("total");
        const std::string* text = body->find_string("message");
        callbacks_.on_progress(text != nullptr ? std::string_view(*text) : std::string_view(),
                               progress != nullptr ? progress->as_double() : std::nullopt,
                               total != nullptr ? total->as_double() : std::nullopt);
    }

    const StreamCallbacks& callbacks_;
    std::string_view call_id_;
    net::SseParser parser_;
    std::optional<CallResult> result_;
    bool enough_ = false;
};

class HttpToolTransport final : public ToolTransport {
public:
    HttpToolTransport(GatewayAddress address, std::shared_ptr<net::TlsContext> tls,
                      std::string token, ToolClientOptions options)
        : options_(std::move(options)),
          address_(std::move(address)),
          tls_(std::move(tls)),
          token_(std::move(token)),
          ids_(clock_) {}

    std::expected<std::vector<ToolInfo>, ToolError> list() override {
        const auto response = send("GET", "/v1/tools", {}, "application/json", kListingTime);
        if (!response) return std::unexpected(to_tool_error(response.error()));
        if (response->status != 200)
            return std::unexpected(read_refusal(response->status, response->body));
        return read_tools(response->body);
    }

    std::expected<CancelStatus, ToolError> cancel(const std::string& call_id,
                                                  const std::string& tenant_id) override {
        const auto response = send("POST", "/v1/tools/cancel", cancel_request(call_id, tenant_id),
                                   "application/json", kListingTime);
        if (!response) return std::unexpected(to_tool_error(response.error()));
        const auto status =
            response->status == 200 ? read_cancel_status(response->body) : std::nullopt;
        if (!status) return std::unexpected(read_refusal(response->status, response->body));
        return *status;
    }

    CallResult call(const std::string& tool, const std::string& args, const CallOptions& options,
                    const StreamCallbacks* callbacks) override {
        const std::string call_id = options.call_id.empty() ? fresh_id() : options.call_id;
        auto body = call_request(tool, args, call_id, options);
        if (!body)
            return no_answer(
                call_id, {.code = "INVALID_ARGS",
                          .message = "the arguments must be one JSON object; nothing was sent"});

        EventReader reader(callbacks != nullptr ? *callbacks : kNoCallbacks, call_id);
        net::BlockingClient::OnBody on_body;
        // an answer that is not a stream of events: a refusal before the call began
        std::string plain;
        if (callbacks != nullptr) {
            on_body = [&](std::string_view part) {
                if (plain.size() < 64 * 1024) plain.append(part.substr(0, 64 * 1024));
                return reader.take(part);
            };
        }
        const Milliseconds timeout =
            (options.timeout.count() > 0 ? options.timeout : kLongestCall) + kHttpMargin;
        const auto response =
            send("POST", "/v1/tools/call", *std::move(body),
                 callbacks != nullptr ? "text/event-stream" : "application/json", timeout, on_body);
        if (reader.result()) return *reader.result();  // even if the stream broke behind it
        if (reader.enough())
            return no_answer(call_id,
                             {.code = "CANCELLED", .message = "the caller had enough and hung up"});
        if (!response) {
            // The request may have been written: whoever repeats it should use an idempotency key.
            ToolError error = to_tool_error(response.error());
            error.retryable = !options.idempotency_key.empty();
            return no_answer(call_id, std::move(error));
        }
        const std::string& text = response->body.empty() ? plain : response->body;
        auto result = read_call_response(text, call_id);
        if (!result) return no_answer(call_id, read_refusal(response->status, text));
        result->replayed = response->find("crab-replayed") == "true";
        return *std::move(result);
    }

private:
    Result<net::ClientResponse> send(std::string method, std::string_view path, std::string body,
                                     std::string_view accept, Milliseconds timeout,
                                     const net::BlockingClient::OnBody& on_body = {}) {
        net::ClientRequest request;
        request.method = std::move(method);
        request.target = address_.prefix + std::string(path);
        request.headers.emplace_back("Accept", accept);
        if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
        if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
        request.body = std::move(body);
        auto connection = take();
        auto response = connection->send(request, clock_.steady_now() + timeout, on_body);
        if (response) give_back(std::move(connection));
        return response;
    }

    static inline const StreamCallbacks kNoCallbacks{};

    std::string fresh_id() {
        const std::scoped_lock lock(mutex_);
        return std::string(ids_.uuid_v7().view());
    }
    std::unique_ptr<net::BlockingClient> take() {
        {
            const std::scoped_lock lock(mutex_);
            if (!idle_.empty()) {
                auto connection = std::move(idle_.back());
                idle_.pop_back();
                return connection;
            }
        }
        net::BlockingClient::Options options;
        options.connect_timeout = options_.connect_timeout;
        options.io_timeout = kLongestCall + kHttpMargin;
        options.max_body_bytes = options_.max_reply_bytes;
        options.tls = tls_;
        options.host_header = address_.host;
        return std::make_unique<net::BlockingClient>(address_.endpoint, options);
    }
    void give_back(std::unique_ptr<net::BlockingClient> connection) {
        const std::scoped_lock lock(mutex_);
        if (idle_.size() < options_.kept_connections) idle_.push_back(std::move(connection));
    }

    const ToolClientOptions options_;
    const GatewayAddress address_;
    const std::shared_ptr<net::TlsContext> tls_;
    const std::string token_;
    RealClock clock_;
    std::mutex mutex_;
    IdSource ids_;
    std::vector<std::unique_ptr<net::BlockingClient>> idle_;
};

}  // namespace

Result<std::unique_ptr<ToolTransport>> make_http_transport(GatewayAddress address,
                                                           std::string token,
                                                           ToolClientOptions options) {
    auto tls = client_tls(address, options.ca_file);
    if (!tls) return fail(std::move(tls.error()));
    return std::make_unique<HttpToolTransport>(std::move(address), std::move(*tls),
                                               std::move(token), std::move(options));
}

}  // namespace crab::sdk
