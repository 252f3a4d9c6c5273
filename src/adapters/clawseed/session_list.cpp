#include "adapters/clawseed/session_list.hpp"

#include "base/ascii.hpp"
#include "base/whole_number.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

constexpr std::size_t kMostOfText = 256;
constexpr std::size_t kMostRows = 200;

std::optional<SessionsWanted::Cursor> read_cursor(std::string_view text) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const auto ms = parse_whole_number<std::int64_t>(text.substr(0, dot));
    if (!ms || !core::is_chat_session_id(text.substr(dot + 1))) return std::nullopt;
    return SessionsWanted::Cursor{*ms, std::string(text.substr(dot + 1))};
}

bool fits(const core::ChatSession& session, const SessionsWanted& wanted) {
    if (!wanted.agent.empty() && !wanted.agent.matches(session.persona)) return false;
    if (wanted.words.empty()) return true;
    const std::string name = lower_case(session.name);
    return std::ranges::all_of(wanted.words,
                               [&](const std::string& word) { return name.contains(word); });
}

/// The order of pages.
auto place_of(std::int64_t last_activity_ms, std::string_view id) {
    return std::tuple(-last_activity_ms, id);
}
auto place_of(const core::ChatSession& session) {
    return place_of(to_unix_ms(session.last_activity), session.id.text());
}

}  // namespace

Result<SessionsWanted> SessionsWanted::read(std::string_view query) {
    SessionsWanted wanted;
    const std::string q = net::find_query(query, "q").value_or(""),
                      agent = net::find_query(query, "agent").value_or("");
    if (q.size() > kMostOfText || agent.size() > kMostOfText)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("`q` and `agent` have {} bytes at most", kMostOfText));
    for (const auto word : std::views::split(q, ' '))
        if (!word.empty()) wanted.words.push_back(lower_case(std::string_view(word)));
    wanted.agent = Glob(agent);
    if (const auto limit = net::find_query(query, "limit")) {
        wanted.limit = parse_whole_number<std::size_t>(*limit);
        if (!wanted.limit || *wanted.limit == 0 || *wanted.limit > kMostRows)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("`limit` is a number from 1 to {}", kMostRows));
    }
    const std::string cursor = net::find_query(query, "cursor").value_or("");
    if (cursor.empty()) return wanted;
    wanted.cursor = read_cursor(cursor);
    if (!wanted.cursor)
        return fail(ErrorCode::kInvalidArgs, "`cursor` is what the page before this one gave");
    return wanted;
}

SessionPage page_of(std::vector<core::ChatSession> all, const SessionsWanted& wanted) {
    SessionPage page{.sessions = std::move(all), .cursor = {}};
    std::erase_if(page.sessions, [&](const auto& session) { return !fits(session, wanted); });
    if (!wanted.limit && !wanted.cursor) return page;
    std::ranges::sort(page.sessions, {}, [](const auto& session) { return place_of(session); });
    if (const auto& after = wanted.cursor) {
        std::erase_if(page.sessions, [&](const auto& session) {
            return place_of(session) <= place_of(after->last_activity_ms, after->id);
        });
    }
    if (!wanted.limit || page.sessions.size() <= *wanted.limit) return page;
    page.sessions.resize(*wanted.limit);
    const core::ChatSession& last = page.sessions.back();
    page.cursor = fmt::format("{}.{}", to_unix_ms(last.last_activity), last.id.text());
    return page;
}

}  // namespace crab::clawseed
