#include "hosts/command/init/sandbox_init.hpp"

#include "hosts/command/init/landlock.hpp"
#include "hosts/command/init/list.hpp"
#include "hosts/command/init/subreaper.hpp"
#include "hosts/command/init/tool_record.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace crab::sandbox {
namespace {

using command::ToolRecord;

constexpr int kUsage = 125;
constexpr rlim_t kDescriptors = 1024;
constexpr int kProxyBacklog = 64;
/// For the end of supervised programs: not all of them may have to obey
constexpr int kEndingMs = 10'000;

/// What has to lie at a path, or nothing starts.
struct Expected {
    dev_t device = 0;
    ino_t number = 0;
    const char* path = nullptr;
};

struct Orders {
    int status = -1, control = -1, filter = -1, proxy = -1, block = -1;
    rlim_t memory = RLIM_INFINITY, processes = RLIM_INFINITY, cpu = RLIM_INFINITY,
           file_size = RLIM_INFINITY;
    bool landlock = false, bare = false, waits = false, supervises = false;
    LandlockRules view;
    List<Expected> expected;
    const char* place = nullptr;
    const char* file = nullptr;  ///< to execute, where no path is searched
    char** program = nullptr;
};

/// Takes a word that stands alone; false when it is none of them.
bool take_flag(std::string_view word, Orders& orders) {
    if (word == "--landlock")
        orders.landlock = true;
    else if (word == "--no-network")
        orders.view.no_network = true;
    else if (word == "--wait")
        orders.waits = true;
    else if (word == "--bare")
        orders.bare = true;
    else if (word == "--supervise")
        orders.supervises = true;
    else
        return false;
    return true;
}

/// Takes a descriptor's number or a limit; false when `word` names neither.
bool take_number(std::string_view word, const char* value, Orders& orders) {
    if (word == "--block")
        orders.block = std::atoi(value);
    else if (word == "--status")
        orders.status = std::atoi(value);
    else if (word == "--control")
        orders.control = std::atoi(value);
    else if (word == "--filter")
        orders.filter = std::atoi(value);
    else if (word == "--proxy")
        orders.proxy = std::atoi(value);
    else if (word == "--memory")
        orders.memory = std::strtoull(value, nullptr, 10);
    else if (word == "--processes")
        orders.processes = std::strtoull(value, nullptr, 10);
    else if (word == "--cpu")
        orders.cpu = std::strtoull(value, nullptr, 10);
    else if (word == "--file-size")
        orders.file_size = std::strtoull(value, nullptr, 10);
    else
        return false;
    return true;
}

/// Takes what the program sees of the machine; false when `word` names nothing of it.
bool take_view(std::string_view word, const char* value, Orders& orders) {
    if (word == "--read")
        orders.view.readable.add(value);
    else if (word == "--write")
        orders.view.writable.add(value);
    else if (word == "--chdir")
        orders.place = value;
    else if (word == "--file")
        orders.file = value;
    else if (word == "--proxy-port")
        orders.view.proxy_port = static_cast<std::uint16_t>(std::atoi(value));
    else
        return false;
    return true;
}

/// Reads the command line; false when it is not one of ours.
bool read_orders(int argc, char** argv, Orders& orders) {
    for (int i = 0; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--") {
            orders.program = argv + i + 1;
            return i + 1 < argc && orders.status >= 0 && orders.control >= 0 &&
                   orders.supervises == (orders.file != nullptr);
        }
        if (take_flag(word, orders)) continue;
        if (word == "--expect") {
            if (i + 3 >= argc) return false;
            orders.expected.add({std::strtoull(argv[i + 1], nullptr, 10),
                                 std::strtoull(argv[i + 2], nullptr, 10), argv[i + 3]});
            i += 3;
            continue;
        }
        if (++i >= argc) return false;
        if (!take_number(word, argv[i], orders) && !take_view(word, argv[i], orders)) return false;
    }
    return false;
}

void tell(int fd, const ToolRecord& record) {
    while (::write(fd, &record, sizeof record) < 0 && errno == EINTR) {}
}

