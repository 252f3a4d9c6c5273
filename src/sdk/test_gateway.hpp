#pragma once

#include "json/value.hpp"
#include "json/writer.hpp"
#include "net/http/test_support.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

/// A gateway that does what a test tells it: it greets devices, writes down their frames, and
/// answers callers from a script.
namespace crab::sdk::test {

class FakeGateway final : public net::HttpService {
public:
    explicit FakeGateway(bool unix_socket = false) : server_(clock_, *this, {}, unix_socket) {}
    ~FakeGateway() override { server_.stop(); }

    std::string url(std::string_view scheme) const {
        return std::string(scheme) + "://" + server_.endpoint().text() + "/base/";
    }
    std::string unix_url() const { return server_.endpoint().text(); }

    /// The token that it takes; empty: any.
    void set_token(std::string token) {
        const std::scoped_lock lock(mutex_);
        token_ = std::move(token);
    }
    /// The next frame of that type that some device sends; others are skipped. Fails the test when
    /// none comes.
    json::Value wait_for(std::string_view type) { return wait_for_any({type}); }
    json::Value wait_for_any(std::initializer_list<std::string_view> types) {
        std::unique_lock lock(mutex_);
        while (true) {
            while (!frames_.empty()) {
                json::Value frame = std::move(frames_.front());
                frames_.pop_front();
                if (std::ranges::find(types, *frame.find("type")->as_string()) != types.end())
                    return frame;
            }
            if (changed_.wait_for(lock, std::chrono::milliseconds(net::test::kPatienceMs)) ==
                std::cv_status::timeout) {
                ADD_FAILURE() << "no frame " << *types.begin() << " came";
                return {};
            }
        }
    }
    struct Upload {
        std::string target, content_type, digest, authorization, body;
    };
    /// From the next connection on, devices are told to upload beyond 256 KiB; each upload is the
    /// artifact `a1`.
    void take_uploads() {
        const std::scoped_lock lock(mutex_);
        takes_uploads_ = true;
    }
    /// So many uploads lose their connection in the middle.
    void break_uploads(int count) {
        const std::scoped_lock lock(mutex_);
        broken_uploads_ = count;
    }
    /// Answers uploads so; `count` of them if it is above zero, else all.
    void refuse_uploads(std::string body, int status = 507, int count = 0,
                        std::string retry_after = {}) {
        const std::scoped_lock lock(mutex_);
        retry_after_ = std::move(retry_after);
        refusal_ = std::move(body);
        refusal_status_ = status;
        refusals_ = count;
    }
    std::vector<Upload> uploads() {
        const std::scoped_lock lock(mutex_);
        return uploads_;
    }
    /// To the device that connected last.
    void send(std::string frame) {
        server_.thread.run([&] {
            if (session_) session_->send_text(frame);
        });
    }
    void request(const std::string& id, const std::string& tool, const std::string& args = "{}") {
        send(R"({"type":"tool_call_request","id":")" + id + R"(","name":")" + tool +
             R"(","args":)" + args + R"(,"deadline_ms":20000})");
    }
    void close(std::uint16_t code, std::string_view reason) {
        server_.thread.run([&] {
            if (session_) session_->close(code, reason);
        });
    }
    void break_link() {
        server_.thread.run([&] {
            if (session_) session_->abort();
        });
    }
    net::CloseInfo wait_for_close() {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, std::chrono::milliseconds(net::test::kPatienceMs),
                                      [this] { return !closes_.empty(); }));
        if (closes_.empty()) return {};
        net::CloseInfo first = closes_.front();
        closes_.pop_front();
        return first;
    }
    std::vector<std::string> targets() {
        const std::scoped_lock lock(mutex_);
        return targets_;
    }
    std::size_t connections() { return server_.connections(); }

    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer&) override {
        const std::scoped_lock lock(mutex_);
        targets_.emplace_back(request.target());
        if (!token_.empty() && request.find("authorization") != "Bearer " + token_) {
            return net::Refusal{.status = 401,
                                .body = R"({"error":"no such token","code":"UNAUTHENTICATED"})"};
        }
        return net::AcceptUpgrade{.handler = std::make_shared<Chat>(*this)};
    }

    bool streams_body(const net::HttpRequest& request) override {
        return request.path().ends_with("/up");
    }
    net::RequestBodyLimits limits_for(const net::HttpRequest&) override {
        return {.max_bytes = std::size_t{8} << 20};
    }

    Task<void> take_upload(net::HttpExchange& exchange) {
        const net::HttpRequest& request = exchange.request();
        Upload upload{.target = std::string(request.target()),
                      .content_type = std::string(request.find("content-type").value_or("")),
                      .digest = std::string(request.find("content-digest").value_or("")),
                      .authorization = std::string(request.find("authorization").value_or("")),
                      .body = {}};
        bool breaks = false;
        std::string refusal, retry_after;
        int status = 0;
        {
            const std::scoped_lock lock(mutex_);
            breaks = broken_uploads_ > 0 && broken_uploads_-- > 0;
            refusal = refusal_;
            retry_after = retry_after_;
            status = refusal_status_;
            if (refusals_ > 0 && --refusals_ == 0) refusal_.clear();
        }
        if (!refusal.empty() && !retry_after.empty())
            co_return exchange.respond(status, "application/json", refusal,
                                       {{"Retry-After", retry_after}});
        if (!refusal.empty()) co_return exchange.respond(status, "application/json", refusal);
        for (auto piece = co_await exchange.read_body(); piece && !piece->empty();
             piece = co_await exchange.read_body()) {
            upload.body += *piece;
            if (breaks)
                co_return exchange.request().connection->close_now(net::CloseReason::kLocal);
        }
        const std::scoped_lock lock(mutex_);
        uploads_.push_back(std::move(upload));
        exchange.respond(201, "application/json",
                         R"({"artifact":"a1","bytes":1,"expires_at":"2030-01-01T00:00:00Z"})");
    }

    Task<void> serve(net::HttpExchange& exchange) override {
        const std::string_view path = exchange.request().path();
        if (path.ends_with("/up")) co_return co_await take_upload(exchange);
        const auto body = json::Value::parse(exchange.request().body);
        if (path.ends_with("/pair")) {
            const bool good = exchange.request().find("x-pairing-code") == "1234-5678-9012";
            if (good)
                exchange.respond(
                    200, "application/json",
                    R"({"paired":true,"persisted":true,"token":"fresh","message":"ok"})");
            if (!good) exchange.respond_error(403, "FORBIDDEN", "wrong code");
        } else if (exchange.request().find("authorization") != "Bearer t1") {
            exchange.respond_error(401, "UNAUTHENTICATED", "a token is needed");
        } else if (path.ends_with("/v1/tools")) {
            exchange.respond(200, "application/json",
                             R"({"version":"v1","service":"fake","tools":[{"name":"kitchen__lamp",)"
                             R"("description":"A lamp",
                "input_schema":{"type":"object"},"output_schema":{},"timeout_ms_default":500,)"
                             R"("timeout_ms_max":1000,"idempotent":true,"side_effects":true}]})");
        } else if (path.ends_with("/v1/tools/call")) {
            call(exchange, *body);
        } else if (path.ends_with("/v1/tools/cancel")) {
            exchange.respond(200, "application/json",
                             R"({"version":"v1","call_id":"c","status":"cancelling"})");
        } else {
            exchange.respond_error(404, "NOT_FOUND", "no such path");
        }
        co_return;
    }

