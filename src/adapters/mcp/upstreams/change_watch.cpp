#include "adapters/mcp/upstreams/change_watch.hpp"

#include "base/doubling_delay.hpp"
#include "base/task/waiter.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <utility>

namespace crab::mcp {
namespace {

constexpr DoublingDelay kPause{.first = Milliseconds(1'000), .longest = Milliseconds(60'000)};
constexpr std::chrono::seconds kSubscribeWithin{10};
constexpr std::size_t kMostUris = 256;

}  // namespace

bool has_capability(std::string_view capabilities, std::string_view capability,
                    std::string_view flag) {
    const auto found = json::find_raw(capabilities, capability);
    if (!found || !found->starts_with('{')) return false;
    return flag.empty() || json::find_raw(*found, flag) == "true";
}

void ChangeWatch::start(std::shared_ptr<UpstreamSession> session) {
    session_ = std::move(session);
    subscribed_.clear();
    stopping_ = running_ = again_ = false;
    modern_ = session_->era() == Era::kModern;
    look_again();
}

void ChangeWatch::look_again() {
    if (!session_ || stopping_) return;
    again_ = true;
    if (running_) {
        if (modern_) tasks_.cancel();  // the stream that is open asks for other resources
        return;
    }
    running_ = true;
    tasks_.spawn("changes of an MCP server", modern_ ? listen() : subscribe());
}

std::string ChangeWatch::listen_params() const {
    const std::string& has = session_->server_capabilities();
    std::string params;
    json::Writer writer(params);
    writer.begin_object().key("notifications").begin_object();
    if (has_capability(has, "tools", "listChanged")) writer.key("toolsListChanged").boolean(true);
    if (has_capability(has, "prompts", "listChanged"))
        writer.key("promptsListChanged").boolean(true);
    if (has_capability(has, "resources", "listChanged"))
        writer.key("resourcesListChanged").boolean(true);
    const auto wanted = watches_.wanted(source_);
    if (!wanted.empty() && has_capability(has, "resources", "subscribe")) {
        writer.key("resourceSubscriptions").begin_array();
        for (std::size_t i = 0; i < std::min(wanted.size(), kMostUris); ++i)
            writer.string(wanted[i]);
        writer.end_array();
    }
    writer.end_object().end_object();
    return params;
}

Task<void> ChangeWatch::listen() {
    TaskChain& chain = co_await this_chain();
    std::uint64_t failures = 0;
    while (!stopping_ && session_->is_open()) {
        again_ = false;
        UpstreamRequest request;
        request.method = "subscriptions/listen";
        request.params = listen_params();
        request.may_repeat = true;
        if (request.params == R"({"notifications":{}})") break;  // nothing that it could tell
        const SteadyTime began = clock_.steady_now();
        const auto reply = co_await session_->request(std::move(request));
        if (stopping_) break;
        if (again_) {
            chain.forget_cancellation();
            continue;
        }
        if (reply && !*reply && reply->error().code == rpc_code::kMethodNotFound) break;
        failures = clock_.steady_now() - began > kPause.longest ? 1 : failures + 1;
        Waiter pause(timers_);
        co_await pause.wait(clock_.steady_now() + kPause.after(failures));
        if (!stopping_) chain.forget_cancellation();
    }
    running_ = false;
}

Task<void> ChangeWatch::subscribe() {
    while (!stopping_ && std::exchange(again_, false)) {
        if (!has_capability(session_->server_capabilities(), "resources", "subscribe")) break;
        std::vector<std::string> uris = watches_.wanted(source_);
        if (uris.size() > kMostUris) uris.resize(kMostUris);
        const std::set<std::string> wanted(uris.begin(), uris.end());
        for (const std::string& uri : wanted) {
            if (stopping_ || !session_->is_open()) break;
            if (!subscribed_.contains(uri) && co_await subscription("resources/subscribe", uri))
                subscribed_.insert(uri);
        }
        const std::set<std::string> before = subscribed_;
        for (const std::string& uri : before) {
            if (stopping_ || !session_->is_open() || wanted.contains(uri)) continue;
            subscribed_.erase(uri);
            co_await subscription("resources/unsubscribe", uri);
        }
    }
    running_ = false;
}

Task<bool> ChangeWatch::subscription(std::string_view method, const std::string& uri) {
    UpstreamRequest request;
    request.method = method;
    json::Writer(request.params).begin_object().key("uri").string(uri).end_object();
    request.may_repeat = true;
    request.deadline = clock_.steady_now() + kSubscribeWithin;
    const auto reply = co_await session_->request(std::move(request));
    co_return reply && *reply;
}

Task<void> ChangeWatch::stop() {
    stopping_ = true;
    const auto begin = [&](std::coroutine_handle<> asking, TaskChain& chain) {
        tasks_.stop(
            [asking, home = chain.executor()] { asio::post(home, [asking] { asking.resume(); }); });
    };
    co_await suspend(begin);
    session_.reset();
}

}  // namespace crab::mcp