bool limit(int resource, rlim_t most) {
    rlimit now{};
    if (::getrlimit(resource, &now) != 0) return false;
    if (now.rlim_max != RLIM_INFINITY && (most == RLIM_INFINITY || most > now.rlim_max))
        most = now.rlim_max;
    const rlimit wanted{most, most};
    return ::setrlimit(resource, &wanted) == 0;
}

bool set_limits(const Orders& orders) {
    return limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, kDescriptors) &&
           limit(RLIMIT_AS, orders.memory) && limit(RLIMIT_NPROC, orders.processes) &&
           limit(RLIMIT_CPU, orders.cpu) && limit(RLIMIT_FSIZE, orders.file_size) &&
           limit(RLIMIT_MEMLOCK, 0) && limit(RLIMIT_MSGQUEUE, 0);
}

/// The filter as libseccomp wrote it: an array of BPF instructions.
bool set_filter(int fd) {
    if (fd < 0) return true;
    struct stat file{};
    if (::fstat(fd, &file) != 0 || file.st_size <= 0 ||
        file.st_size % static_cast<off_t>(sizeof(sock_filter)) != 0)
        return false;
    const auto size = static_cast<std::size_t>(file.st_size);
    // not given back: the process is about to become another one
    auto* const instructions = static_cast<sock_filter*>(std::malloc(size));
    if (instructions == nullptr || ::pread(fd, instructions, size, 0) != file.st_size) return false;
    sock_fprog program{static_cast<unsigned short>(size / sizeof(sock_filter)), instructions};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

/// Opens the proxy socket on the loopback of this network namespace and hands it to the gateway,
/// which serves it.
bool hand_out_proxy(int channel, std::uint16_t port) {
    const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listening < 0 ||
        ::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listening, kProxyBacklog) != 0)
        return false;
    char byte = 'L';
    iovec part{&byte, 1};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &listening, sizeof listening);
    const bool sent = ::sendmsg(channel, &message, MSG_NOSIGNAL) == 1;
    ::close(listening);
    ::close(channel);
    return sent;
}

/// Whether the files of the host that this sandbox shows are those that the gateway holds: a path
/// that led to one may have been made to lead elsewhere while it was mounted. False with errno set.
bool shows_what_is_expected(const Orders& orders) {
    for (const Expected& each : orders.expected) {
        struct stat found{};
        if (::lstat(each.path, &found) != 0) return false;
        if (found.st_dev == each.device && found.st_ino == each.number) continue;
        errno = ESTALE;
        return false;
    }
    return true;
}

/// Tells the gateway that this namespace is complete, and waits until it has given it a network.
bool wait_for_network(const Orders& orders) {
    tell(orders.status, {.kind = ToolRecord::Kind::kWaiting});
    char order = 0;
    ssize_t got = 0;
    while ((got = ::read(orders.control, &order, 1)) < 0 && errno == EINTR) {}
    if (got != 1 || order != 'G') errno = ECANCELED;
    return got == 1 && order == 'G';
}

/// The tool's side of the fork; never returns.
[[noreturn]] void become_tool(const Orders& orders, const sigset_t& signals_before) {
    const auto give_up = [&] {
        tell(orders.status, {.kind = ToolRecord::Kind::kNotStarted, .status = errno});
        ::_exit(127);
    };
    ::setsid();  // a process group of its own, and no terminal: not to read what the operator
                 // types, nor to type for them
    if (orders.bare) ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    ::sigprocmask(SIG_SETMASK, &signals_before, nullptr);
    ::umask(022);
    if (!set_limits(orders)) give_up();
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up();
    if (orders.place != nullptr && ::chdir(orders.place) != 0) give_up();
    if (orders.landlock && !restrict_by_landlock(orders.view)) give_up();
    // CLOSE_RANGE_CLOEXEC: the status is still wanted if it fails
    if (::syscall(SYS_close_range, 3U, ~0U, 1U << 2) != 0) give_up();
    if (!set_filter(orders.filter)) give_up();
    ::execvp(orders.program[0], orders.program);
    give_up();
    ::_exit(127);
}

