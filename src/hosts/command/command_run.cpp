#include "hosts/command/command_run.hpp"

#include "base/descriptor.hpp"
#include "base/pipe.hpp"
#include "base/scope_exit.hpp"
#include "hosts/command/command_cgroup.hpp"
#include "hosts/command/process_tree.hpp"
#include "hosts/command/tool_record.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};
constexpr std::chrono::seconds kGrace{2};           ///< between SIGTERM and SIGKILL
constexpr std::chrono::milliseconds kLastOutput{200};   ///< for what is in the pipes when everything is dead
constexpr std::size_t kErrorTail = 64 * 1024;
constexpr std::size_t kChunk = 64 * 1024;

/// A file in memory that holds these words, each ended by NUL, as bubblewrap reads its options.
Descriptor file_of(const std::vector<std::string>& words) {
    Descriptor file(::memfd_create("crab-sandbox", MFD_CLOEXEC));
    std::string text;
    for (const std::string& word : words) text.append(word).push_back('\0');
    if (!file.is_open() || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return Descriptor();
    ::lseek(file.get(), 0, SEEK_SET);
    return file;
}

std::string next_group_name() {
    static std::atomic<std::uint64_t> number{0};
    return fmt::format("crab-{}-{}", ::getpid(), ++number);
}

/// The run of one command.
class Run {
public:
    Run(const SandboxAbilities& abilities, const CommandOrder& order, CommandTalk& talk)
        : abilities_(abilities), order_(order), talk_(talk), began_(std::chrono::steady_clock::now()),
          group_(abilities.cgroups, next_group_name(), {.memory_bytes = order.request.memory_bytes, .processes = order.request.processes + 1}) {}

    CommandEnd operator()() {
        if (order_.deadline <= began_) return finish(EndReason::kDeadline);
        if (order_.wall_deadline <= began_) return finish(EndReason::kWallBudget);
        if (!start()) return finish(EndReason::kNotStarted);
        while (!over()) {
            wait();
            look();
        }
        return finish(end_.reason);
    }

private:
    bool start() {
        if (!input_.open() || !output_.open() || !errors_.open() || !info_.open() || !block_.open() || !status_.open() || !control_.open()) return refuse("no pipe for a command", errno);
        const SandboxDescriptors inside{.info = info_.write_end.get(), .block = block_.read_end.get(), .status = status_.write_end.get(), .control = control_.read_end.get(), .filter = order_.filter};
        const Descriptor options = file_of(bubblewrap_options(abilities_, order_.request, inside));
        if (!options.is_open()) return refuse("no memory for a command", errno);
        if (const int failed = spawn(options.get(), inside); failed != 0) return refuse("the sandbox could not be started", failed);
        sandbox_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
        for (Pipe* pipe : {&output_, &errors_, &info_, &status_}) pipe->write_end.close();
        input_.read_end.close();
        control_.read_end.close();
        block_.read_end.close();
        for (const int fd : {input_.write_end.get(), output_.read_end.get(), errors_.read_end.get(), info_.read_end.get(), status_.read_end.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
        if (order_.input.empty()) input_.write_end.close();
        next_look_ = began_ + kLookEvery;
        return true;
    }

    bool refuse(std::string_view what, int error) {
        end_.failure = fmt::format("{}: {}", what, std::strerror(error));
        return false;
    }

    int spawn(int options, const SandboxDescriptors& inside) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
        const ScopeExit free_both([&] {
            posix_spawn_file_actions_destroy(&actions);
            posix_spawnattr_destroy(&attributes);
        });
        posix_spawn_file_actions_adddup2(&actions, input_.read_end.get(), 0);
        posix_spawn_file_actions_adddup2(&actions, output_.write_end.get(), 1);
        posix_spawn_file_actions_adddup2(&actions, (order_.errors == Errors::kMerge ? output_ : errors_).write_end.get(), 2);
        // Onto itself: it stays open, and every other descriptor of this process closes.
        for (const int fd : {options, inside.info, inside.block, inside.status, inside.control, inside.filter}) posix_spawn_file_actions_adddup2(&actions, fd, fd);
        sigset_t none, defaults;
        sigemptyset(&none);
        sigfillset(&defaults);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &defaults);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        std::vector<std::string> words{abilities_.bubblewrap.string(), "--args", std::to_string(options), "--"};
        std::vector<std::string> command = sandbox_command(order_.request, inside);
        words.insert(words.end(), std::make_move_iterator(command.begin()), std::make_move_iterator(command.end()));
        char* no_environment[] = {nullptr};
        return ::posix_spawn(&pid_, abilities_.bubblewrap.c_str(), &actions, &attributes, pointers_to(words).data(), no_environment);
    }

    /// Everything is dead and everything is read.
    bool over() const {
        if (!exited_) return false;
        const bool read = !output_.read_end.is_open() && !errors_.read_end.is_open();
        return read || (std::chrono::steady_clock::now() >= give_up_at_ && (stopping_ || talk_.room() > 0));
    }

    void wait() {
        const bool wants_output = talk_.room() > 0 || stopping_;
        std::array<pollfd, 7> watched{{{input_.write_end.get(), POLLOUT, 0},
                                       {wants_output ? output_.read_end.get() : -1, POLLIN, 0},
                                       {errors_.read_end.get(), POLLIN, 0},
                                       {info_.read_end.get(), POLLIN, 0},
                                       {status_.read_end.get(), POLLIN, 0},
                                       {exited_ ? -1 : sandbox_.get(), POLLIN, 0},
                                       {talk_.wakeup(), POLLIN, 0}}};
        if (exited_ && !wants_output) give_up_at_ = std::chrono::steady_clock::now() + kLastOutput;
        const auto pause = std::chrono::ceil<std::chrono::milliseconds>(wake_at() - std::chrono::steady_clock::now());
        ::poll(watched.data(), watched.size(), static_cast<int>(std::clamp<std::int64_t>(pause.count(), 0, 1000)));
        if (watched[0].revents != 0) write_input();
        if (watched[1].revents != 0) read_output();
        if (watched[2].revents != 0) read_errors();
        if (watched[3].revents != 0) read_info();
        if (watched[4].revents != 0) read_status();
        if (watched[6].revents != 0) talk_.clear_wakeup();
        if (watched[5].revents != 0 || !sandbox_.is_open()) reap();
    }

    SteadyTime wake_at() const {
        SteadyTime at = exited_ ? give_up_at_ : next_look_;
        if (!stopping_) at = std::min({at, order_.deadline, order_.wall_deadline});
        else if (!exited_ && !killed_) at = std::min(at, kill_at_);
        return at;
    }

    void write_input() {
        const ssize_t put = write_quietly(input_.write_end.get(), std::string_view(order_.input).substr(written_));
        if (put > 0) written_ += static_cast<std::size_t>(put);
        if ((put < 0 && errno != EAGAIN && errno != EINTR) || written_ == order_.input.size()) input_.write_end.close();
    }

    void read_output() {
        // Once it is to end, what it still writes is dropped.
        const std::size_t most = stopping_ ? kChunk : std::min(kChunk, talk_.room());
        if (most == 0) return;
        const ssize_t got = ::read(output_.read_end.get(), chunk_.data(), most);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return output_.read_end.close();
        if (got < 0 || stopping_) return;
        if (exited_) give_up_at_ = std::chrono::steady_clock::now() + kLastOutput;
        std::size_t taken = static_cast<std::size_t>(got);
        if (end_.output_bytes + taken > order_.max_output_bytes) {
            taken = order_.max_output_bytes - static_cast<std::size_t>(end_.output_bytes);
            stop(EndReason::kOutput);
        }
        end_.output_bytes += taken;
        if (taken > 0) talk_.put(std::string_view(chunk_.data(), taken));
    }

    void read_errors() {
        const ssize_t got = ::read(errors_.read_end.get(), chunk_.data(), chunk_.size());
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return errors_.read_end.close();
        if (got < 0 || order_.errors == Errors::kDiscard) return;
        end_.error_tail.append(chunk_.data(), static_cast<std::size_t>(got));
        if (end_.error_tail.size() > 2 * kErrorTail) end_.error_tail.erase(0, end_.error_tail.size() - kErrorTail);
    }

    /// `{"child-pid": 123, …}`: the first process of the PID namespace, as this side numbers it.
    void read_info() {
        const ssize_t got = ::read(info_.read_end.get(), chunk_.data(), chunk_.size());
        if (got <= 0) {
            if (got == 0 || (errno != EAGAIN && errno != EINTR)) info_.read_end.close();
            return;
        }
        info_text_.append(chunk_.data(), static_cast<std::size_t>(got));
        constexpr std::string_view key = "\"child-pid\":";
        const std::size_t at = info_text_.find(key);
        if (at == info_text_.npos || info_text_.find('}') == info_text_.npos) return;
        const std::size_t digits = info_text_.find_first_of("0123456789", at + key.size());
        if (digits != info_text_.npos) std::from_chars(info_text_.data() + digits, info_text_.data() + info_text_.size(), first_);
        if (first_ > 0) first_fd_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, first_, 0)));
        info_.read_end.close();
        group_.add(first_);   // if not, rlimits and polling hold alone
        (void)write_quietly(block_.write_end.get(), "g");
    }

    void read_status() {
        ToolRecord record;
        const ssize_t got = ::read(status_.read_end.get(), &record, sizeof record);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got != sizeof record) return status_.read_end.close();
        if (!record_) record_ = record;   // why it did not start comes before the end of what was forked for it
    }

    void reap() {
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) != pid_) return;
        exited_ = true;
        sandbox_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        give_up_at_ = std::chrono::steady_clock::now() + kLastOutput;
        if (!record_ && status_.read_end.is_open()) read_status();
    }

    /// Looks at the clocks and, now and then, at what the processes use.
    void look() {
        const SteadyTime now = std::chrono::steady_clock::now();
        if (!exited_ && stopping_ && !killed_ && now >= kill_at_) kill_all();
        // A deadline and a budget that pass together are told as the deadline.
        if (now >= order_.deadline) stop(EndReason::kDeadline);
        else if (now >= order_.wall_deadline) stop(EndReason::kWallBudget);
        if (talk_.stopped()) stop(EndReason::kCancelled);
        if (exited_ || now < next_look_) return;
        next_look_ = now + kLookEvery;
        if (first_ <= 0) return;
        const TreeUsage usage = look_at_tree(first_);
        end_.cpu = std::max({end_.cpu, usage.cpu, group_.cpu().value_or(Milliseconds(0))});
        end_.peak_memory_bytes = std::max(end_.peak_memory_bytes, usage.memory_bytes);
        const SandboxRequest& limits = order_.request;
        if (limits.budget_cpu.count() > 0 && end_.cpu >= limits.budget_cpu) stop(EndReason::kCpuBudget);
        if (limits.memory_bytes > 0 && usage.memory_bytes > limits.memory_bytes) stop_now(EndReason::kMemory);
        if (limits.processes > 0 && usage.processes > limits.processes + 1) stop_now(EndReason::kProcesses);
    }

    void stop(EndReason reason) {
        if (stopping_ || (record_ && !exited_)) return;
        stopping_ = true;
        end_.reason = reason;
        if (exited_) return;   // only its output was still waited for
        kill_at_ = std::chrono::steady_clock::now() + kGrace;
        if (write_quietly(control_.write_end.get(), "T") != 1) kill_all();
    }

    /// What takes the machine from others gets no time.
    void stop_now(EndReason reason) {
        stop(reason);
        if (stopping_ && !killed_ && !exited_) kill_all();
    }

    /// With its first process the kernel ends the whole PID namespace; bubblewrap outside only waits for that.
    void kill_all() {
        killed_ = true;
        group_.kill();
        if (first_fd_.is_open()) ::syscall(SYS_pidfd_send_signal, first_fd_.get(), SIGKILL, nullptr, 0);
        else ::kill(pid_, SIGKILL);
    }

    CommandEnd finish(EndReason reason) {
        end_.reason = reason;
        end_.wall = std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - began_);
        if (end_.error_tail.size() > kErrorTail) end_.error_tail.erase(0, end_.error_tail.size() - kErrorTail);
        if (reason == EndReason::kNotStarted) return std::move(end_);
        end_.cpu = std::max(end_.cpu, group_.cpu().value_or(Milliseconds(0)));
        if (record_) {
            end_.status = record_->status;
            end_.cpu = std::max(end_.cpu, Milliseconds(record_->cpu_us / 1000));
            end_.peak_memory_bytes = std::max(end_.peak_memory_bytes, static_cast<std::uint64_t>(record_->peak_memory_kib) * 1024);
        } else {
            end_.status = sandbox_status_;
        }
        if (reason != EndReason::kExited) return std::move(end_);
        if (group_.ran_out_of_memory()) {
            end_.reason = EndReason::kMemory;
            return std::move(end_);
        }
        if (record_ && record_->kind == ToolRecord::Kind::kNotStarted) {
            end_.reason = EndReason::kNotStarted;
            end_.failure = fmt::format("the program could not be started: {}", std::strerror(record_->status));
        } else if (!record_) {
            end_.reason = EndReason::kNotStarted;
            end_.failure = fmt::format("the sandbox ended with status {}: {}", sandbox_status_, end_.error_tail.substr(0, 512));
        } else if (order_.request.budget_cpu.count() > 0 && (end_.status == 128 + SIGXCPU || end_.cpu >= order_.request.budget_cpu)) {
            end_.reason = EndReason::kCpuBudget;   // the kernel's limit came before the meter
        }
        return std::move(end_);
    }

    const SandboxAbilities& abilities_;
    const CommandOrder& order_;
    CommandTalk& talk_;
    const SteadyTime began_;
    const CommandCgroup group_;
    Pipe input_, output_, errors_, info_, block_, status_, control_;
    pid_t pid_ = -1;              ///< bubblewrap outside
    pid_t first_ = -1;            ///< crab-sandbox-init, process 1 inside
    Descriptor sandbox_, first_fd_;   ///< pidfds of both
    std::array<char, kChunk> chunk_{};
    std::string info_text_;
    std::size_t written_ = 0;
    std::optional<ToolRecord> record_;
    int sandbox_status_ = 0;
    bool exited_ = false, stopping_ = false, killed_ = false;
    SteadyTime next_look_{}, kill_at_ = kNoDeadline, give_up_at_ = kNoDeadline;
    CommandEnd end_;
};

}  // namespace

CommandEnd run_command(const SandboxAbilities& abilities, const CommandOrder& order, CommandTalk& talk) { return Run(abilities, order, talk)(); }

}  // namespace crab::command
