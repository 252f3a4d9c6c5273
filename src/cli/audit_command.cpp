#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/gateway_endpoint.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "core/audit/audit_text.hpp"
#include "store/sqlite/audit_store_sqlite.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace crab::cli {
namespace {

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

void add_row(Table& table, std::string_view record) {
    const auto parsed = json::Value::parse(record);
    if (!parsed) return table.add({"", "", "not JSON", "", "", std::string(record)});
    const std::string event = text_of(*parsed, "event");
    const bool ended = parsed->find("duration_us") != nullptr;
    table.add({text_of(*parsed, "time"), text_of(*parsed, "principal"),
               event.empty() ? text_of(*parsed, "tool") : event,
               ended ? to_words(std::chrono::microseconds(number_of(*parsed, "duration_us"))) : "",
               status_in_words(*parsed), text_of(*parsed, "call_id")});
}

void print_found(const core::AuditFound& found) {
    Table table({"TIME", "PRINCIPAL", "TOOL OR EVENT", "TOOK", "STATUS", "CALL"});
    for (const std::string& record : found.records) add_row(table, record);
    if (table.empty())
        print_line("No such records.");
    else
        print(table.to_text(Terminal::out()));
    if (found.cursor) print_line(fmt::format("more: --cursor {}", found.cursor->text()));
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

}  // namespace

int run(const AuditSearch& options) {
    const auto found = find_records(options);
    if (!found) return report(found.error());
    if (options.output == Output::kText) return print_found(*found), kExitOk;
    std::string text;
    json::Writer writer(text);
    core::append_found(writer, *found);
    const auto answer = json::Value::parse(text, {.max_bytes = json::kMostBytes});
    if (!answer) return report(answer.error());
    print_json(*answer);
    return kExitOk;
}

int run(const AuditVerify& options) {
    const auto store = open_records(options.config, options.system);
    if (!store) return report(store.error());
    const auto check = (*store)->verify_chain({});
    if (!check) return report(check.error());
    if (options.output == Output::kJson) {
        std::string text;
        json::Writer writer(text);
        writer.begin_object();
        core::append_members(writer, *check);
        writer.end_object();
        print_json(json::Value::parse(text).value());
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
    return check->intact ? kExitOk : kExitFailed;
}

int run(const AuditExport& options) {
    const auto store = open_records(options.which.config, options.which.system);
    if (!store) return report(store.error());
    auto filter = filter_of(options.which);
    if (!filter) return report(filter.error());
    const RealClock clock;
    filter->end_at(clock.system_now());  // it does not run after what is being written
    core::AuditCsv csv;
    const bool as_csv = options.format == "csv";
    if (as_csv) print(core::AuditCsv::head());
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
