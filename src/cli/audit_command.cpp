#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/gateway_endpoint.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "store/sqlite/audit_store_sqlite.hpp"

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

}  // namespace

int run(const AuditVerify& options) {
    const auto store = open_records(options.config, options.system);
    if (!store) return report(store.error());
    const auto check = (*store)->verify_chain();
    if (!check) return report(check.error());
    if (options.output == Output::kJson) {
        json::Value answer = json::Value::object({{"intact", check->intact},
                                                  {"records", check->records},
                                                  {"batches", check->batches},
                                                  {"first_sequence", check->first_sequence},
                                                  {"last_sequence", check->last_sequence},
                                                  {"head_hash", check->head_hash}});
        if (!check->intact) answer.set("problem", check->problem);
        print_json(answer);
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
    const auto store = open_records(options.config, options.system);
    if (!store) return report(store.error());
    const SystemTime from = options.since ? std::chrono::floor<SystemTime::duration>(
                                                std::chrono::system_clock::now() - *options.since)
                                          : SystemTime{};
    const auto read = (*store)->read(from, [](std::string_view records) {
        print(records);
        if (!records.empty() && !records.ends_with('\n')) print("\n");
        return std::ferror(stdout) == 0;
    });
    if (!read) return report(read.error());
    return kExitOk;
}

}  // namespace crab::cli
