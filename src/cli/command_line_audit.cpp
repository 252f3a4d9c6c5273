#include "cli/command_grammar.hpp"
#include "core/audit/audit_filter.hpp"
#include "json/schema/rfc3339.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace crab::cli {
/// `1d` is a day ago; a time stands for itself.
std::string CommandLine::moment_of(const std::string& name, const std::string& text) {
    if (const auto ago = parse_duration(text))
        return to_rfc3339(std::chrono::system_clock::now() - *ago);
    if (json::parse_rfc3339(text)) return text;
    throw CLI::ValidationError(
        name, "has to be a duration such as 2h or 30d, or a time such as 2026-11-14T08:00:00Z");
}

namespace {

template <class Moment>
void add_moment(CLI::App* command, Moment moment_of, const std::string& option,
                const std::string& name, AuditSelection& which, const std::string& description) {
    const auto take = [&which, option, name, moment_of](const std::string& text) {
        which.parameters[name] = moment_of(option, text);
    };
    command->add_option_function<std::string>(option, take, description)->type_name("WHEN");
}

}  // namespace

void CommandLine::select_records(CLI::App* command, AuditSelection& which) {
    of_gateway(command, which.config, which.system);
    add_moment(command, moment_of, "--since", "from", which,
               "Recorded since then: 1d (so long ago), or a time in RFC 3339 (default: any time)");
    add_moment(command, moment_of, "--until", "to", which,
               "Recorded until then, in the same forms (default: now)");
    const auto min = [&which](const std::string& text) {
        const auto least = parse_duration(text);
        if (!least) throw CLI::ValidationError("--min", "has to be a duration such as 500ms or 5s");
        which.parameters["min_us"] = std::to_string(std::chrono::microseconds(*least).count());
    };
    command
        ->add_option_function<std::string>("--min", min,
                                           "Calls that took so long, or longer (default: any)")
        ->type_name("DURATION");
    for (const auto& [name, meaning] : core::kAuditParameters) {
        if (name == "from" || name == "to" || name == "min_us" || name == "q") continue;
        std::string option = fmt::format("--{}", name);
        std::ranges::replace(option, '_', '-');
        const auto take = [&which, key = std::string(name)](const std::string& text) {
            which.parameters[key] = text;
        };
        std::string description = fmt::format("{} (default: any)", meaning);
        description.front() = static_cast<char>(description.front() & ~0x20);
        command->add_option_function<std::string>(option, take, description)->type_name("TEXT");
    }
    const auto words = [&which](const std::vector<std::string>& given) {
        which.parameters["q"] = fmt::format("{}", fmt::join(given, " "));
    };
    command
        ->add_option_function<std::vector<std::string>>(
            "words", words, "Words that all stand in values of the record, in any case")
        ->type_name("WORD");
}

void CommandLine::audit() {
    CLI::App& parent =
        group("audit",
              "Search, check and export the audit records, whether the gateway runs or "
              "not");
    auto [search, search_options] =
        leaf<AuditSearch>(parent, "search", "Show the records that fit, newest first",
                          "  crab audit search --since 1d --decision deny\n"
                          "  crab audit search --agent butler --status error,timeout\n"
                          "  crab audit search --tool 'disk_*' --min 500ms -o json");
    select_records(search, search_options->which);
    search->add_option("--limit", search_options->limit, "How many records at most (default: 50)")
        ->type_name("N")
        ->check(CLI::Range(1, 10'000));
    search
        ->add_option("--cursor", search_options->cursor,
                     "Go on where the search that printed this ended (default: the newest)")
        ->type_name("CURSOR");
    choose_output(search, search_options->output, Answer::kFixedList);
    auto [verify, verify_options] =
        leaf<AuditVerify>(parent, "verify", "Check that no record was changed or cut out",
                          "  crab audit verify\n  crab audit verify --system -o json");
    of_gateway(verify, verify_options->config, verify_options->system);
    choose_output(verify, verify_options->output);
    auto [read, read_options] = leaf<AuditExport>(
        parent, "export", "Print the records that fit, oldest first, one JSON object a line",
        "  crab audit export --since 1d > yesterday.jsonl\n"
        "  crab audit export --until 30d --format csv > old.csv\n"
        "  crab audit export --since 1h --follow");
    select_records(read, read_options->which);
    read->add_flag("-f,--follow", read_options->follow,
                   "Go on with what is recorded later, until Ctrl-C");
    read->add_option("--format", read_options->format,
                     "jsonl, or csv for spreadsheets, formulas defused (default: jsonl)")
        ->type_name("FORMAT")
        ->check(one_of({"jsonl", "csv"}));
}

}  // namespace crab::cli
