#include "net/http/blocking_client.hpp"

#include "base/task/spawn.hpp"
#include "net/codec/http_text.hpp"
#include "net/http/http_client.hpp"
#include "net/loop/event_loop.hpp"

#include <exception>
#include <limits>
#include <utility>

namespace crab::net {
namespace {

constexpr std::chrono::hours kLong{24};

}  // namespace

std::optional<std::string_view> ClientResponse::find(std::string_view lower_case_name) const {
    for (const auto& [name, value] : headers) {
        if (equals_lower(name, lower_case_name)) return value;
    }
    return std::nullopt;
}

/// One request and what comes back. The callbacks' exceptions wait here: none may pass the loop.
class BlockingClient::Conversation final : public HttpBodySink, public HttpBodySource {
public:
    Conversation(const ClientRequest& request, const Options& options, const OnBody& on_body)
        : request_(request), options_(options), on_body_(on_body) {
        for (const auto& [name, value] : request.headers) headers_.push_back({name, value});
    }
    HttpCall call() {
        return {.method = request_.method,
                .target = request_.target,
                .content_type = {},
                .body = request_.next_piece ? std::string_view() : request_.body,
                .headers = headers_,
                .source = request_.next_piece ? this : nullptr,
                .sink = this,
                .max_body_bytes =
                    on_body_ ? std::numeric_limits<std::uint64_t>::max() : options_.max_body_bytes};
    }
    bool takes(const HttpReply& head) override {
        response_.status = head.status;
        response_.headers = head.headers;
        return true;
    }
    bool on_body(std::string_view piece) override {
        if (!on_body_) {
            response_.body += piece;
            return true;
        }
        try {
            enough_ = !on_body_(piece);
        } catch (...) {
            failure_ = std::current_exception();
        }
        return !enough_ && !failure_;
    }
    Milliseconds patience() const override { return options_.io_timeout; }
    std::uint64_t size() const override { return request_.streamed_bytes; }
    std::string_view next() override {
        try {
            return request_.next_piece();
        } catch (...) {
            failure_ = std::current_exception();
        }
        return {};
    }
    /// Throws what a callback threw.
    Result<ClientResponse> end(HttpResult result) {
        if (failure_) std::rethrow_exception(failure_);
        if (!result && !enough_) return fail(std::move(result.error().error));
        return std::move(response_);
    }

private:
    const ClientRequest& request_;
    const Options& options_;
    const OnBody& on_body_;
    std::vector<HttpHeader> headers_;
    ClientResponse response_;
    bool enough_ = false;
    std::exception_ptr failure_;
};

struct BlockingClient::Own {
    Own(Endpoint where, Options given)
        : endpoint(std::move(where)),
          options(std::move(given)),
          limits{.stall = kLong, .handshake = options.connect_timeout},
          http(loop, authority(),
               {.max_connections = 1, .connect = options.connect_timeout, .idle = kLong}) {}
    ~Own() { http.close(); }

    HttpAuthority authority() {
        HttpAuthority made;
        made.host = !options.host_header.empty() ? options.host_header
                    : endpoint.is_unix()         ? "localhost"
                                                 : endpoint.text();
        made.find_server = [this](Deadline) -> Task<Result<DialTarget>> {
            auto addresses = resolve(endpoint);
            if (!addresses) co_return fail(std::move(addresses.error()));
            DialTarget target;
            target.addresses = std::move(*addresses);
            target.tls = options.tls;
            target.server_name = options.server_name.empty() ? endpoint.host : options.server_name;
            target.text = endpoint.text();
            target.limits = &limits;
            co_return target;
        };
        return made;
    }

    /// Runs the loop on this thread until the answer is there.
    HttpResult run(const HttpCall& call, Deadline deadline) {
        std::optional<HttpResult> result;
        std::exception_ptr failure;
        bool ended = false;
        spawn(loop.executor(), http.send(call, deadline),
              [&](const std::exception_ptr& thrown, std::optional<HttpResult> value) {
                  failure = thrown;
                  result = std::move(value);
                  ended = true;
              });
        while (!ended) loop.run_some(kLong);
        if (failure) std::rethrow_exception(failure);
        return std::move(*result);
    }

    const Endpoint endpoint;
    const Options options;
    const ConnectionLimits limits;  // silence and slowness are judged by io_timeout alone
    const RealClock clock;
    EventLoop loop{clock};
    HttpClient http;
};

BlockingClient::BlockingClient(Endpoint endpoint, Options options)
    : own_(std::make_unique<Own>(std::move(endpoint), std::move(options))) {}

BlockingClient::~BlockingClient() = default;

void BlockingClient::close() { own_->http.retire(); }

Result<ClientResponse> BlockingClient::send(const ClientRequest& request, Deadline deadline,
                                            const OnBody& on_body) {
    own_->loop.run_some(Milliseconds(0));  // a kept connection may have been closed meanwhile
    const bool kept = own_->http.connections() != 0;
    Conversation conversation(request, own_->options, on_body);
    const HttpCall call = conversation.call();
    HttpResult result = own_->run(call, deadline);
    // The server may have closed the kept connection just now. What was sent may still have been
    // handled, so only what changes nothing is sent again.
    const bool safe = request.method == "GET" || request.method == "HEAD";
    if (!result && result.error().error.code == ErrorCode::kUnavailable && kept && safe &&
        !result.error().answered)
        result = own_->run(call, deadline);
    Result<ClientResponse> response = conversation.end(std::move(result));
    // Whoever reads the error has several servers: it says which.
    const std::string at = own_->endpoint.text();
    if (!response && response.error().message.find(at) == std::string::npos)
        response.error().message = fmt::format("{}: {}", at, response.error().message);
    return response;
}

}  // namespace crab::net
