#include "adapters/mcp/upstreams/list_reading.hpp"

#include "adapters/mcp/wire/safe_text.hpp"
#include "base/cut_text.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kShownListError = 512;

std::optional<Milliseconds> ttl_of(std::string_view page) {
    const auto raw = json::find_raw(page, "ttlMs");
    std::int64_t ms = 0;
    if (!raw || std::from_chars(raw->data(), raw->data() + raw->size(), ms).ec != std::errc() ||
        ms < 0)
        return std::nullopt;
    return Milliseconds(ms);
}

}  // namespace

Result<void> ListPages::add(std::string_view page) {
    const auto wrong = [&](std::string_view why) {
        return fail(ErrorCode::kToolFailed, fmt::format("its {} {}", kind_.method, why));
    };
    if (++pages_ > kMostPages) return wrong("does not end within 1000 pages");
    const auto array = json::find_raw(page, kind_.member);
    if (!array || !array->starts_with('[')) return wrong("has a page without entries");
    for (json::RawParts items(*array); items.next();) {
        if (!items.value().starts_with('{')) continue;  // nothing that could be named
        if (takes(items.value())) {
            reading_.entries.emplace_back(items.value());
        } else {
            ++reading_.beyond;
        }
    }
    if (const auto ttl = ttl_of(page)) reading_.ttl = std::min(reading_.ttl.value_or(*ttl), *ttl);
    cursor_ = json::find_raw_string(page, "nextCursor");
    if (cursor_ && cursor_->size() > kMostCursor) return wrong("has a cursor of more than 8 KiB");
    if (cursor_ && !seen_.insert(*cursor_).second) return wrong("repeats a cursor");
    return {};
}

bool ListPages::takes(std::string_view entry) {
    if (reading_.entries.size() >= kind_.most || entry.size() > kind_.largest ||
        entry.size() > budget_.left)
        return false;
    budget_.left -= entry.size();
    return true;
}

std::string ListPages::params() const {
    if (!cursor_) return {};
    std::string out;
    json::Writer(out).begin_object().key("cursor").string(*cursor_).end_object();
    return out;
}

Task<Result<ListReading>> read_list(UpstreamSession& session, ListKind kind, Deadline deadline,
                                    ListBudget& budget) {
    ListPages pages(kind, budget);
    while (!pages.complete()) {
        UpstreamRequest request;
        request.method = kind.method;
        request.params = pages.params();
        request.may_repeat = true;
        request.deadline = deadline;
        Result<UpstreamReply> reply = co_await session.request(std::move(request));
        if (!reply) co_return fail(std::move(reply.error()));
        if (!*reply) {
            const RpcError& error = reply->error();
            if (error.code == rpc_code::kMethodNotFound) co_return ListReading();
            co_return fail(
                ErrorCode::kToolFailed,
                fmt::format("its {} was answered with the error {}: {}", kind.method, error.code,
                            cut_text(clean_text(error.message).text, kShownListError)));
        }
        if (auto added = pages.add(**reply); !added) co_return fail(std::move(added.error()));
    }
    co_return pages.take();
}

}  // namespace crab::mcp
