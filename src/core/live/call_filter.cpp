#include "core/live/call_filter.hpp"

#include "base/ascii.hpp"
#include "base/duration_text.hpp"
#include "base/whole_number.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <ranges>
#include <utility>

#include <fmt/format.h>

namespace crab::core {
namespace {

using Text = std::string_view FinishedCall::*;
constexpr std::array<std::pair<std::string_view, Text>, 8> kFields{
    {{"tool", &FinishedCall::tool},
     {"principal", &FinishedCall::principal},
     {"agent", &FinishedCall::agent},
     {"session", &FinishedCall::session},
     {"source", &FinishedCall::source},
     {"code", &FinishedCall::code},
     {"front", &FinishedCall::front},
     {"trace", &FinishedCall::trace_id}}};
constexpr std::string_view kStatus = "status";

bool is_text_field(std::string_view name) {
    return name == kStatus ||
           std::ranges::find(kFields, name, &decltype(kFields)::value_type::first) != kFields.end();
}
bool is_field(std::string_view name) {
    return is_text_field(name) || name == "min" || name == "from" || name == "to";
}

/// `word` is in lower case.
bool has_word(std::string_view text, std::string_view word) {
    return !std::ranges::search(text, word, {}, [](char c) { return to_lower(c); }).empty();
}

std::optional<std::int64_t> parse_microseconds(std::string_view text) {
    if (text.ends_with("us")) {
        const auto us = parse_whole_number<std::int64_t>(text.substr(0, text.size() - 2));
        return us && *us >= 0 ? us : std::nullopt;
    }
    const auto duration = parse_duration(text);
    if (!duration) return std::nullopt;
    return std::chrono::microseconds(*duration).count();
}

/// The last time before `now` that the clock on the wall showed `text`, `22:00`.
std::optional<SystemTime> parse_hour(std::string_view text, SystemTime now) {
    const auto two = [&](std::size_t at, int most) {
        const bool digits = is_digit(text[at]) && is_digit(text[at + 1]);
        const int number = (text[at] - '0') * 10 + (text[at + 1] - '0');
        return digits && number <= most ? std::optional(number) : std::nullopt;
    };
    if (text.size() != 5 || text[2] != ':') return std::nullopt;
    const auto hour = two(0, 23), minute = two(3, 59);
    if (!hour || !minute) return std::nullopt;
    const std::time_t today = std::chrono::system_clock::to_time_t(now);
    std::tm parts{};
    if (::localtime_r(&today, &parts) == nullptr) return std::nullopt;
    parts.tm_hour = *hour;
    parts.tm_min = *minute;
    parts.tm_sec = 0;
    parts.tm_isdst = -1;
    const std::tm of_today = parts;
    std::time_t found = ::mktime(&parts);
    if (found > today) {
        parts = of_today;
        --parts.tm_mday;
        found = ::mktime(&parts);
    }
    return std::chrono::system_clock::from_time_t(found);
}

/// Whether it is the beginning of a time in UTC as records write it: `2026-11-28T10:21`.
bool begins_a_time(std::string_view text) {
    constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
    constexpr std::array<std::size_t, 9> kWhole{4, 7, 10, 13, 16, 19, 20, 23, 24};
    if (std::ranges::find(kWhole, text.size()) == kWhole.end()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        // A time without a fraction ends earlier.
        if (text[i] == 'Z' && i == 19 && i + 1 == text.size()) return true;
        if (kForm[i] == '0' ? !is_digit(text[i]) : text[i] != kForm[i]) return false;
    }
    return true;
}

}  // namespace

/// Reads one text, term by term.
class CallFilter::Reader {
public:
    Reader(std::string_view text, SystemTime now) : text_(text), now_(now) {}

    Result<CallFilter> read() {
        while (skip_blanks()) {
            const std::string_view field = take_field();
            const std::string value = take_value();
            if (value.empty()) continue;
            auto taken = field.empty() ? take_word(value) : take(field, value);
            if (!taken) return fail(std::move(taken.error()));
            if (values_ > kMostValues)
                return fail(ErrorCode::kInvalidArgs,
                            fmt::format("filter: at most {} values and words", kMostValues));
        }
        return std::move(filter_);
    }

private:
    bool skip_blanks() {
        while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
        return at_ < text_.size();
    }
    static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