/// The side of a program that is only supervised: it has the rights and limits of its starter.
[[noreturn]] void become_program(const Orders& orders, const sigset_t& signals_before,
                                 pid_t supervisor) {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != supervisor) ::_exit(127);  // it has ended already
    ::sigprocmask(SIG_SETMASK, &signals_before, nullptr);
    if (::syscall(SYS_close_range, 3U, ~0U, 1U << 2) == 0) ::execv(orders.file, orders.program);
    tell(orders.status, {.kind = ToolRecord::Kind::kNotStarted, .status = errno});
    ::_exit(127);
}

int status_of(int wait_status) {
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/// Waits for whoever has ended; true when the tool itself is among them.
bool reap(pid_t tool, int& tool_status) {
    bool ended = false;
    int status = 0;
    for (pid_t gone; (gone = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (gone != tool) continue;
        ended = true;
        tool_status = status_of(status);
    }
    return ended;
}

/// Until the tool has ended, or the gateway wants the end of it or is gone; the tool's status.
int watch_over(pid_t tool, int children, int control) {
    int status = 0;
    for (bool ended = false; !ended;) {
        pollfd watched[2] = {{children, POLLIN, 0}, {control, POLLIN, 0}};
        if (::poll(watched, 2, -1) < 0 && errno != EINTR) break;
        if (watched[1].revents != 0) {
            char order = 0;
            // the gateway is gone, and with this process all others
            if (::read(control, &order, 1) <= 0) break;
            const int signal = order == 'K' ? SIGKILL : SIGTERM;
            if (::kill(-tool, signal) != 0) ::kill(tool, signal);  // it has not made its group yet
            if (order == 'K') break;
        }
        if (watched[0].revents != 0) {
            signalfd_siginfo about;
            (void)!::read(children, &about, sizeof about);
            ended = reap(tool, status);
        }
    }
    return status;
}

/// A supervisor ends with its program or its starter, and not by signals to a whole service, before
/// it has ended what is below it.
void block_signals(const Orders& orders, sigset_t& children, sigset_t& before) {
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigset_t blocked = children;
    if (orders.supervises) {
        for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE})
            sigaddset(&blocked, signal);
    }
    ::sigprocmask(SIG_BLOCK, &blocked, &before);
}

}  // namespace

int run_sandbox_init(int argc, char** argv) {
    Orders orders;
    if (!read_orders(argc, argv, orders)) {
        std::fputs("crab sandbox-init: started by the gateway only\n", stderr);
        return kUsage;
    }
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // the tool runs as the same user, and may neither look
                                           // into this process nor open what it holds
    if (!orders.supervises) ::unsetenv("PWD");
    sigset_t signals, before;
    block_signals(orders, signals, before);
    const int children = ::signalfd(-1, &signals, SFD_CLOEXEC);
    const bool ready = children >= 0 && shows_what_is_expected(orders) &&
                       (!orders.bare || become_subreaper(orders.block)) &&
                       (!orders.supervises || become_supervisor()) &&
                       (orders.proxy < 0 || hand_out_proxy(orders.proxy, orders.view.proxy_port));
    const pid_t self = ::getpid();
    const pid_t tool = ready && (!orders.waits || wait_for_network(orders)) ? ::fork() : -1;
    if (tool < 0) {
        tell(orders.status, {.kind = ToolRecord::Kind::kNotStarted, .status = errno});
        return kUsage;
    }
    if (tool == 0 && orders.supervises) become_program(orders, before, self);
    if (tool == 0) become_tool(orders, before);
    for (const int fd : {0, 1, 2}) ::close(fd);  // the tool ends the output

    const int status = watch_over(tool, children, orders.control);
    if (orders.bare) end_descendants(tool);
    if (orders.supervises) end_descendants(tool, kEndingMs);
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    const auto microseconds = [](const timeval& time) {
        return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
    };
    tell(orders.status, {.kind = ToolRecord::Kind::kExited,
                         .status = status,
                         .cpu_us = microseconds(used.ru_utime) + microseconds(used.ru_stime),
                         .peak_memory_kib = used.ru_maxrss});
    return status;
}

}  // namespace crab::sandbox
