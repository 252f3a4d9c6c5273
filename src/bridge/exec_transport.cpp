#include "bridge/exec_transport.hpp"

#include "base/log.hpp"
#include "base/process/subprocess.hpp"
#include "base/task/on_cancel.hpp"
#include "sdk/machine/split_command.hpp"

#include <cstdlib>

#include <unistd.h>

namespace crab::bridge {
namespace {

using cetp::Envelope;

void append(std::vector<std::string>& words, std::initializer_list<std::string> more) {
    words.insert(words.end(), more.begin(), more.end());
}

/// What of the system a sandbox sees, the same for every provider.
std::vector<std::string> sandbox(const std::string& bubblewrap) {
    std::vector<std::string> words{bubblewrap};
    append(words, {"--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
                   "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev"});
    append(words, {"--tmpfs", "/tmp", "--tmpfs", "/run", "--ro-bind", "/usr", "/usr", "--ro-bind",
                   "/etc", "/etc", "--ro-bind", "/sys", "/sys"});
    append(words, {"--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink",
                   "usr/lib64", "/lib64"});
    return words;
}

bool is_within(const std::string& inner, const std::string& outer) {
    return inner == outer || inner.starts_with(outer == "/" ? outer : outer + "/");
}

/// The program's folder, which has what it needs; the program alone if that would show the home
/// folder, or sockets of others.
std::string shown_of(const std::string& program, const std::filesystem::path& home) {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::path(program).parent_path();
    const std::string real = std::filesystem::weakly_canonical(folder, ignored);
    const std::string real_home = std::filesystem::weakly_canonical(home, ignored);
    const bool shows_more = is_within(real_home, real) || is_within(real, "/run") || real == "/tmp";
    return shows_more ? program : folder.string();
}

/// Once all mounts are made: nothing can be written but the private /tmp.
void seal(std::vector<std::string>& words) {
    append(words, {"--remount-ro", "/run", "--remount-ro", "/dev", "--remount-ro", "/"});
}

}  // namespace

std::optional<std::filesystem::path> find_bubblewrap() {
    const std::filesystem::path program = "/usr/bin/bwrap";
    if (::access(program.c_str(), X_OK) != 0) return std::nullopt;
    SubprocessOptions trial{.argv = sandbox(program),
                            .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5)};
    seal(trial.argv);
    append(trial.argv, {"--", "/usr/bin/true"});
    const auto end = run_subprocess(trial);
    return end && end->exit_status == 0 ? std::optional(program) : std::nullopt;
}

Result<std::vector<std::string>> ExecTransport::command_line(const cetp::ProviderRecord& provider,
                                                             const cetp::MethodCall& call) const {
    const auto exec = sdk::split_command(provider.exec);
    if (!exec) return fail(exec.error());
    std::vector<std::string> words = sandbox(bubblewrap_);
    if (provider.read_home)
        append(words,
               {"--ro-bind", home_.string(), home_.string(), "--setenv", "HOME", home_.string()});
    const std::string shown = shown_of(exec->front(), home_);
    if (!shown.starts_with("/usr/")) append(words, {"--ro-bind", shown, shown});
    if (provider.network) words.emplace_back("--share-net");
    const char* language = std::getenv("LANG");
    append(words, {"--setenv", "PATH", "/usr/bin", "--setenv", "LANG",
                   language != nullptr ? language : "C.UTF-8", "--setenv", "CETP_VERSION", "1"});
    if (call.extras.contains("tool_name"))
        append(words, {"--setenv", "CETP_TOOL_NAME", call.extra("tool_name")});
    if (call.extras.contains("request_id"))
        append(words, {"--setenv", "CETP_REQUEST_ID", call.extra("request_id")});
    seal(words);
    words.emplace_back("--");
    words.insert(words.end(), exec->begin(), exec->end());
    words.push_back(call.method);
    return words;
}

Task<Delivery> ExecTransport::send(const cetp::ProviderRecord& provider,
                                   const cetp::MethodCall& call, Deadline deadline) {
    const SteadyTime began = loop_.clock().steady_now();
    auto words = command_line(provider, call);
    if (!words)
        co_return Envelope::error(cetp::code::kInternalError, "its Exec: " + words.error().message);
    TaskChain& chain = co_await this_chain();
    const auto stop = std::make_shared<const StopEvent>();
    const OnCancel cancelled(chain, [stop] { stop->raise(); });
    SubprocessOptions options{.argv = std::move(*words),
                              .input = call.extra("args"),
                              .deadline = deadline,
                              .max_output_bytes = kMaxEnvelope,
                              .stop = stop};
    auto run = [options = std::move(options)] { return run_subprocess(options); };
    const Result<SubprocessEnd> end = co_await commands_.run(std::move(run));
    if (!end) {
        if (end.error().code == ErrorCode::kTimeout)
            co_return cetp::Envelope::no_answer_within(deadline - began);
        if (end.error().code == ErrorCode::kOversize)
            co_return Envelope::too_large(kMaxEnvelope + 1, kMaxEnvelope);
        co_return std::nullopt;
    }
    if (!end->error_tail.empty())
        log::warn("a provider complains",
                  {{"provider", provider.id}, {"said", cetp::clean_text(end->error_tail)}});
    if (end->exit_status > 128) co_return std::nullopt;
    co_return cetp::parse_envelope(end->output);
}

Task<void> ExecTransport::start_silently(const cetp::ProviderRecord&, Deadline) { co_return; }

}  // namespace crab::bridge
