#pragma once

#include "adapters/mcp/client/mcp_connector.hpp"
#include "base/task/spawn.hpp"
#include "net/http/test_support.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

/// What the tests of this folder share: a connector on a loop of its own, and what stands at its
/// other end of the process.
namespace crab::mcp::test {

using namespace std::chrono_literals;

/// Keeps what it is told.
class Told final : public core::FrameSink {
public:
    void on_progress(const core::Progress& progress) override {
        const std::scoped_lock lock(mutex);
        all.push_back("progress " + progress.message);
    }
    bool wants_progress() const override { return true; }
    void on_log(const Log& log) override {
        const std::scoped_lock lock(mutex);
        all.push_back("log " + std::string(log.level) + " " + std::string(log.data));
    }
    std::string_view wanted_log_level() const override { return level; }
    void on_deferred() override {
        const std::scoped_lock lock(mutex);
        all.emplace_back("deferred");
    }

    std::string level;
    std::mutex mutex;
    std::vector<std::string> all;
};

/// Answers all questions alike.
class Person final : public core::Inquirer {
public:
    Answers answers() const override { return can; }
    Task<Result<std::string>> ask(core::Question question) override {
        asked.push_back(question.key + " " + question.method + " " + question.params);
        if (hangs) {
            Wakeup never;
            co_await never.wait();
            co_return fail(ErrorCode::kCancelled, "nobody there");
        }
        co_return answer;
    }

    Answers can{.form = true};
    bool hangs = false;
    Result<std::string> answer = R"({"action":"accept","content":{"name":"Ada"}})";
    std::vector<std::string> asked;  // read once the call has ended
};

class Heard final : public UpstreamListener {
public:
    void on_notification(std::string_view method, std::string_view params) override {
        add(std::string(method) + " " + std::string(params));
    }
    void on_end(const Error& why) override { add("end " + why.message); }
    /// Waits for the next.
    std::string next() {
        std::unique_lock lock(mutex_);
        came_.wait_for(lock, 20s, [&] { return !all_.empty(); });
        if (all_.empty()) return "nothing";
        std::string first = std::move(all_.front());
        all_.pop_front();
        return first;
    }

private:
    void add(std::string text) {
        const std::scoped_lock lock(mutex_);
        all_.push_back(std::move(text));
        came_.notify_all();
    }
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<std::string> all_;
};

class ClientTest : public testing::Test {
protected:
    ~ClientTest() override {
        if (session) wait(session->close());
        loop.run([this] { session.reset(); });
        names.settle();
    }

    /// Starts `task` on the loop.
    template <class T>
    std::future<T> begin(Task<T> task, CancelSignal* signal = nullptr) {
        auto promise = std::make_shared<std::promise<T>>();
        auto future = promise->get_future();
        auto shared = std::make_shared<Task<T>>(std::move(task));
        loop.loop.post([this, promise, shared, signal] {
            auto ended = [promise](const std::exception_ptr& failure, std::optional<T> value) {
                if (failure)
                    promise->set_exception(failure);
                else
                    promise->set_value(*std::move(value));
            };
            spawn(loop.loop.executor(), std::move(*shared), std::move(ended), signal);
        });
        return future;
    }
    void wait(Task<void> task) {
        begin([](Task<void> body) -> Task<bool> {
            co_await std::move(body);
            co_return true;
        }(std::move(task)))
            .get();
    }

    UpstreamOptions base_options() {
        UpstreamOptions options;
        options.source = "files";
        options.client_info = R"({"name":"crab","version":"1"})";
        options.start_timeout = 20s;
        return options;
    }
    /// A child that runs this as the body of a `case` over its lines, with `$id` that of the
    /// request and `say` to answer it.
    UpstreamOptions shell(const std::string& cases) {
        UpstreamOptions options = base_options();
        const std::string script =
            R"(say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
fail() { printf '{"jsonrpc":"2.0","id":%s,"error":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
id=${line#*'"id":'}; id=${id%%[,\}]*}
case $line in
)" + cases + R"(
esac
done)";
        options.child = UpstreamChild{.words = {"/bin/sh", "-c", script},
                                      .environment = {"PATH=/usr/bin:/bin"},
                                      .folder = {},
                                      .wrap = {}};
        return options;
    }
    Result<std::shared_ptr<UpstreamSession>> try_to_connect(UpstreamOptions options,
                                                            core::Inquirer::Answers answers = {}) {
        return begin(connector.connect(std::move(options), answers)).get();
    }
    void connect(UpstreamOptions options, core::Inquirer::Answers answers = {}) {
        auto opened = try_to_connect(std::move(options), answers);
        ASSERT_TRUE(opened) << opened.error().message;
        session = std::move(*opened);
        loop.run([this] { session->set_listener(&heard); });
    }
    UpstreamRequest call(std::string tool) {
        UpstreamRequest request;
        request.method = "tools/call";
        request.params = R"({"name":")" + tool + R"(","arguments":{}})";
        request.deadline = clock.steady_now() + 20s;
        request.sink = &told;
        request.inquirer = &person;
        return request;
    }
    Result<UpstreamReply> ask(UpstreamRequest request) {
        return begin(session->request(std::move(request))).get();
    }
    /// The result of a call, or what became of it.
    std::string outcome(UpstreamRequest request) {
        const auto reply = ask(std::move(request));
        if (!reply) return "error " + std::string(token_of(reply.error().code));
        if (!*reply) return "rpc " + std::to_string(reply->error().code);
        return **reply;
    }

    const RealClock clock;
    net::NameLookups names{2};
    net::test::LoopThread loop{clock};
    McpConnector connector{{.loop = loop.loop, .names = names, .tls = nullptr}};
    Told told;
    Person person;
    Heard heard;
    std::shared_ptr<UpstreamSession> session;
};

inline constexpr std::string_view kModernShell =
    R"sh(*'"server/discover"'*) say '{"resultType":"complete",)sh"
    R"sh("supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"Be )sh"
    R"sh(kind.","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake"}}}';;
)sh";
inline constexpr std::string_view kLegacyShell =
    R"sh(*'"server/discover"'*) fail '{"code":-32601,"message":"unknown"}';;
*'"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},)sh"
    R"sh("logging":{}},"serverInfo":{"name":"fake"}}';;
*'"notifications/initialized"'*) ;;
*'"logging/setLevel"'*) say '{}';;
)sh";

}  // namespace crab::mcp::test
