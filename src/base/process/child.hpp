#pragma once

#include "base/descriptor.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace crab {

/// A program to start as a child, and what it inherits. All else that this process has open closes
/// there, for everything of ours closes on exec.
struct ChildProgram {
    std::vector<std::string> words;          ///< its name and its arguments; no shell
    std::string file{};                      ///< to execute; empty: the first word, by PATH
    std::vector<std::string> environment{};  ///< `NAME=value`, and no others
    std::array<int, 3> standard{-1, -1, -1};  ///< its standard descriptors; -1: /dev/null
    /// Open there under their own numbers; -1 among them is nothing.
    std::span<const int> kept{};
    std::string folder{};  ///< to run in; empty: that of this process
    /// The kernel kills it (not its children) when the thread that started it ends, however that
    /// comes about: for children that a crash must not leave behind.
    bool dies_with_thread = false;
    /// In a session of its own, without the terminal; not with `dies_with_thread`.
    bool own_session = false;
    /// With `dies_with_thread`: `cgroup.procs` of the control groups that it enters before it runs.
    std::span<const int> groups{};
};

/// How a child ended: exit_status of exit(), or the signal that ended it.
struct ChildEnd {
    int exit_status = 0;
    int signal = 0;  ///< 0: none

    /// As a shell says it: 128 plus the signal for one that a signal ended.
    int status() const { return signal != 0 ? 128 + signal : exit_status; }
};

/// A child process: the one way in which crab starts programs. It has a process group of its own
/// and all signals at their defaults. It is waited for by its pidfd, blocking or on an event loop,
/// and collected by reap(); the destructor kills the group of one that was not.
class Child {
public:
    Child() = default;
    Child(Child&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}
    Child& operator=(Child&&) = delete;
    ~Child();

    /// Once. Returns 0, or an errno.
    [[nodiscard]] int start(ChildProgram program);

    /// It was started and not collected yet, so that its number is nobody else's.
    bool is_there() const { return pid_ > 0; }
    pid_t pid() const { return pid_; }
    /// Readable once it has ended; -1 where the kernel has none to give.
    int ended() const { return pidfd_.get(); }
    /// Asks the kernel whether it has ended.
    bool has_ended() const;
    void kill(int signal) const;
    void kill_group(int signal) const;
    /// It goes on by itself, whatever becomes of this process.
    void leave() {
        pid_ = -1;
        pidfd_.close();
    }
    /// Collects it if it has ended.
    std::optional<ChildEnd> try_reap();
    /// Kills what is left of its group and collects it. Waits until it has ended.
    ChildEnd reap();

private:
    pid_t pid_ = -1;
    Descriptor pidfd_;
};

/// The file that a shell would run for this word, by PATH of this process; empty: there is none.
std::string find_program(const std::string& word);

/// A descriptor of a process that need not be a child; not open, with errno set, when there is
/// none.
Descriptor open_pidfd(pid_t pid);
/// False with errno set when the process is gone.
bool signal_pidfd(const Descriptor& process, int signal);

}  // namespace crab
