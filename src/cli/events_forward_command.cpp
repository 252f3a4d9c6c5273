#include "base/doubling_delay.hpp"
#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/gateway_endpoint.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "net/codec/url.hpp"
#include "net/http/blocking_client.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr Milliseconds kPostTime{10'000};
constexpr DoublingDelay kPause{.first = Milliseconds(1'000), .longest = Milliseconds(60'000)};

/// The pauses between tries: they double until something works.
class Pauses {
public:
    void wait() { std::this_thread::sleep_for(kPause.after(++failures_)); }
    void start_anew() { failures_ = 0; }

private:
    std::uint32_t failures_ = 0;
};

/// Takes events of one kept connection.
class Webhook {
public:
    enum class Answer : std::uint8_t { kTaken, kRefused, kLater };

    /// Errors: kInvalidArgs for an invalid address, and for http on another machine unless
    /// `allow_plain`.
    static Result<Webhook> make(const std::string& url, bool allow_plain) {
        Target target;
        target.url = url;
        target.allow_plain = allow_plain;
        if (!url.starts_with("http"))
            return fail(ErrorCode::kInvalidArgs,
                        "the webhook: write https://host/path or http://127.0.0.1:port/path");
        auto place = find_gateway(target);
        if (!place) return fail(ErrorCode::kInvalidArgs, "the webhook: " + place.error().message);
        return Webhook(std::move(*place), url);
    }

    Answer post(std::string_view event) {
        net::ClientRequest request{.method = "POST",
                                   .target = place_.prefix.empty() ? "/" : place_.prefix,
                                   .headers = {{"Content-Type", "application/json"}},
                                   .body = std::string(event)};
        const auto answer = http_->send(request, std::chrono::steady_clock::now() + kPostTime);
        if (!answer) return say(answer.error().message), Answer::kLater;
        if (answer->status >= 200 && answer->status < 300) return Answer::kTaken;
        say(fmt::format("HTTP {}", answer->status));
        const bool later = answer->status >= 500 || answer->status == 408 || answer->status == 429;
        return later ? Answer::kLater : Answer::kRefused;
    }

private:
    Webhook(GatewayEndpoint place, std::string url)
        : place_(std::move(place)), url_(std::move(url)) {
        net::BlockingClient::Options options{
            .io_timeout = kPostTime, .tls = place_.tls, .host_header = place_.host};
        http_ = std::make_unique<net::BlockingClient>(place_.endpoint, std::move(options));
    }
    void say(std::string_view what) const {
        complain(fmt::format("{}: {}", url_, printable(what)));
    }

    GatewayEndpoint place_;
    std::string url_;
    std::unique_ptr<net::BlockingClient> http_;
};

/// Whether this `stream.closed` says that a newer stream has the subscription.
bool is_taken_over(std::string_view closed) {
    const auto why = json::Value::parse(closed);
    return why && number_of(*why, "code") == 4409;
}

}  // namespace

int run(const EventsForward& options) {
    auto webhook = Webhook::make(options.webhook, options.allow_plain);
    if (!webhook) return report(webhook.error());
    Result<AdminClient> events = AdminClient::make(options.target),
                        acknowledgements = AdminClient::make(options.target);
    if (!events || !acknowledgements) return report((events ? acknowledgements : events).error());
    std::string path = "/v1/events?subscription=" + net::percent_encode(options.subscription);
    if (!options.types.empty()) path += "&types=" + net::percent_encode(options.types);

    std::uint64_t done = 0;
    std::string closed;  // why the gateway ended the stream
    Pauses pauses;
    const auto enough = [&] { return options.count != 0 && done >= options.count; };
    const auto on_event = [&](const ServerEvent& event) {
        if (event.type == "stream.closed") return closed = event.data, false;
        Webhook::Answer answer = webhook->post(event.data);
        for (; answer == Webhook::Answer::kLater; answer = webhook->post(event.data)) pauses.wait();
        pauses.start_anew();
        if (answer == Webhook::Answer::kRefused)
            complain(fmt::format("event {} was refused and is left out", printable(event.id)));
        const json::Value body = json::Value::object(
            {{"subscription", options.subscription}, {"cursor", std::string(event.id)}});
        if (const auto told = accepted(acknowledgements->post("/v1/events/ack", body)); !told)
            complain(printable(told.error().message));
        ++done;
        return !enough();
    };
    for (std::string begin = options.from.empty() ? ""
                                                  : "&cursor=" + net::percent_encode(options.from);
         ; begin.clear()) {
        const auto ended = accepted(events->follow(path + begin, on_event));
        if (enough()) return kExitOk;
        if (is_taken_over(closed))
            return complain(
                       "another one takes the events of this subscription now; give each its own"),
                   kExitFailed;
        if (!ended && ended.error().code != ErrorCode::kUnavailable &&
            ended.error().code != ErrorCode::kTimeout)
            return report(ended.error());
        complain(ended ? "the stream ended; it is opened again" : printable(ended.error().message));
        pauses.wait();
    }
}

}  // namespace crab::cli
