#include "admin/live/live_api.hpp"

#include "admin/live/live_stream.hpp"
#include "admin/live/stats_request.hpp"
#include "base/scope_exit.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"
#include "net/http/http_error.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::admin {

void LiveApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add(
        {.path = "/v1/admin/stream",
         .summary = "What happens now, as server-sent events",
         .query = {{"topics",
                    "a list with commas: status, calls, running, device, tools, "
                    "question, pairing, event; without it all"},
                   {"rate", "rows of calls in a second, of those that fit; 20, at most 200"},
                   {"filter", "which calls: tool:disk* status:error,timeout min:500ms \"words\""},
                   {"attend", "true: somebody sees the questions, so that calls wait for them"}},
         .answers = {{200, "event_stream", "text/event-stream"}},
         .refusals = {400, 429}},
        [this](const Request& request) { return stream(request.exchange, request.principal); });
    routes.add({.path = "/v1/admin/stats",
                .summary = "Calls of the last minutes by tool, principal or source",
                .query = {{"window", "how far back, such as 15m (which it is without); 1m to 1h"},
                          {"by", "tool (without it), principal or source"},
                          {"limit",
                           "how many rows, those with most calls first; 200, at most "
                           "1000"}},
                .answers = {{200, "call_stats"}},
                .refusals = {400}},
               [this](const Request& request) { return stats(request.exchange); });
    routes.add({.path = "/v1/admin/series",
                .summary = "All calls of the last minutes, minute by minute",
                .query = {{"names",
                           "a list with commas: calls, errors, p50_us, p95_us, p99_us; "
                           "without it all"},
                          {"window", "how far back, such as 15m; 1h without it, and at most"}},
                .answers = {{200, "call_series"}},
                .refusals = {400}},
               [this](const Request& request) { return series(request.exchange); });
}

Task<void> LiveApi::stream(net::HttpExchange& exchange, core::PrincipalRef principal) {
    auto asked = StreamRequest::parse(exchange.request().query(), clock_.system_now());
    if (!asked) co_return exchange.respond_error(asked.error());
    const auto place = streams_of_each_.take(principal->id);
    if (!place || streams_ >= kStreams) {
        const auto message = fmt::format("{} streams are open; close one, or share it",
                                         place ? kStreams : kStreamsPerPrincipal);
        co_return exchange.respond_error(429, "RATE_LIMITED", message);
    }
    ++streams_;
    const ScopeExit gone([&] { --streams_; });
    LiveStream stream(sources_, std::move(*asked), exchange);
    co_await stream.run();
}

Task<void> LiveApi::stats(net::HttpExchange& exchange) {
    const auto asked = StatsRequest::parse(exchange.request().query());
    if (!asked) co_return exchange.respond_error(asked.error());
    auto work = [this, by = asked->by, minutes = asked->minutes] {
        return sources_.calls.rows(by, minutes);
    };
    const auto rows = co_await pool_.run(std::move(work));
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("window_minutes").integer(asked->minutes);
    writer.key("rows").begin_array();
    const std::size_t shown = std::min(rows.size(), asked->limit);
    for (std::size_t i = 0; i < shown; ++i) append_stats_row(writer, rows[i]);
    writer.end_array().key("left_out").unsigned_integer(rows.size() - shown).end_object();
    exchange.finish_response();
}

Task<void> LiveApi::series(net::HttpExchange& exchange) {
    const auto asked = SeriesRequest::parse(exchange.request().query());
    if (!asked) co_return exchange.respond_error(asked.error());
    auto work = [this, request = *asked] {
        CallSeries found(request, clock_.system_now());
        sources_.calls.for_minutes(request.minutes,
                                   [&](std::int64_t ago, const core::CallStats::Totals& totals) {
                                       found.take(ago, totals);
                                   });
        return found;
    };
    const auto found = co_await pool_.run(std::move(work));
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    found.write(writer);
    exchange.finish_response();
}

}  // namespace crab::admin
