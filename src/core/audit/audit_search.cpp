#include "core/audit/audit_search.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace crab::core {
namespace {

/// Lines between two looks at the clock.
constexpr unsigned kLinesPerLook = 64;

/// One part of a search under way.
class Part {
public:
    Part(const AuditFilter& filter, const AuditScan& scan, const Clock& clock)
        : filter_(filter), scan_(scan), clock_(clock), end_(clock.steady_now() + scan.most_time) {}

    /// Looks at one more batch; false: the part is over.
    bool take(const StoredAuditBatch& batch) {
        found_.scanned_to = scan_.newest_first ? batch.last : batch.first;
        std::size_t at = scan_.newest_first ? batch.records.size() : 0;
        if (scan_.cursor && scan_.cursor->sequence == batch.sequence)
            at = std::min(scan_.cursor->offset, batch.records.size());
        const bool whole = scan_.newest_first ? backwards(batch, at) : forwards(batch, at);
        if (!whole) {
            found_.cursor = AuditCursor{.sequence = batch.sequence, .offset = at};
            return false;
        }
        found_.scanned_to = scan_.newest_first ? batch.first : batch.last;
        return true;
    }
    bool stopped() const { return stopped_; }
    AuditFound result() { return std::move(found_); }

private:
    /// From the byte before `at` to the beginning. False: it is over, at `at`.
    bool backwards(const StoredAuditBatch& batch, std::size_t& at) {
        while (at > 0) {
            if (is_over()) return false;
            const std::string_view rest = batch.records.substr(0, at);
            const std::size_t line_end = rest.ends_with('\n') ? at - 1 : at;
            const std::size_t before = rest.substr(0, line_end).rfind('\n');
            const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
            look(batch, rest.substr(begin, line_end - begin));
            at = begin;
        }
        return true;
    }
    bool forwards(const StoredAuditBatch& batch, std::size_t& at) {
        while (at < batch.records.size()) {
            if (is_over()) return false;
            const std::size_t end = std::min(batch.records.find('\n', at), batch.records.size());
            look(batch, batch.records.substr(at, end - at));
            at = std::min(end + 1, batch.records.size());
        }
        return true;
    }
    void look(const StoredAuditBatch& batch, std::string_view line) {
        read_bytes_ += line.size() + 1;
        if (line.empty() || !filter_.matches(line, batch, parser_)) return;
        found_bytes_ += line.size();
        found_.records.emplace_back(line);
    }
    /// Never before the first line, so that every part comes further.
    bool is_over() {
        if (found_.records.size() >= scan_.most_found || found_bytes_ >= scan_.most_found_bytes ||
            read_bytes_ >= scan_.most_read_bytes)
            return true;
        if (++lines_ % kLinesPerLook != 0) return false;
        stopped_ = scan_.stop.stop_requested();
        return stopped_ || clock_.steady_now() >= end_;
    }

    const AuditFilter& filter_;
    const AuditScan& scan_;
    const Clock& clock_;
    const SteadyTime end_;
    json::Parser parser_;
    AuditFound found_;
    std::size_t found_bytes_ = 0, read_bytes_ = 0;
    unsigned lines_ = 0;
    bool stopped_ = false;
};

}  // namespace

std::optional<AuditCursor> AuditCursor::parse(std::string_view text) {
    AuditCursor cursor;
    const char* const end = text.data() + text.size();
    const auto sequence = std::from_chars(text.data(), end, cursor.sequence);
    if (sequence.ec != std::errc() || sequence.ptr == end || *sequence.ptr != '.')
        return std::nullopt;
    const auto offset = std::from_chars(sequence.ptr + 1, end, cursor.offset);
    if (offset.ec != std::errc() || offset.ptr != end || cursor.sequence == 0) return std::nullopt;
    return cursor;
}

std::string AuditCursor::text() const { return fmt::format("{}.{}", sequence, offset); }

Result<AuditFound> search_audit(AuditStore& store, const AuditFilter& filter, const AuditScan& scan,
                                const Clock& clock) {
    const AuditRange range{.from = filter.from(),
                           .to = filter.to(),
                           .newest_first = scan.newest_first,
                           .begin = scan.cursor ? scan.cursor->sequence : 0};
    Part part(filter, scan, clock);
    const auto read =
        store.read(range, [&](const StoredAuditBatch& batch) { return part.take(batch); });
    if (!read) return fail(read.error());
    if (part.stopped()) return fail(ErrorCode::kCancelled, "the search was cancelled");
    return part.result();
}

}  // namespace crab::core
