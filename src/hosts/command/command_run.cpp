#include "hosts/command/command_run.hpp"

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/process/child.hpp"
#include "base/process/pipe.hpp"
#include "hosts/command/command_cgroup.hpp"
#include "hosts/command/init/tool_record.hpp"
#include "hosts/command/memory_file.hpp"
#include "hosts/command/process_tree.hpp"
#include "hosts/command/scratch_folder.hpp"
#include "hosts/command/slirp_network.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};
constexpr std::chrono::milliseconds kLookAtLeast{2};   ///< when the CPU budget is nearly used up
constexpr std::chrono::milliseconds kGrace{2'000};     ///< between SIGTERM and SIGKILL
/// A budget is overdrawn by a twelfth at most before SIGKILL, which takes a moment too
constexpr int kBudgetOverdraft = 12;
/// For what is in the pipes when everything is dead
constexpr std::chrono::milliseconds kLastOutput{200};
/// What the kernel keeps of an empty file in a tmpfs, its name included
constexpr std::uint64_t kFileInMemory = 2048;
/// For a measurement of the worktree; the clocks stand still as long
constexpr std::chrono::milliseconds kDiskLook{5};
constexpr std::size_t kErrorTail = 64 * 1024;
constexpr std::size_t kChunk = 64 * 1024;

std::string next_command_group() {
    static std::atomic<std::uint64_t> number{0};
    return fmt::format("crab-{}-{}", ::getpid(), ++number);
}

/// The run of one command.
class Run {
public:
    Run(const SandboxAbilities& abilities, const CommandRequest& order, CommandChannel& talk)
        : abilities_(abilities),
          order_(order),
          request_(order.request),
          talk_(talk),
          bare_(abilities.confinement() == Confinement::kLandlock),
          began_(std::chrono::steady_clock::now()),
          group_(abilities.cgroups, next_command_group(),
                 {.memory_bytes = order.request.memory_bytes,
                  .processes = order.request.processes + 1}) {}

    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() = default;

    CommandEnd operator()() {
        if (order_.deadline <= began_) return finish(EndReason::kDeadline);
        if (order_.wall_deadline <= began_) return finish(EndReason::kWallBudget);
        if (order_.quota) {
            const SteadyTime until = std::min(order_.deadline, order_.wall_deadline);
            const auto exceeded = disk_.emplace(*order_.quota).exceeded(until);
            if (!exceeded)
                return finish(until == order_.deadline ? EndReason::kDeadline
                                                       : EndReason::kWallBudget);
            if (*exceeded) return finish(EndReason::kDisk);
        }
        if (!start()) return finish(EndReason::kNotStarted);
        while (!over()) {
            wait();
            look();
        }
        return finish(end_.reason);
    }

private:
    bool start() {
        if (!look_at_files()) return false;
        if (!group_.is_good()) return refuse("its memory could not be limited", errno);
        if (!input_.open() || !output_.open() || !errors_.open() || !info_.open() ||
            !block_.open() || !status_.open() || !control_.open())
            return refuse("no pipe for a command", errno);
        if (order_.egress) {
            auto socket = order_.egress->open_socket(order_.user);
            if (!socket) return refuse(socket.error().message, errno);
            egress_socket_ = std::move(*socket);
        }
        const SandboxDescriptors inside{.info = info_.write_end.get(),
                                        .block = block_.read_end.get(),
                                        .status = status_.write_end.get(),
                                        .control = control_.read_end.get(),
                                        .filter = order_.filter,
                                        .proxy = egress_socket_ ? egress_socket_->inside() : -1,
                                        .resolver = -1};
        const int failed = bare_ ? spawn_bare(inside) : spawn_namespaces(inside);
        if (failed != 0) return refuse("the sandbox could not be started", failed);
        for (Pipe* pipe : {&output_, &errors_, &info_, &status_}) pipe->write_end.close();
        if (egress_socket_) egress_socket_->close_inside();
        input_.read_end.close();
        control_.read_end.close();
        block_.read_end.close();
        for (const int fd : {input_.write_end.get(), output_.read_end.get(), errors_.read_end.get(),
                             info_.read_end.get(), status_.read_end.get()})
            ::fcntl(fd, F_SETFL, O_NONBLOCK);
        if (order_.input.empty()) input_.write_end.close();
        next_look_ = began_ + kLookEvery;
        return true;
    }

    bool refuse(std::string_view what, int error) {
        end_.failure = fmt::format("{}: {}", what, std::strerror(error));
        return false;
    }

    /// Whether what it is shown is there and not crab's own: a person may have moved things since
    /// the start.
    bool look_at_files() {
        if (request_.worktree && request_.worktree->place().empty()) {
            end_.failure =
                "the folder of its worktree was removed or replaced; restart the gateway to take "
                "the new one";
            return false;
        }
        if (!order_.own) return true;
        if (request_.whole_host) {
            request_.hidden = order_.own->places();
            return true;
        }
        std::vector<const FileHandle*> shown;
        if (request_.worktree) shown.push_back(&*request_.worktree);
        for (const Bind& bind : request_.writable) shown.push_back(&bind.file);
        const bool meets = std::ranges::any_of(
            shown, [&](const FileHandle* file) { return order_.own->met_by(*file).has_value(); });
        if (meets)
            end_.failure =
                "files of crab itself lie in what it would be shown; an operator has to move them "
                "(crab gateway check)";
        return !meets;
    }

    /// bubblewrap, which tells in `info` who its first process is, and holds that back until
    /// `block` is written to.
    int spawn_namespaces(SandboxDescriptors inside) {
        const Descriptor resolver = request_.network == NetworkAccess::kOutbound
                                        ? memory_file(kSlirpResolver)
                                        : Descriptor();
        inside.resolver = resolver.get();
        const Descriptor options =
            memory_file(ended_by_nul(bubblewrap_options(abilities_, request_, inside)));
        if (!options.is_open()) return ENOMEM;
        std::vector<std::string> words{abilities_.bubblewrap.string(), "--args",
                                       std::to_string(options.get()), "--"};
        std::vector<std::string> command = sandbox_command(abilities_, request_, inside);
        words.insert(words.end(), std::make_move_iterator(command.begin()),
                     std::make_move_iterator(command.end()));
        std::vector<int> kept{options.get(),  inside.info,   inside.block, inside.status,
                              inside.control, inside.filter, inside.proxy, inside.resolver};
        if (request_.worktree) kept.push_back(request_.worktree->fd());
        for (const Bind& bind : request_.writable) kept.push_back(bind.file.fd());
        return sandbox_.start({.words = std::move(words),
                               .file = abilities_.bubblewrap,
                               .standard = standard(),
                               .kept = kept});
    }

    /// crab-sandbox-init by itself, in a folder of its own for what does not last.
    int spawn_bare(const SandboxDescriptors& inside) {
        auto scratch = ScratchFolder::make();
        if (!scratch) return errno;
        request_.scratch = scratch_.emplace(std::move(*scratch)).path();
        SandboxRequest request = request_;
        request.processes += tasks_of_this_user();
        ChildProgram program{.words = bare_command(abilities_, request, inside),
                             .file = abilities_.init,
                             .standard = standard()};
        for (const auto& [name, value] : request.environment) {
            const bool is_scratch = name == "HOME" || name == "TMPDIR";
            program.environment.push_back(
                fmt::format("{}={}", name, is_scratch ? request.scratch.string() : value));
        }
        const std::array kept{inside.block, inside.status, inside.control, inside.filter,
                              request.worktree ? request.worktree->fd() : -1};
        program.kept = kept;
        const int failed = sandbox_.start(std::move(program));
        if (failed == 0) begin_with(sandbox_.pid());
        info_.read_end.close();
        return failed;
    }

    std::array<int, 3> standard() const {
        return {input_.read_end.get(), output_.write_end.get(),
                (order_.errors == Errors::kMerge ? output_ : errors_).write_end.get()};
    }

    /// Everything is dead and everything is read.
    bool over() const {
        if (!exited_) return false;
        const bool read = !output_.read_end.is_open() && !errors_.read_end.is_open();
        return read ||
               (std::chrono::steady_clock::now() >= give_up_at_ && (stopping_ || talk_.room() > 0));
    }

    void wait() {
        const bool wants_output = talk_.room() > 0 || stopping_;
        std::array<pollfd, 9> watched{{{input_.write_end.get(), POLLOUT, 0},
                                       {wants_output ? output_.read_end.get() : -1, POLLIN, 0},
                                       {errors_.read_end.get(), POLLIN, 0},
                                       {info_.read_end.get(), POLLIN, 0},
                                       {status_.read_end.get(), POLLIN, 0},
                                       {exited_ ? -1 : sandbox_.ended(), POLLIN, 0},
                                       {talk_.wakeup(), POLLIN, 0},
                                       {egress_socket_ ? egress_socket_->outside() : -1, POLLIN, 0},
                                       {network_ ? network_->ready() : -1, POLLIN, 0}}};
        if (exited_ && !wants_output) give_up_at_ = std::chrono::steady_clock::now() + kLastOutput;
        const auto pause = std::chrono::ceil<std::chrono::milliseconds>(
            wake_at() - std::chrono::steady_clock::now());
        ::poll(watched.data(), watched.size(),
               static_cast<int>(std::clamp<std::int64_t>(pause.count(), 0, 1000)));
        if (watched[0].revents != 0) write_input();
        if (watched[1].revents != 0) read_output();
        if (watched[2].revents != 0) read_errors();
        if (watched[3].revents != 0) read_info();
        if (watched[4].revents != 0) read_status();
        if (watched[6].revents != 0) talk_.clear_wakeup();
        if (watched[7].revents != 0) egress_socket_->take();
        if (watched[8].revents != 0) read_network();
        if (watched[5].revents != 0 || sandbox_.ended() < 0) reap();
    }

    SteadyTime wake_at() const {
        SteadyTime at = exited_ ? give_up_at_ : next_look_;
        if (!stopping_)
            at = std::min({at, order_.deadline, order_.wall_deadline});
        else if (!exited_ && !killed_)
            at = std::min(at, kill_at_);
        return at;
    }

    void write_input() {
        const ssize_t put =
            write_quietly(input_.write_end.get(), std::string_view(order_.input).substr(written_));
        if (put > 0) written_ += static_cast<std::size_t>(put);
        if ((put < 0 && errno != EAGAIN && errno != EINTR) || written_ == order_.input.size())
            input_.write_end.close();
    }

    void read_output() {
        // Once it is to end, what it still writes is dropped.
        const std::size_t most = stopping_ ? kChunk : std::min(kChunk, talk_.room());
        if (most == 0) return;
        const ssize_t got = ::read(output_.read_end.get(), chunk_.data(), most);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return output_.read_end.close();
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
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return errors_.read_end.close();
        if (got < 0 || order_.errors == Errors::kDiscard) return;
        end_.error_tail.append(chunk_.data(), static_cast<std::size_t>(got));
        if (end_.error_tail.size() > 2 * kErrorTail)
            end_.error_tail.erase(0, end_.error_tail.size() - kErrorTail);
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
        if (digits != info_text_.npos)
            std::from_chars(info_text_.data() + digits, info_text_.data() + info_text_.size(),
                            first_);
        info_.read_end.close();
        begin_with(first_);
    }

    /// Its namespace is complete: bubblewrap and slirp4netns would both set up the loopback, and
    /// the second one would fail.
    void start_network() {
        auto network = SlirpNetwork::start(abilities_.slirp, first_);
        if (!network) return give_up(network.error().message);
        network_ = std::move(*network);
    }

    /// The first process is known, and may begin.
    void begin_with(pid_t first) {
        first_ = first;
        if (first_ > 0) first_fd_ = open_pidfd(first_);
        if (!group_.add(first_))
            return give_up("the kernel did not take it into its control group");
        (void)write_quietly(block_.write_end.get(), "g");
    }

    void read_network() {
        if (network_->is_up())
            (void)write_quietly(control_.write_end.get(), "G");
        else
            give_up("slirp4netns could not make a network for it");
    }

    /// What it was promised cannot be had, so it does not begin.
    void give_up(std::string_view why) {
        end_.failure = why;
        stopping_ = killed_ = true;
        end_.reason = EndReason::kNotStarted;
        // Its first process waits for bubblewrap's word, which no longer comes.
        if (first_fd_.is_open()) signal_pidfd(first_fd_, SIGKILL);
        sandbox_.kill(SIGKILL);
    }

    void read_status() {
        ToolRecord record;
        const ssize_t got = ::read(status_.read_end.get(), &record, sizeof record);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got != sizeof record) return status_.read_end.close();
        if (record.kind == ToolRecord::Kind::kWaiting) return start_network();
        // why it did not start comes before the end of what was forked for it
        if (!record_) record_ = record;
    }

    void reap() {
        const auto end = sandbox_.try_reap();
        if (!end) return;
        exited_ = true;
        sandbox_status_ = end->status();
        give_up_at_ = std::chrono::steady_clock::now() + kLastOutput;
        if (!record_ && status_.read_end.is_open()) read_status();
    }

    /// Looks at the clocks and, now and then, at what the processes use.
    void look() {
        const SteadyTime now = std::chrono::steady_clock::now();
        if (!exited_ && stopping_ && !killed_ && now >= kill_at_) kill_all();
        // A deadline and a budget that pass together are told as the deadline.
        if (now >= order_.deadline)
            stop(EndReason::kDeadline);
        else if (now >= order_.wall_deadline)
            stop(EndReason::kWallBudget);
        if (talk_.stopped()) stop(EndReason::kCancelled);
        if (exited_ || now < next_look_) return;
        next_look_ = now + kLookEvery;
        if (first_ <= 0) return;
        const bool counted = abilities_.cgroups.count_memory();
        TreeUsage usage = look_at_tree(first_, counted ? WithPipes::kNo : WithPipes::kYes);
        if (!counted) usage.memory_bytes += scratch_bytes() + usage.pipe_bytes;
        end_.cpu = std::max({end_.cpu, std::chrono::duration_cast<Milliseconds>(usage.cpu),
                             group_.cpu().value_or(Milliseconds(0))});
        end_.peak_memory_bytes = std::max(end_.peak_memory_bytes, usage.memory_bytes);
        const SandboxRequest& limits = request_;
        if (limits.budget_cpu.count() > 0 && end_.cpu >= limits.budget_cpu)
            stop(EndReason::kCpuBudget);
        if (limits.memory_bytes > 0 && usage.memory_bytes > limits.memory_bytes)
            stop_now(EndReason::kMemory);
        if (limits.processes > 0 && usage.processes > limits.processes + 1)
            stop_now(EndReason::kProcesses);
        if (disk_ && disk_->exceeded(now + kDiskLook).value_or(false)) stop_now(EndReason::kDisk);
        // The budget is not used up before this, however many cores it runs on.
        if (limits.budget_cpu.count() > 0 && !stopping_)
            next_look_ = now + std::clamp((limits.budget_cpu - end_.cpu) / cores(), kLookAtLeast,
                                          kLookEvery);
    }

    static unsigned cores() { return std::max(1u, std::thread::hardware_concurrency()); }

    /// How long it has between SIGTERM and SIGKILL: what is over its budget gets no 2 s of it on
    /// top.
    std::chrono::nanoseconds grace(EndReason reason) const {
        std::chrono::nanoseconds most = kGrace;
        if (reason == EndReason::kWallBudget)
            most = (order_.wall_deadline - began_) / kBudgetOverdraft;
        if (reason == EndReason::kCpuBudget)
            most =
                (request_.budget_cpu + request_.budget_cpu / kBudgetOverdraft - end_.cpu) / cores();
        return std::clamp<std::chrono::nanoseconds>(most, std::chrono::nanoseconds(0), kGrace);
    }

    /// What it keeps in /tmp, which is memory that belongs to no process.
    std::uint64_t scratch_bytes() const {
        const std::string folder = fmt::format("/proc/{}/root/tmp", first_);
        struct stat inside{}, outside{};
        struct statvfs scratch{};
        // not made yet
        if (bare_ || request_.whole_host || ::stat(folder.c_str(), &inside) != 0 ||
            ::stat("/tmp", &outside) != 0 || inside.st_dev == outside.st_dev)
            return 0;
        if (::statvfs(folder.c_str(), &scratch) != 0) return 0;
        return (scratch.f_blocks - scratch.f_bfree) * scratch.f_frsize +
               (scratch.f_files - scratch.f_ffree) * kFileInMemory;
    }

    void stop(EndReason reason) {
        if (stopping_ || (record_ && !exited_)) return;
        stopping_ = true;
        end_.reason = reason;
        if (exited_) return;  // only its output was still waited for
        kill_at_ = std::chrono::steady_clock::now() + grace(reason);
        if (write_quietly(control_.write_end.get(), "T") != 1) kill_all();
    }

    /// What takes the machine from others gets no time.
    void stop_now(EndReason reason) {
        stop(reason);
        if (stopping_ && !killed_ && !exited_) kill_all();
    }

    /// With its first process the kernel ends the whole PID namespace; bubblewrap outside only
    /// waits for that. Without a namespace the first process ends all others, for which it has to
    /// live.
    void kill_all() {
        killed_ = true;
        if (bare_ && write_quietly(control_.write_end.get(), "K") == 1) return;
        group_.kill();
        if (first_fd_.is_open())
            signal_pidfd(first_fd_, SIGKILL);
        else
            sandbox_.kill(SIGKILL);
    }

    CommandEnd finish(EndReason reason) {
        end_.reason = reason;
        end_.wall =
            std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - began_);
        if (end_.error_tail.size() > kErrorTail)
            end_.error_tail.erase(0, end_.error_tail.size() - kErrorTail);
        if (reason == EndReason::kNotStarted) return std::move(end_);
        end_.cpu = std::max(end_.cpu, group_.cpu().value_or(Milliseconds(0)));
        if (record_) {
            end_.status = record_->status;
            end_.cpu = std::max(end_.cpu, Milliseconds(record_->cpu_us / 1000));
            end_.peak_memory_bytes =
                std::max(end_.peak_memory_bytes,
                         static_cast<std::uint64_t>(record_->peak_memory_kib) * 1024);
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
            end_.failure =
                fmt::format("the program could not be started: {}", std::strerror(record_->status));
        } else if (!record_) {
            end_.reason = EndReason::kNotStarted;
            // bubblewrap's own words name paths of this machine, which callers have no business to
            // know.
            log::warn("a sandbox could not be set up",
                      {{"call_id", order_.user.call_id},
                       {"trace_id", order_.user.trace_id},
                       {"status", sandbox_status_},
                       {"stderr", end_.error_tail.substr(0, 512)}});
            end_.failure = "the sandbox could not be set up; the operator's log says why";
            end_.error_tail.clear();
        } else if (request_.budget_cpu.count() > 0 &&
                   (end_.status == 128 + SIGXCPU || end_.cpu >= request_.budget_cpu)) {
            end_.reason = EndReason::kCpuBudget;  // the kernel's limit came before the meter
        }
        return std::move(end_);
    }

    const SandboxAbilities& abilities_;
    const CommandRequest& order_;
    SandboxRequest request_;  ///< of the order, with what is known only now
    CommandChannel& talk_;
    const bool bare_;  ///< no namespaces
    const SteadyTime began_;
    const CommandCgroup group_;
    Pipe input_, output_, errors_, info_, block_, status_, control_;
    std::unique_ptr<EgressSocket> egress_socket_;
    std::optional<DiskQuota::Watch> disk_;
    std::unique_ptr<SlirpNetwork> network_;
    std::optional<ScratchFolder> scratch_;
    pid_t first_ = -1;  ///< crab-sandbox-init, process 1 inside
    Descriptor first_fd_;  ///< its pidfd
    Child sandbox_;  ///< bubblewrap outside
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

CommandEnd run_command(const SandboxAbilities& abilities, const CommandRequest& order,
                       CommandChannel& talk) {
    return Run(abilities, order, talk)();
}

}  // namespace crab::command
