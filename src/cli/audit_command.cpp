#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/gateway_endpoint.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "core/audit/audit_text.hpp"
#include "store/sqlite/audit_store_sqlite.hpp"

#include <algorithm>
#include <iterator>
#include <thread>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr Milliseconds kLookAgainForRecords{500};

Result<std::unique_ptr<store::sqlite::AuditStoreSqlite>> open_records(
    const std::filesystem::path& config_file, bool system) {
    const auto folder = find_state_dir(config_file, system);
    if (!folder) return fail(folder.error());
    const std::filesystem::path file = *folder / "audit.db";
    std::error_code problem;
    if (!std::filesystem::exists(file, problem))
        return fail(ErrorCode::kNotFound,
                    fmt::format("there is no {}: this gateway has no records yet", file.string()));
    return store::sqlite::AuditStoreSqlite::open(file, {.check = store::sqlite::StartCheck::kNone});
}

Result<core::AuditFilter> filter_of(const AuditSelection& which) {
    return core::AuditFilter::read([&](std::string_view name) -> std::optional<std::string> {
        const auto given = which.parameters.find(name);
        if (given == which.parameters.end()) return std::nullopt;
        return given->second;
    });
}

/// Parts are joined until there is as much as was asked for.
Result<core::AuditFound> find_records(const AuditSearch& options) {
    const auto store = open_records(options.which.config, options.which.system);
    if (!store) return fail(store.error());
    const auto filter = filter_of(options.which);
    if (!filter) return fail(filter.error());
    core::AuditScan scan;
    if (!options.cursor.empty()) {
        scan.cursor = core::AuditCursor::parse(options.cursor);
        if (!scan.cursor)
            return fail(ErrorCode::kInvalidArgs, "--cursor takes what an earlier search printed");
    }
    core::AuditFound all;
    do {
        scan.most_found = options.limit - all.records.size();
        auto part = core::search_audit(**store, *filter, scan, RealClock());
        if (!part) return part;
        std::ranges::move(part->records, std::back_inserter(all.records));
        all.scanned_to = part->scanned_to ? part->scanned_to : all.scanned_to;
        scan.cursor = all.cursor = part->cursor;
    } while (scan.cursor && all.records.size() < options.limit);
    return all;
}

std::string status_in_words(const json::Value& record) {
    const std::string status = text_of(record, "status"), code = text_of(record, "code");
    return status + (status.empty() || code.empty() ? "" : " ") + code;
}

std::string subject_of(const json::Value& record) {
    const std::string event = text_of(record, "event");
    return event.empty() ? text_of(record, "tool") : event;
}

std::string time_of_record(const json::Value& record) {
    return record.find("duration_us") == nullptr
               ? std::string()
               : to_words(std::chrono::microseconds(number_of(record, "duration_us")));
}

int show_found(const core::AuditFound& found, const Output& output) {
    std::string text;
    json::Writer writer(text);
    core::append_found(writer, found);
    const auto answer = json::Value::parse(text, {.max_bytes = json::kMostBytes});
    if (!answer) return report(answer.error());
    const Listing listing{
        .members = {"records"},
        .name = by_member("call_id"),
        .columns = {column("TIME", "time"),
                    column("PRINCIPAL", "principal"),
                    {"TOOL OR EVENT", subject_of},
                    {"TOOK", time_of_record},
                    {"STATUS", status_in_words},
                    column("CALL", "call_id"),
                    wide_column("AGENT", "agent"),
                    wide_column("SESSION", "session"),
                    wide_column("RULE", "rule")},
        .empty = "No such records.",
        .footer = found.cursor ? fmt::format("more: --cursor {}\n", found.cursor->text()) : ""};
    return show_list(*answer, listing, output);
}

bool print_part(const core::AuditFound& part, core::AuditCsv* csv) {
    std::string text;
    for (const std::string& record : part.records) {
        if (csv != nullptr)
            csv->append_row(text, record);
        else
            text.append(record).append("\n");
    }
    print(text);
    return std::ferror(stdout) == 0;
}

/// All that fits, and then what is recorded, until nobody reads it.
int follow_records(core::AuditStore& store, const core::AuditFilter& filter, core::AuditCsv* csv) {
    json::Parser parser;
    std::uint64_t next = 0;
    const auto take = [&](const core::StoredAuditBatch& batch) {
        if (batch.sequence < next) return true;
        next = batch.sequence + 1;
        core::AuditFound found;
        for (std::string_view rest = batch.records; !rest.empty();) {
            const std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
            if (!line.empty() && filter.matches(line, batch, parser))
                found.records.emplace_back(line);
        }
        return found.records.empty() || print_part(found, csv);
    };
    for (;;) {
        const auto read =
            store.read({.from = filter.from(), .to = filter.to(), .begin = next}, take);
        if (!read) return report(read.error());
        if (std::fflush(stdout) != 0) return kExitOk;
        if (filter.to() < RealClock().system_now()) return kExitOk;  // nothing more can fit
        std::this_thread::sleep_for(kLookAgainForRecords);
    }
}

}  // namespace

int run(const AuditSearch& options) {
    const auto found = find_records(options);
    if (!found) return report(found.error());
    return show_found(*found, options.output);
}

int run(const AuditVerify& options) {
    const auto store = open_records(options.config, options.system);
    if (!store) return report(store.error());
    const auto check = (*store)->verify_chain({});
    if (!check) return report(check.error());
    int code = check->intact ? kExitOk : kExitFailed;
    if (!options.output.is_text()) {
        std::string text;
        json::Writer writer(text);
        writer.begin_object();
        core::append_members(writer, *check);
        writer.end_object();
        if (const int shown = show_value(json::Value::parse(text).value(), options.output);
            shown != kExitOk)
            code = shown;
    } else if (check->intact) {
        print_line(fmt::format("intact: {} records in batches {} to {}", check->records,
                               check->first_sequence, check->last_sequence));
        print_line(fmt::format(
            "head {}: note it elsewhere to prove later that nothing before it was rewritten",
            check->head_hash));
    } else {
        print_line(fmt::format("{}: {}; the {} records before it are as they were written",
                               Terminal::out().paint(Colour::kRed, "NOT INTACT"), check->problem,
                               check->records));
    }
    return code;
}

int run(const AuditExport& options) {
    const auto store = open_records(options.which.config, options.which.system);
    if (!store) return report(store.error());
    auto filter = filter_of(options.which);
    if (!filter) return report(filter.error());
    core::AuditCsv csv;
    const bool as_csv = options.format == "csv";
    if (as_csv) print(core::AuditCsv::head());
    if (options.follow) return follow_records(**store, *filter, as_csv ? &csv : nullptr);
    const RealClock clock;
    filter->end_at(clock.system_now());  // it does not run after what is being written
    core::AuditScan scan{.newest_first = false, .most_found = SIZE_MAX};
    do {
        const auto part = core::search_audit(**store, *filter, scan, clock);
        if (!part) return report(part.error());
        if (!print_part(*part, as_csv ? &csv : nullptr)) break;
        scan.cursor = part->cursor;
    } while (scan.cursor);
    return kExitOk;
}

}  // namespace crab::cli
