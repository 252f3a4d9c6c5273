#include "push/sending/push_sender.hpp"

#include "base/log.hpp"
#include "net/loop/ip_address.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include <fmt/format.h>

namespace crab::push {
namespace {

constexpr std::size_t kMostAnswerBytes = 4096;
constexpr std::size_t kMostAllowances = 4 * Subscriptions::kMost;

bool may_dial(const net::SocketAddress& at, const net::HttpUrl& url, bool named) {
    if (at.family() != AF_INET && at.family() != AF_INET6) return false;
    const net::IpAddress address = net::ip_address_of(at);
    if (!named) return net::is_public(address);
    return url.tls || net::is_loopback(address);
}

bool is_waking(const Subscription& to) { return to.purpose() == Purpose::kWaking; }

}  // namespace

PushSender::PushSender(Uses uses, PushServices services)
    : uses_(std::move(uses)), services_(std::move(services)), tasks_(uses_.loop.executor()) {}

void PushSender::send(Subscription to, Message message) {
    uses_.loop.post([this, waiting = Waiting{std::move(to), std::move(message)}]() mutable {
        take(std::move(waiting));
    });
}

PushSender::Counts PushSender::counts() const {
    return {.sent = sent_, .gone = gone_, .failed = failed_, .dropped = dropped_};
}

void PushSender::set_services(PushServices services) {
    uses_.loop.post(
        [this, services = std::move(services)]() mutable { services_ = std::move(services); });
}

void PushSender::take(Waiting waiting) {
    if (stopped_) return;
    auto& line = is_waking(waiting.to) ? wakings_ : questions_;
    if (line.size() >= kMostWaiting || !is_allowed(waiting.to)) {
        ++dropped_;
        return;
    }
    line.push_back(std::move(waiting));
    begin_next();
}

double PushSender::Allowance::left_at(SteadyTime now) const {
    const std::chrono::duration<double, std::milli> since = now - filled;
    return std::min(kBurst, left + since.count() / double(kEvery.count()));
}

bool PushSender::is_allowed(const Subscription& to) {
    const SteadyTime now = uses_.loop.clock().steady_now();
    if (allowances_.size() >= kMostAllowances) {  // those that are full say nothing
        std::erase_if(allowances_,
                      [&](const auto& each) { return each.second.left_at(now) >= kBurst; });
        if (allowances_.size() >= kMostAllowances) return false;
    }
    // Not by the id: who subscribes again has another one.
    const std::string& key = is_waking(to) ? to.principal : to.endpoint;
    Allowance& allowance = allowances_.try_emplace(key, Allowance{.filled = now}).first->second;
    allowance = {.left = allowance.left_at(now), .filled = now};
    if (allowance.left < 1) return false;
    allowance.left -= 1;
    return true;
}

std::optional<PushSender::Waiting> PushSender::take_next() {
    if (sending_ >= kMostSending) return std::nullopt;
    auto* line = &questions_;
    auto next = line->begin();
    if (line->empty()) {
        if (waking_.size() >= kMostWaking) return std::nullopt;
        line = &wakings_;
        next = std::ranges::find_if(
            *line, [&](const Waiting& each) { return !waking_.contains(each.to.principal); });
    }
    if (next == line->end()) return std::nullopt;
    Waiting taken = std::move(*next);
    line->erase(next);
    return taken;
}

void PushSender::begin_next() {
    while (auto next = take_next()) {
        ++sending_;
        if (is_waking(next->to)) waking_.insert(next->to.principal);
        tasks_.spawn("push message", send_one(std::move(*next)));
    }
}

Task<void> PushSender::send_one(Waiting waiting) {
    const std::string id = waiting.to.id;
    const std::string woken = is_waking(waiting.to) ? waiting.to.principal : std::string();
    const std::string host = [&] {
        const auto url = net::HttpUrl::parse(waiting.to.endpoint);
        return url ? url->origin() : std::string();  // the rest of it is a secret
    }();
    const auto status = co_await post(std::move(waiting));
    --sending_;
    waking_.erase(woken);
    if (status && *status >= 200 && *status < 300) {
        ++sent_;
    } else if (status && (*status == 404 || *status == 410)) {
        ++gone_;
        log::info("a push subscription has ended", {{"subscription", id}, {"service", host}});
        uses_.gone(id);
    } else {
        ++failed_;
        const std::string why =
            status ? fmt::format("it answered {}", *status) : status.error().message;
        log::warn("a push message was not sent",
                  {{"subscription", id}, {"service", host}, {"reason", why}});
    }
    if (!stopped_) begin_next();
}

Task<Result<net::DialTarget>> PushSender::find_server(net::HttpUrl url, Deadline deadline) {
    net::Endpoint endpoint = net::Endpoint::tcp(url.host, url.port);
    auto target = co_await uses_.names.find_target(std::move(endpoint),
                                                   url.tls ? uses_.tls : nullptr, deadline);
    if (!target) co_return fail(std::move(target.error()));
    const bool named = services_.is_named(url);
    std::erase_if(target->addresses, [&](const net::SocketAddress& address) {
        return !may_dial(address, url, named);
    });
    if (target->addresses.empty())
        co_return fail(ErrorCode::kForbidden,
                       fmt::format("{} has no public address", url.origin()));
    target->text = url.origin();  // what errors name, in place of an address of the network
    co_return target;
}

Task<Result<int>> PushSender::post(Waiting waiting) {
    const auto url = services_.check(waiting.to.endpoint);
    if (!url) co_return fail(url.error());
    const auto body = seal_push(waiting.to.keys, waiting.message.plain, random_);
    if (!body) co_return fail(ErrorCode::kInvalidArgs, "the subscription's keys are none");
    net::HttpAuthority authority;
    authority.host = url->host_field();
    authority.find_server = [this, url = *url](Deadline deadline) {
        return find_server(url, deadline);
    };
    net::HttpClientOptions options;
    options.max_connections = 1;
    options.max_body_bytes = kMostAnswerBytes;
    net::HttpClient client(uses_.loop, std::move(authority), options);
    const std::string authorization =
        uses_.vapid.authorization(url->origin(), uses_.loop.clock().system_now());
    const std::string keep_for = fmt::format("{}", waiting.message.keep_for.count());
    std::vector<net::HttpHeader> headers{{"Authorization", authorization},
                                         {"Content-Encoding", "aes128gcm"},
                                         {"TTL", keep_for},
                                         {"Urgency", "high"}};
    if (!waiting.message.topic.empty()) headers.push_back({"Topic", waiting.message.topic});
    const std::string target = url->target();
    net::HttpCall call;
    call.method = "POST";
    call.target = target;
    call.content_type = "application/octet-stream";
    call.body = *body;
    call.headers = headers;
    net::HttpResult reply = co_await client.send(call, uses_.loop.clock().steady_now() + kPatience);
    client.close();
    if (!reply) co_return fail(std::move(reply.error().error));
    co_return reply->status;
}

void PushSender::stop(std::function<void()> done) {
    stopped_ = true;
    questions_.clear();
    wakings_.clear();
    tasks_.stop(std::move(done));
}

}  // namespace crab::push
