#include "admin/audit_api.hpp"

#include "admin/query_number.hpp"
#include "base/scope_exit.hpp"
#include "base/task/on_cancel.hpp"
#include "core/audit/audit_text.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace crab::admin {
namespace {

constexpr std::string_view kLinesType = "application/jsonl";
constexpr std::string_view kCsvType = "text/csv; charset=utf-8";

std::vector<net::RouteParameter> parameters(std::vector<net::RouteParameter> more) {
    std::vector<net::RouteParameter> all;
    for (const auto& [name, meaning] : core::kAuditParameters) all.push_back({name, meaning});
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

Result<core::AuditFilter> filter_of(const net::HttpRequest& request) {
    return core::AuditFilter::read([&](std::string_view name) {
        auto value = net::find_query(request.query(), name);
        if (value && value->empty()) value.reset();
        return value;
    });
}

/// How far one search goes, by its cursor and limit.
Result<core::AuditScan> scan_of(const net::HttpRequest& request) {
    core::AuditScan scan;
    const auto limit = number_in(request.query(), "limit", scan.most_found);
    if (!limit || *limit == 0 || *limit > scan.most_found)
        return fail(ErrorCode::kInvalidArgs, "`limit` is a number from 1 to 200");
    scan.most_found = *limit;
    const auto text = net::find_query(request.query(), "cursor");
    if (!text || text->empty()) return scan;
    scan.cursor = core::AuditCursor::parse(*text);
    if (!scan.cursor)
        return fail(ErrorCode::kInvalidArgs, "`cursor` is what the answer before this one gave");
    return scan;
}

void refuse_busy(net::HttpExchange& exchange, std::string_view why) {
    exchange.respond_error(429, "RATE_LIMITED", why, {{"Retry-After", "1"}});
}

std::string text_of(const core::AuditFound& found, core::AuditCsv* csv) {
    std::string text;
    for (const std::string& record : found.records) {
        if (csv != nullptr)
            csv->append_row(text, record);
        else
            text.append(record).append("\n");
    }
    return text;
}

}  // namespace

void AuditApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.path = "/v1/admin/audit",
                .summary = "Search the audit log, newest first, part by part",
                .query = parameters({{"limit", "how many records at most; 200"},
                                     {"cursor", "where to go on: `cursor` of the part before"}}),
                .answers = {{200, "audit_found"}},
                .refusals = {400, 429, 503}},
               [this](const Request& request) { return search(request); });
    routes.add({.path = "/v1/admin/audit/export",
                .summary = "All records that a search would find, oldest first",
                .query = parameters({{"format", "jsonl, one object a line; or csv"}}),
                .answers = {{200, {}, "*/*"}},
                .refusals = {400, 429, 503}},
               [this](const Request& request) { return stream(request); });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/audit/verify",
                .proof = net::FreshProof::kNever,
                .unrecorded = "asks, and changes nothing",
                .summary = "Check that no record was changed or cut out",
                .answers = {{200, "audit_check"}},
                .refusals = {429, 503}},
               [this](const Request& request) { return verify(request); });
}

/// On a thread, where it waits for other scans of this principal; it ends early when its caller
/// leaves.
Task<Result<core::AuditFound>> AuditApi::scan(std::string principal,
                                              const core::AuditFilter& filter,
                                              core::AuditScan scan) {
    const std::stop_source stop;
    scan.stop = stop.get_token();
    const OnCancel on_cancel(co_await this_chain(), [stop]() mutable { stop.request_stop(); });
    auto work = [this, &filter, &scan]() -> Result<core::AuditFound> {
        if (scan.stop.stop_requested()) return fail(ErrorCode::kCancelled, "the caller has left");
        // What was recorded before the question is found.
        if (!scan.cursor) services_.log.flush_and_wait();
        return core::search_audit(services_.store, filter, scan, services_.clock);
    };
    co_return co_await threads_.run(std::move(principal), std::move(work));
}

Task<void> AuditApi::search(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    const auto filter = filter_of(exchange.request());
    if (!filter) co_return exchange.respond_error(filter.error());
    const auto wanted = scan_of(exchange.request());
    if (!wanted) co_return exchange.respond_error(wanted.error());
    const std::string& principal = request.principal->id;
    const std::shared_ptr<void> place = scans_.take(principal);
    if (!place) co_return refuse_busy(exchange, "too many searches of yours wait");
    const auto found = co_await scan(principal, *filter, *wanted);
    if (!found) co_return exchange.respond_error(found.error());
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    core::append_found(writer, *found);
    exchange.finish_response();
}

Task<void> AuditApi::stream(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    auto filter = filter_of(exchange.request());
    if (!filter) co_return exchange.respond_error(filter.error());
    const std::string format =
        net::find_query(exchange.request().query(), "format").value_or("jsonl");
    if (format != "jsonl" && format != "csv")
        co_return exchange.respond_error(400, "INVALID_ARGS", "`format` is jsonl or csv");
    const std::string& principal = request.principal->id;
    const std::shared_ptr<void> place = exports_.take(principal);
    if (!place) co_return refuse_busy(exchange, "two exports of yours run; end one of them");
    filter->end_at(services_.clock.system_now());  // it does not run after what is being written
    std::optional<core::AuditCsv> csv;
    if (format == "csv") csv.emplace();
    core::AuditScan part{
        .newest_first = false, .most_found = SIZE_MAX, .most_found_bytes = std::size_t{1} << 20};
    bool begun = false;
    do {
        const auto found = co_await scan(principal, *filter, part);
        // A break in the stream tells that it is not whole.
        if (!found && begun) co_return;
        if (!found) co_return exchange.respond_error(found.error());
        if (!std::exchange(begun, true)) {
            const std::string_view type = csv ? kCsvType : kLinesType;
            const std::string name = "attachment; filename=\"audit." + format + "\"";
            exchange.start_stream(200, type,
                                  {{"Cache-Control", "no-store"}, {"Content-Disposition", name}});
            if (csv) exchange.write_chunk(core::AuditCsv::head());
        }
        const std::string text = text_of(*found, csv ? &*csv : nullptr);
        if (!text.empty()) exchange.write_chunk(text);
        co_await exchange.drained();
        if (exchange.caller_gone()) co_return;
        part.cursor = found->cursor;
    } while (part.cursor);
    exchange.end_stream();
}

Task<void> AuditApi::verify(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    if (verifying_) co_return refuse_busy(exchange, "a verification runs; wait for its end");
    verifying_ = true;
    const ScopeExit over([this] { verifying_ = false; });
    const std::stop_source stop;
    const OnCancel on_cancel(co_await this_chain(), [stop]() mutable { stop.request_stop(); });
    auto work = [this, token = stop.get_token()]() -> Result<core::AuditCheck> {
        services_.log.flush_and_wait();
        return services_.store.verify_chain(token);
    };
    const auto check = co_await threads_.run("verification", std::move(work));
    if (!check) co_return exchange.respond_error(check.error());
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object();
    core::append_members(writer, *check);
    writer.end_object();
    exchange.finish_response();
}

}  // namespace crab::admin
