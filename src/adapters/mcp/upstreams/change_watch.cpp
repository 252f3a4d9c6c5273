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
constexpr std::chrono::seconds kReopenEvery{1};
constexpr Milliseconds kTellEvery{100};
constexpr std::size_t kMostUpdated = 1024;  // resources to be told of at a time

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
    asked_.clear();
    updated_.clear();
    looking_later_ = telling_later_ = false;
    stopping_ = running_ = again_ = false;
    modern_ = session_->era() == Era::kModern;
    look_again();
}

void ChangeWatch::look_again() {
    if (!session_ || stopping_) return;
    if (running_ && modern_) {
        // The stream that is open asks for other resources. It goes on until it is opened anew,
        // which is not done for each of many changes.
        if (watches_.wanted(source_) == asked_) return;
        const SteadyTime when = asked_at_ + kReopenEvery;
        if (clock_.steady_now() < when) {
            if (!std::exchange(looking_later_, true))
                pauses_.spawn("changes of an MCP server, later", look_later(when));
            return;
        }
        again_ = true;
        return tasks_.cancel();
    }
    again_ = true;
    if (running_) return;
    running_ = true;
    tasks_.spawn("changes of an MCP server", modern_ ? listen() : subscribe());
}

Task<void> ChangeWatch::look_later(SteadyTime when) {
    Waiter pause(timers_);
    co_await pause.wait(when);
    looking_later_ = false;
    look_again();
}

void ChangeWatch::updated(std::string_view uri) {
    if (!session_ || stopping_) return;
    if (telling_later_) {
        if (updated_.size() < kMostUpdated) updated_.emplace(uri);
        return;
    }
    watches_.updated(source_, uri);
    telling_later_ = true;
    pauses_.spawn("changed resources of an MCP server", tell_later());
}

Task<void> ChangeWatch::tell_later() {
    do {
        Waiter pause(timers_);
        co_await pause.wait(clock_.steady_now() + kTellEvery);
        const auto told = std::exchange(updated_, {});
        for (const std::string& uri : told) watches_.updated(source_, uri);
        if (told.empty()) telling_later_ = false;
    } while (telling_later_ && !stopping_);
    telling_later_ = false;
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
    if (!asked_.empty() && has_capability(has, "resources", "subscribe")) {
        writer.key("resourceSubscriptions").begin_array();
        for (const std::string& uri : asked_) writer.string(uri);
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
        asked_ = watches_.wanted(source_);
        asked_at_ = clock_.steady_now();
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
        const std::vector<std::string> uris = watches_.wanted(source_);
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
    for (TaskGroup* const group : {&pauses_, &tasks_}) {
        const auto begin = [&](std::coroutine_handle<> asking, TaskChain& chain) {
            group->stop([asking, home = chain.executor()] {
                asio::post(home, [asking] { asking.resume(); });
            });
        };
        co_await suspend(begin);
    }
    session_.reset();
}

}  // namespace crab::mcp
