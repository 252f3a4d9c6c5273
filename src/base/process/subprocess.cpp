#include "base/process/subprocess.hpp"

#include "base/process/pipe.hpp"
#include "base/scope_exit.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab {
namespace {

constexpr std::size_t kErrorTail = 4096;
constexpr int kLookAroundMs = 50;

std::vector<std::string> merged_environment(
    const std::vector<std::pair<std::string, std::string>>& extra) {
    std::vector<std::string> merged;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        bool replaced = false;
        for (const auto& [name, value] : extra)
            replaced =
                replaced || (text.starts_with(name) && text.substr(name.size()).starts_with('='));
        if (!replaced) merged.emplace_back(text);
    }
    for (const auto& [name, value] : extra) merged.push_back(fmt::format("{}={}", name, value));
    return merged;
}

/// Starts the program with these three descriptors; its process group is its own. Errno on failure.
int start(const SubprocessOptions& options, int input, int output, int errors, pid_t& pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    const ScopeExit free_both([&] {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    });
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, errors, 2);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<std::string> arguments = options.argv;
    std::vector<std::string> environment = merged_environment(options.environment);
    return posix_spawnp(&pid, options.argv.front().c_str(), &actions, &attributes,
                        pointers_to(arguments).data(), pointers_to(environment).data());
}

/// Reads what is there; false at the end of the stream.
bool read_some(int fd, std::string& into) {
    std::array<char, 16 * 1024> chunk;
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got > 0) into.append(chunk.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/// Whether the program has ended; it stays a zombie, so that its process group cannot be anybody
/// else's yet.
bool has_ended(pid_t pid) {
    siginfo_t about{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           about.si_pid == pid;
}

}  // namespace

// long: the child, its input, its output and the time are waited for in one loop
Result<SubprocessEnd> run_subprocess(const SubprocessOptions& options) {
    if (options.argv.empty()) return fail(ErrorCode::kInvalidArgs, "no program was named");
    Pipe input, output, errors;
    if (!input.open() || !output.open() || !errors.open())
        return fail(ErrorCode::kUnavailable,
                    fmt::format("no pipe for a program: {}", std::strerror(errno)));
    pid_t pid = 0;
    if (const int failed = start(options, input.read_end.get(), output.write_end.get(),
                                 errors.write_end.get(), pid);
        failed != 0) {
        return fail(ErrorCode::kUnavailable,
                    fmt::format("{} could not be started: {}", options.argv.front(),
                                std::strerror(failed)));
    }
    input.read_end.close();
    output.write_end.close();
    errors.write_end.close();
    for (const int fd : {input.write_end.get(), output.read_end.get(), errors.read_end.get()})
        ::fcntl(fd, F_SETFL, O_NONBLOCK);

    SubprocessEnd end;
    std::optional<Error> stopped;
    std::size_t written = 0;
    bool killed = false;
    const auto stop = [&](ErrorCode code, std::string message) {
        if (!stopped) stopped = fail(code, std::move(message)).error();
        if (!std::exchange(killed, true)) ::kill(-pid, SIGKILL);
    };
    if (options.input.empty()) input.write_end.close();
    int status = 0;
    bool exited = false;
    while (!exited || output.read_end.is_open() || errors.read_end.is_open()) {
        std::array<pollfd, 3> watched{pollfd{input.write_end.get(), POLLOUT, 0},
                                      pollfd{output.read_end.get(), POLLIN, 0},
                                      pollfd{errors.read_end.get(), POLLIN, 0}};
        const bool was_over = exited;
        ::poll(watched.data(), watched.size(), was_over ? 0 : kLookAroundMs);
        if (watched[0].revents != 0) {
            const ssize_t put = write_quietly(input.write_end.get(),
                                              std::string_view(options.input).substr(written));
            if (put > 0) written += static_cast<std::size_t>(put);
            if ((put < 0 && errno != EAGAIN && errno != EINTR) || written == options.input.size())
                input.write_end.close();
        }
        if (watched[1].revents != 0 && !read_some(output.read_end.get(), end.output))
            output.read_end.close();
        if (watched[2].revents != 0 && !read_some(errors.read_end.get(), end.error_tail))
            errors.read_end.close();
        if (end.error_tail.size() > 2 * kErrorTail)
            end.error_tail.erase(0, end.error_tail.size() - kErrorTail);
        if (end.output.size() > options.max_output_bytes)
            stop(ErrorCode::kOversize,
                 fmt::format("the program wrote more than {} bytes", options.max_output_bytes));
        if (std::chrono::steady_clock::now() >= options.deadline)
            stop(ErrorCode::kTimeout, "the program did not end before its deadline");
        if (options.cancelled && options.cancelled())
            stop(ErrorCode::kCancelled, "the program was cancelled");
        if (!exited && has_ended(pid)) {
            exited = true;
            // what it started and left behind ends with it
            if (!std::exchange(killed, true)) ::kill(-pid, SIGKILL);
            ::waitpid(pid, &status, 0);
        }
        if (exited && stopped) break;
        // All that it wrote is in the pipes by now; a daemon that left its group may hold them open
        // for ever.
        if (was_over && watched[1].revents == 0 && watched[2].revents == 0) break;
    }
    if (stopped) return fail(std::move(*stopped));
    if (end.error_tail.size() > kErrorTail)
        end.error_tail.erase(0, end.error_tail.size() - kErrorTail);
    end.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return end;
}

}  // namespace crab
