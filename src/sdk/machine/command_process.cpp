#include "sdk/machine/command_process.hpp"

#include "base/process/subprocess.hpp"

#include <memory>
#include <utility>

namespace crab::sdk {
namespace {

constexpr std::size_t kErrorTail = 2048;
constexpr std::size_t kMaxVariable = 100 * 1024;  // Linux refuses a single one above 128 KiB
constexpr Milliseconds kGrace{500};

}  // namespace

Result<CommandEnd> run_command(const CommandRun& run) {
    const auto stop = std::make_shared<const StopEvent>();
    SubprocessOptions options{.argv = run.words,
                              .input = run.input,
                              .hidden = {"CRAB_TOKEN"},
                              .deadline = run.deadline,
                              .max_output_bytes = run.max_output_bytes,
                              .error_tail_bytes = kErrorTail,
                              .grace = kGrace,
                              .stop = stop,
                              .on_line = run.on_line};
    for (const auto& variable : run.environment) {
        if (variable.first.size() + 1 + variable.second.size() <= kMaxVariable)
            options.environment.push_back(variable);
    }
    if (run.on_cancel) run.on_cancel([stop] { stop->raise(); });
    auto end = run_subprocess(options);
    if (!end) return fail(std::move(end.error()));
    return CommandEnd{.exit_status = end->signal != 0 ? -1 : end->exit_status,
                      .signal = end->signal,
                      .output = std::move(end->output),
                      .last_errors = std::move(end->error_tail)};
}

}  // namespace crab::sdk
