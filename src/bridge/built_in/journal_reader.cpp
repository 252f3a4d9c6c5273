#include "bridge/built_in/journal_reader.hpp"

#include "json/writer.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include <systemd/sd-journal.h>

#include <fmt/format.h>

namespace crab::bridge {
namespace {

using json::Value;

constexpr std::size_t kMaxEntries = std::size_t{256} << 10;
constexpr std::size_t kMaxMessage = std::size_t{4} << 10;
constexpr std::array<std::string_view, 8> kPriorities{"emergency", "alert",  "critical", "error",
                                                      "warning",   "notice", "info",     "debug"};

struct Close {
    void operator()(sd_journal* journal) const { sd_journal_close(journal); }
};
using Journal = std::unique_ptr<sd_journal, Close>;

Result<Journal> open_journal(const std::optional<std::string>& folder) {
    sd_journal* opened = nullptr;
    const int done = folder ? sd_journal_open_directory(&opened, folder->c_str(), 0)
                            : sd_journal_open(&opened, SD_JOURNAL_LOCAL_ONLY);
    if (done < 0)
        return fail(ErrorCode::kUnavailable, "there is no journal that this user may read");
    return Journal(opened);
}

/// A field of the current entry, without its name; a view until the next entry.
std::string_view field(sd_journal* journal, const char* name) {
    const void* data = nullptr;
    std::size_t size = 0;
    if (sd_journal_get_data(journal, name, &data, &size) < 0) return {};
    const std::string_view text(static_cast<const char*>(data), size);
    return text.substr(std::min(text.size(), text.find('=') + 1));
}

std::string_view unit_of(sd_journal* journal) {
    for (const char* name : {"_SYSTEMD_USER_UNIT", "_SYSTEMD_UNIT", "UNIT", "SYSLOG_IDENTIFIER"}) {
        if (const auto unit = field(journal, name); !unit.empty()) return unit;
    }
    return {};
}

/// What the query asks of fields is left to the journal's indexes: each field's matches are one of
/// many, fields are all of them.
bool add_matches(sd_journal* journal, const JournalQuery& query) {
    for (int priority = 0; query.priority < 7 && priority <= query.priority; ++priority) {
        if (sd_journal_add_match(journal, fmt::format("PRIORITY={}", priority).c_str(), 0) < 0)
            return false;
    }
    if (query.unit.empty()) return true;
    if (sd_journal_add_conjunction(journal) < 0) return false;
    for (const char* name : {"_SYSTEMD_UNIT", "_SYSTEMD_USER_UNIT", "UNIT", "SYSLOG_IDENTIFIER"}) {
        if (sd_journal_add_match(journal, fmt::format("{}={}", name, query.unit).c_str(), 0) < 0 ||
            sd_journal_add_disjunction(journal) < 0)
            return false;
    }
    return true;
}

/// Text that is not UTF-8 becomes so as the JSON is read back.
std::string legible(std::string_view text) {
    std::string quoted;
    json::append_quoted_lossy(quoted, text.substr(0, kMaxMessage));
    const auto value = Value::parse(quoted);
    return value ? *value->as_string() : "";
}

Value describe(sd_journal* journal, std::uint64_t at, std::string_view message) {
    const std::string_view priority = field(journal, "PRIORITY");
    const std::size_t level =
        priority.size() == 1 ? static_cast<std::size_t>(priority[0] - '0') : 6;
    return Value::object({{"time", to_rfc3339(SystemTime(std::chrono::microseconds(at)))},
                          {"unit", legible(unit_of(journal))},
                          {"priority", kPriorities[std::min(level, kPriorities.size() - 1)]},
                          {"message", legible(message)}});
}

}  // namespace

Result<void> find_journal(const std::optional<std::string>& folder) {
    const auto journal = open_journal(folder);
    if (!journal) return fail(journal.error());
    if (sd_journal_seek_tail(journal->get()) < 0 || sd_journal_previous(journal->get()) <= 0)
        return fail(ErrorCode::kUnavailable, "there is no journal that this user may read");
    return {};
}

Result<Value> read_journal(const JournalQuery& query, const std::optional<std::string>& folder) {
    const auto opened = open_journal(folder);
    if (!opened) return fail(opened.error());
    sd_journal* journal = opened->get();
    if (!add_matches(journal, query) || sd_journal_seek_tail(journal) < 0)
        return fail(ErrorCode::kUnavailable, "the journal cannot be searched");
    Value entries = Value::array();
    std::size_t text = 0;
    bool complete = true;
    while (entries.as_array()->size() < query.limit && sd_journal_previous(journal) > 0) {
        std::uint64_t at = 0;
        if (sd_journal_get_realtime_usec(journal, &at) < 0 ||
            SystemTime(std::chrono::microseconds(at)) < query.since)
            break;
        complete = text < kMaxEntries && std::chrono::steady_clock::now() < query.give_up;
        if (!complete) break;
        const std::string_view message = field(journal, "MESSAGE");
        if (!query.contains.empty() && !message.contains(query.contains)) continue;
        text += std::min(message.size(), kMaxMessage);
        const std::string kept(message);  // other fields may take its place
        entries.push_back(describe(journal, at, kept));
    }
    return Value::object({{"entries", std::move(entries)}, {"complete", complete}});
}

}  // namespace crab::bridge
