#include "base/process/child.hpp"

#include "base/process/pipe.hpp"
#include "base/scope_exit.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <linux/close_range.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace crab {
namespace {

ChildEnd end_of(const siginfo_t& about) {
    return about.si_code == CLD_EXITED ? ChildEnd{.exit_status = about.si_status}
                                       : ChildEnd{.signal = about.si_status};
}

void add_descriptors(posix_spawn_file_actions_t& actions, const ChildProgram& program) {
    for (int fd = 0; fd < 3; ++fd) {
        const int given = program.standard[static_cast<std::size_t>(fd)];
        if (given >= 0)
            posix_spawn_file_actions_adddup2(&actions, given, fd);
        else
            posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    }
    for (const int fd : program.kept) {
        // onto itself: it stays open
        if (fd >= 0) posix_spawn_file_actions_adddup2(&actions, fd, fd);
    }
    // also what this process was started with, which is not ours to pass on
    int last = 2;
    for (const int fd : program.kept) last = std::max(last, fd);
    for (int fd = 3; fd < last; ++fd) {
        if (std::ranges::find(program.kept, fd) == program.kept.end())
            posix_spawn_file_actions_addclose(&actions, fd);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, last + 1);
}

void add_signals(posix_spawnattr_t& attributes, bool own_session) {
    sigset_t none, defaults;
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    // a session comes with a process group
    const int group = own_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(
        &attributes, static_cast<short>(group | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

/// What a fork has to do before the program runs there; only what is safe in a fork of a process
/// with threads.
class ForkedStart {
public:
    explicit ForkedStart(ChildProgram& program)
        : program_(program),
          words_(pointers_to(program.words)),
          environment_(pointers_to(program.environment)) {}

    /// The errno, or 0; `pid` is that of the child.
    int operator()(pid_t& pid) {
        Pipe failure;
        if (!failure.open()) return errno;
        sigset_t all, before;
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before);
        const pid_t parent = ::getpid();
        pid = ::fork();
        if (pid == 0) run(failure.write_end.get(), parent);
        const int forked = pid < 0 ? errno : 0;
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (forked != 0) return forked;
        failure.write_end.close();
        int failed = 0;
        ssize_t count = 0;
        while ((count = ::read(failure.read_end.get(), &failed, sizeof failed)) < 0 &&
               errno == EINTR) {}
        if (count != sizeof failed) return 0;
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {}
        return failed;
    }

private:
    [[noreturn]] void run(int failure, pid_t parent) {
        if (set_up(parent)) ::execve(program_.file.c_str(), words_.data(), environment_.data());
        const int failed = errno;
        (void)!::write(failure, &failed, sizeof failed);
        ::_exit(127);
    }
    bool set_up(pid_t parent) {
        if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
        if (::getppid() != parent) ::_exit(127);  // it has ended already
        for (const int group : program_.groups) {
            if (::write(group, "0", 1) != 1) return false;
        }
        if (!program_.folder.empty() && ::chdir(program_.folder.c_str()) != 0) return false;
        for (int fd = 0; fd < 3; ++fd) {
            int given = program_.standard[static_cast<std::size_t>(fd)];
            if (given < 0) given = ::open("/dev/null", O_RDWR);
            if (given < 0 || ::dup2(given, fd) < 0) return false;
        }
        // also what this process was started with, which is not ours to pass on
        ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        for (const int fd : program_.kept) {
            if (fd >= 0 && ::fcntl(fd, F_SETFD, 0) != 0) return false;
        }
        for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
        sigset_t none;
        sigemptyset(&none);
        return ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
    }

    ChildProgram& program_;
    std::vector<char*> words_, environment_;
};

}  // namespace

Child::~Child() {
    if (is_there()) reap();
}

int Child::start(ChildProgram program) {
    // Found here: execvpe() runs what is no program as a script of /bin/sh.
    if (program.file.empty()) program.file = find_program(program.words.front());
    if (program.file.empty()) return ENOENT;
    if (program.dies_with_thread) {
        const int failed = ForkedStart(program)(pid_);
        if (failed != 0)
            pid_ = -1;
        else
            pidfd_ = open_pidfd(pid_);
        return failed;
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    const ScopeExit free_both([&] {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    });
    add_descriptors(actions, program);
    if (!program.folder.empty())
        posix_spawn_file_actions_addchdir_np(&actions, program.folder.c_str());
    add_signals(attributes, program.own_session);
    const int failed =
        ::posix_spawn(&pid_, program.file.c_str(), &actions, &attributes,
                      pointers_to(program.words).data(), pointers_to(program.environment).data());
    if (failed != 0) {
        pid_ = -1;
        return failed;
    }
    pidfd_ = open_pidfd(pid_);
    return 0;
}

bool Child::has_ended() const {
    siginfo_t about{};  // it stays a zombie, so that its group cannot be anybody else's yet
    return ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           about.si_pid == pid_;
}

void Child::kill(int signal) const {
    if (is_there()) ::kill(pid_, signal);
}

void Child::kill_group(int signal) const {
    if (is_there()) ::kill(-pid_, signal);
}

std::optional<ChildEnd> Child::try_reap() {
    siginfo_t about{};
    if (!is_there() || ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG) != 0 ||
        about.si_pid != pid_)
        return std::nullopt;
    pid_ = -1;
    pidfd_.close();
    return end_of(about);
}

ChildEnd Child::reap() {
    kill_group(SIGKILL);
    siginfo_t about{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED) != 0 && errno == EINTR) {}
    pid_ = -1;
    pidfd_.close();
    return end_of(about);
}

std::string find_program(const std::string& word) {
    if (word.contains('/')) return word;
    const char* const path = std::getenv("PATH");
    std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
    for (bool more = true; more;) {
        const std::size_t end = rest.find(':');
        more = end != std::string_view::npos;
        const std::string_view folder = rest.substr(0, end);
        if (more) rest.remove_prefix(end + 1);
        std::string file = std::string(folder.empty() ? "." : folder) + "/" + word;
        struct stat about{};
        if (::stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
            ::access(file.c_str(), X_OK) == 0)
            return file;
    }
    return {};
}

Descriptor open_pidfd(pid_t pid) {
    return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool signal_pidfd(const Descriptor& process, int signal) {
    return ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

}  // namespace crab
