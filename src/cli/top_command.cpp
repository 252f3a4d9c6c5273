#include "cli/admin_client.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"

#include <thread>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::chrono::seconds kRefresh{2};
/// To the upper left corner, and nothing below it.
constexpr std::string_view kStartOver = "\x1b[H\x1b[J";

std::string share_of(double part, double all) {
    return all > 0 && part > 0 ? fmt::format("{:.1f} %", 100 * part / all) : "-";
}

std::string took(const json::Value& row, std::string_view name) {
    return to_words(std::chrono::microseconds(number_of(row, name)));
}

/// Where the most time goes: the stage in which a call spends most, on the average.
std::string longest_stage(const json::Value& row) {
    std::string longest = "-";
    double most = 0;
    const json::Value* const stages = row.find("stage_us");
    if (stages == nullptr || !stages->is_object()) return longest;
    for (const auto& [name, value] : *stages->as_object()) {
        const auto us = static_cast<double>(number_of(*stages, name));
        if (us <= most) continue;
        most = us;
        longest = name;
    }
    return longest;
}

struct Screen {
    json::Value stats, status;
};

std::string text_of_screen(const Screen& screen, const Top& options) {
    const double seconds = std::chrono::duration<double>(options.window).count();
    Table table({options.by == "tool"        ? "TOOL"
                 : options.by == "principal" ? "PRINCIPAL"
                                             : "SOURCE",
                 "CALLS", "FAILED", "P50", "P95", "P99", "LONGEST STAGE", "SLOWEST CALL"});
    double calls = 0, errors = 0;
    int shown = 0;
    for (const json::Value& row : items_of(screen.stats, "rows")) {
        const auto of_row = static_cast<double>(number_of(row, "calls"));
        const auto failed = static_cast<double>(number_of(row, "errors"));
        calls += of_row;
        errors += failed;
        if (shown++ >= options.rows) continue;
        table.add({text_of(row, "key"), fmt::format("{:.0f}", of_row), share_of(failed, of_row),
                   took(row, "p50_us"), took(row, "p95_us"), took(row, "p99_us"),
                   longest_stage(row), text_of(row, "slowest")});
    }
    std::string text = fmt::format(
        "last {}: {:.0f} calls, {:.1f}/s, failed {}; running now: {}\n", to_words(options.window),
        calls, calls / seconds, share_of(errors, calls), number_of(screen.status, "running_calls"));
    text += table.empty() ? "No calls.\n" : "\n" + table.to_text(Terminal::out());
    if (shown > options.rows) text += fmt::format("and {} more\n", shown - options.rows);
    return text;
}

Result<Screen> look(const Top& options) {
    const auto window = std::chrono::duration_cast<std::chrono::seconds>(options.window).count();
    auto stats = fetch(options.target, fmt::format("/v1/admin/stats?by={}&window={}s&limit=1000",
                                                   options.by, window));
    if (!stats) return fail(std::move(stats.error()));
    auto status = fetch(options.target, "/v1/admin/status");
    if (!status) return fail(std::move(status.error()));
    return Screen{.stats = std::move(*stats), .status = std::move(*status)};
}

}  // namespace

int run(const Top& options) {
    const bool once = options.once || !options.output.is_text() || !Terminal::out().interactive();
    for (;;) {
        const auto screen = look(options);
        if (!screen) return report(screen.error());
        if (!options.output.is_text()) return show_value(screen->stats, options.output);
        print((once ? std::string() : std::string(kStartOver)) + text_of_screen(*screen, options));
        std::fflush(stdout);
        if (once) return kExitOk;
        std::this_thread::sleep_for(kRefresh);
    }
}

}  // namespace crab::cli
