#include "core/audit/audit_filter.hpp"

#include "base/ascii.hpp"
#include "base/whole_number.hpp"
#include "json/schema/rfc3339.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::size_t kMostOfText = 256;  ///< bytes of a parameter
constexpr std::size_t kMostWords = 16;

/// Names of the parameters that are members of records.
constexpr std::array<std::string_view, 12> kMembers{"tool",   "principal", "agent", "session",
                                                    "source", "status",    "code",  "decision",
                                                    "rule",   "event",     "front", "trace_id"};
/// Those whose values may hold a comma.
constexpr std::array<std::string_view, 4> kSingle{"agent", "session", "rule", "trace_id"};

bool has(std::string_view text, std::string_view needle) {
    return ::memmem(text.data(), text.size(), needle.data(), needle.size()) != nullptr;
}

/// `word` is in lower case.
bool has_word(std::string_view text, std::string_view word) {
    return !std::ranges::search(text, word, {}, [](char c) { return to_lower(c); }).empty();
}

bool any_value_has(json::Element value, std::string_view word) {
    using Type = simdjson::dom::element_type;
    switch (value.type()) {
        case Type::STRING: return has_word(std::string_view(value), word);
        case Type::ARRAY:
            return std::ranges::any_of(
                json::Array(value), [&](json::Element item) { return any_value_has(item, word); });
        case Type::OBJECT:
            for (const auto member : json::Object(value))
                if (any_value_has(member.value, word)) return true;
            return false;
        case Type::INT64:
        case Type::UINT64:
        case Type::DOUBLE:
        case Type::BOOL:
        case Type::NULL_VALUE: break;
    }
    return false;
}

/// When a record was made: of a call when it ended. Never outside its batch.
SystemTime recorded_at(json::Element record, const StoredAuditBatch& batch) {
    const auto text = json::get_string(record, "time");
    const auto time = text ? json::parse_rfc3339(*text) : std::nullopt;
    if (!time || batch.first >= batch.last) return batch.last;
    const auto us = json::get_int64(record, "duration_us").value_or(0);
    return std::clamp(*time + std::chrono::microseconds(us), batch.first, batch.last);
}

Result<SystemTime> read_time(const AuditFilter::Given& given, std::string_view name,
                             SystemTime missing) {
    const auto text = given(name);
    if (!text) return missing;
    if (const auto time = json::parse_rfc3339(*text)) return *time;
    return fail(ErrorCode::kInvalidArgs,
                fmt::format("`{}` is a time such as 2026-11-14T08:00:00Z (RFC 3339)", name));
}

Result<std::optional<std::int64_t>> read_min(const AuditFilter::Given& given) {
    const auto text = given("min_us");
    if (!text) return std::nullopt;
    const auto number = parse_whole_number<std::int64_t>(*text);
    if (!number || *number < 0)
        return fail(ErrorCode::kInvalidArgs, "`min_us` is a whole number of microseconds");
    return number;
}

}  // namespace

Result<AuditFilter> AuditFilter::read(const Given& given) {
    AuditFilter filter;
    const auto from = read_time(given, "from", {}), to = read_time(given, "to", SystemTime::max());
    if (!from || !to) return fail((!from ? from : to).error());
    const auto min = read_min(given);
    if (!min) return fail(min.error());
    filter.from_ = *from;
    filter.to_ = *to;
    filter.min_us_ = *min;
    const auto text_of = [&](std::string_view name) -> Result<std::string> {
        std::string text = given(name).value_or("");
        if (text.size() > kMostOfText)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("`{}` has {} bytes at most", name, kMostOfText));
        return text;
    };
    for (const std::string_view name : kMembers) {
        const auto text = text_of(name);
        if (!text) return fail(text.error());
        if (!text->empty()) filter.add_member(name, *text);
    }
    const auto words = text_of("q");
    if (!words) return fail(words.error());
    for (const auto part : std::views::split(*words, ' ')) {
        if (part.empty()) continue;
        filter.words_.push_back(lower_case(std::string_view(part)));
    }
    if (filter.words_.size() > kMostWords)
        return fail(ErrorCode::kInvalidArgs, fmt::format("`q` has {} words at most", kMostWords));
    return filter;
}

void AuditFilter::add_member(std::string_view name, std::string_view text) {
    Member member{.name = name, .any = {}, .needles = {}};
    const auto add = [&](std::string_view pattern) {
        Glob glob{std::string(pattern)};
        // As records are written: without blanks.
        std::string needle = fmt::format("\"{}\":", name);
        if (glob.is_literal()) json::append_quoted_lossy(needle, pattern);
        member.needles.push_back(std::move(needle));
        member.any.push_back(std::move(glob));
    };
    if (std::ranges::find(kSingle, name) != kSingle.end()) {
        add(text);
    } else {
        for (const auto part : std::views::split(text, ','))
            if (const auto pattern = trim(std::string_view(part)); !pattern.empty()) add(pattern);
    }
    members_.push_back(std::move(member));
}

bool AuditFilter::may_match(std::string_view record) const {
    return std::ranges::all_of(members_, [&](const Member& member) {
        return std::ranges::any_of(member.needles,
                                   [&](const std::string& needle) { return has(record, needle); });
    });
}

bool AuditFilter::matches(std::string_view record, const StoredAuditBatch& batch,
                          json::Parser& parser) const {
    const bool in_time = from_ <= batch.first && batch.last <= to_;
    if (in_time && members_.empty() && words_.empty() && !min_us_) return true;
    if (!may_match(record)) return false;
    const auto root = parser.parse(record);
    return root && fits(root->element(), batch);
}

bool AuditFilter::fits(json::Element record, const StoredAuditBatch& batch) const {
    for (const Member& member : members_) {
        const auto value = json::get_string(record, member.name);
        if (!value) return false;
        if (std::ranges::none_of(member.any, [&](const Glob& it) { return it.matches(*value); }))
            return false;
    }
    if (min_us_ && json::get_int64(record, "duration_us").value_or(-1) < *min_us_) return false;
    for (const std::string& word : words_)
        if (!any_value_has(record, word)) return false;
    const SystemTime time = recorded_at(record, batch);
    return from_ <= time && time <= to_;
}

}  // namespace crab::core