    /// The name before a colon, if it is one of a field; empty: a word follows.
    std::string_view take_field() {
        for (std::size_t end = at_; end < text_.size() && !is_blank(text_[end]); ++end) {
            if (text_[end] != ':') continue;
            name_ = lower_case(text_.substr(at_, end - at_));
            if (!is_field(name_)) return {};
            at_ = end + 1;
            return name_;
        }
        return {};
    }

    /// Up to the next blank that is not between quotation marks, which are left out.
    std::string take_value() {
        std::string value;
        bool quoted = false;
        for (; at_ < text_.size() && (quoted || !is_blank(text_[at_])); ++at_) {
            if (text_[at_] == '"')
                quoted = !quoted;
            else
                value += text_[at_];
        }
        return value;
    }

    Result<void> take_word(const std::string& word) {
        ++values_;
        filter_.words_.push_back(lower_case(word));
        return {};
    }

    Result<void> take(std::string_view field, const std::string& value) {
        if (field == "min") return take_min(value);
        if (field == "from") return take_time(field, value, filter_.from_);
        if (field == "to") return take_time(field, value, filter_.to_);
        const auto known = std::ranges::find(kFields, field, &decltype(kFields)::value_type::first);
        Member member{.field = known == kFields.end() ? kStatus : known->first, .any = {}};
        for (const auto part : std::views::split(value, ',')) {
            if (part.empty()) continue;
            ++values_;
            member.any.emplace_back(lower_case(std::string_view(part)));
        }
        if (!member.any.empty()) filter_.members_.push_back(std::move(member));
        return {};
    }

    Result<void> take_min(std::string_view value) {
        filter_.min_us_ = parse_microseconds(value);
        if (filter_.min_us_) return {};
        return fail(ErrorCode::kInvalidArgs, "filter: `min` is a duration such as 500us, 20ms, 2s");
    }

    Result<void> take_time(std::string_view field, std::string_view value, std::string& bound) {
        std::string upper(value);
        std::ranges::transform(upper, upper.begin(),
                               [](char c) { return c == 't' || c == 'z' ? to_upper(c) : c; });
        if (const auto hour = parse_hour(value, now_)) {
            bound = to_rfc3339(*hour);
        } else if (begins_a_time(upper)) {
            bound = upper;
        } else if (const auto ago = parse_duration(value)) {
            bound = to_rfc3339(now_ - *ago);
        } else {
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("filter: `{}` is 2h (ago), 22:00, 2026-11-28 or "
                                    "2026-11-28T10:21:00Z",
                                    field));
        }
        if (bound.ends_with('Z')) bound.pop_back();  // which compares above a fraction
        return {};
    }
    static char to_upper(char c) { return static_cast<char>(c & ~0x20); }

    const std::string_view text_;
    const SystemTime now_;
    std::size_t at_ = 0, values_ = 0;
    std::string name_;
    CallFilter filter_;
};

Result<CallFilter> CallFilter::parse(std::string_view text, SystemTime now) {
    if (text.size() > kMostBytes)
        return fail(ErrorCode::kInvalidArgs, fmt::format("filter: at most {} bytes", kMostBytes));
    return Reader(text, now).read();
}

bool CallFilter::matches(const FinishedCall& call) const {
    if (min_us_ && call.duration_us < *min_us_) return false;
    if (!from_.empty() && call.time < from_) return false;
    // A bound such as `2026-11-28` holds for the whole day.
    if (!to_.empty() && call.time.substr(0, to_.size()) > to_) return false;
    const std::string_view agent = call.agent.empty() ? call.principal : call.agent;
    const auto fits = [&](const Member& member, std::string_view value) {
        const std::string lower = lower_case(value);
        return std::ranges::any_of(member.any,
                                   [&](const Glob& glob) { return glob.matches(lower); });
    };
    for (const Member& member : members_) {
        if (member.field == kStatus) {
            if (!fits(member, name_of(call.status)) && !fits(member, call.code)) return false;
        } else if (member.field == "agent") {
            if (!fits(member, agent)) return false;
        } else {
            const auto text =
                std::ranges::find(kFields, member.field, &decltype(kFields)::value_type::first);
            if (!fits(member, call.*text->second)) return false;
        }
    }
    const std::array texts{call.tool, call.principal, agent, call.code, call.message, call.call_id};
    return std::ranges::all_of(words_, [&](const std::string& word) {
        return std::ranges::any_of(texts, [&](auto text) { return has_word(text, word); });
    });
}

}  // namespace crab::core