private:
    class Chat final : public net::WebSocketHandler {
    public:
        explicit Chat(FakeGateway& gateway) : gateway_(gateway) {}
        void on_open(net::WebSocketSession& session) override {
            gateway_.session_ = session.shared_from_this();
            session.send_text(R"({"type":"session_start","v":1,"session_id":"s 1","resumed":false,)"
                              R"("message_count":0})");
        }
        void on_text(net::WebSocketSession& session, std::span<char> text) override {
            const auto frame = json::Value::parse({text.data(), text.size()});
            ASSERT_TRUE(frame) << std::string(text.data(), text.size());
            if (*frame->find("type") == json::Value("connect")) {
                const std::scoped_lock lock(gateway_.mutex_);
                const std::string uploads =
                    gateway_.takes_uploads_
                        ? R"("artifacts":{"upload":"/up","inline_bytes":262144,)"
                          R"("max_bytes":8000000},)"
                        : "";
                session.send_text(
                    R"({"type":"connected","v":1,"message":"hello","device":"kitchen",)"
                    R"("grace_ms":15000,"max_message_bytes":8388608,)" +
                    uploads +
                    R"("capabilities":["register_tools.replace","tool_call_accepted",)"
                    R"("tool_call_progress","presence"]})");
            } else if (*frame->find("type") == json::Value("register_tools")) {
                const std::string count = std::to_string(frame->find("tools")->as_array()->size());
                session.send_text(R"({"type":"tools_registered","count":)" + count +
                                  R"(,"registered":)" + count + "}");
            }
            const std::scoped_lock lock(gateway_.mutex_);
            gateway_.frames_.push_back(*frame);
            gateway_.changed_.notify_all();
        }
        void on_closed(net::WebSocketSession& session, const net::CloseInfo& info) override {
            if (gateway_.session_.get() == &session) gateway_.session_.reset();
            const std::scoped_lock lock(gateway_.mutex_);
            gateway_.closes_.push_back(info);
            gateway_.changed_.notify_all();
        }

    private:
        FakeGateway& gateway_;
    };

    /// `echo` gives its request back as the result; `fail` fails; `garbage` breaks the protocol;
    /// with SSE two frames come first.
    static void call(net::HttpExchange& exchange, const json::Value& request) {
        const std::string tool = *request.find("tool_name")->as_string();
        std::string answer = R"({"version":"v1","call_id":)" + request.find("call_id")->dump() +
                             R"(,"tool_name":)" + request.find("tool_name")->dump();
        if (tool == "fail") {
            answer +=
                R"(,"status":"error","duration_ms":3,"error":{"code":"INVALID_ARGS",)"
                R"("message":"/limit: at most 100","retryable":false,"details":{"errors":[]}}})";
        } else {
            answer += R"(,"status":"ok","duration_ms":12,"result":)" + request.dump() +
                      R"(,"logs":["one"]})";
        }
        if (tool == "garbage") answer = "<html>";
        const auto accept = exchange.request().find("accept");
        if (accept != "text/event-stream" || tool == "refused") {
            if (tool == "refused") return exchange.respond(400, "application/json", answer);
            return exchange.respond(200, "application/json", answer, {{"Crab-Replayed", "true"}});
        }
        exchange.start_stream(200, "text/event-stream");
        exchange.write_chunk(
            "event: progress\ndata: {\"message\":\"warming up\",\"progress\":2,\"total\":5}\n\n");
        exchange.write_chunk(
            "event: frame\ndata: "
            "{\"frame_no\":1,\"final\":false,\"content_type\":\"text/plain\",\"data\":\"hel");
        exchange.write_chunk(
            "lo\"}\n\nevent: frame\ndata: "
            "{\"frame_no\":2,\"final\":true,\"content_type\":\"application/"
            "octet-stream\",\"data_base64\":\"AAH/\"}\n\n");
        exchange.write_chunk("event: result\ndata: " + answer + "\n\n");
        exchange.end_stream();
    }

    RealClock clock_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<json::Value> frames_;
    std::deque<net::CloseInfo> closes_;
    std::vector<std::string> targets_;
    std::vector<Upload> uploads_;
    std::string refusal_, retry_after_;
    int refusal_status_ = 507, refusals_ = 0;
    int broken_uploads_ = 0;
    bool takes_uploads_ = false;
    std::string token_;
    std::shared_ptr<net::WebSocketSession> session_;  // on the server's loop
    net::test::ServerThread server_;
};

}  // namespace crab::sdk::test
