#include "hosts/command/init/subreaper.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace crab::sandbox {
namespace {

constexpr std::size_t kMostChildren = 64 * 1024;   // bytes of a list of them
constexpr timespec kPause{0, 1'000'000};           // for processes that die slowly

bool drop_capabilities() {
    for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
        if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM) return false;
    }
    (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[2]{};
    return ::syscall(SYS_capset, &header, none) == 0;
}

char* append(char* to, const char* text) {
    while (*text != '\0') *to++ = *text++;
    return to;
}

/// By hand: printf() of a static libc brings arithmetic of long doubles, which not every compiler's
/// runtime has at hand here.
char* append_number(char* to, unsigned number) {
    if (number >= 10) to = append_number(to, number / 10);
    *to++ = static_cast<char>('0' + number % 10);
    return to;
}

/// SIGKILL for the children of a process and all below them, the youngest first. A list that is cut
/// ends in the next round.
void kill_below(pid_t process) {
    char path[64];
    char* end = append(path, "/proc/");
    end = append_number(end, static_cast<unsigned>(process));
    end = append(end, "/task/");
    end = append_number(end, static_cast<unsigned>(process));
    *append(end, "/children") = '\0';
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    static thread_local int depth = 0;
    char* const text = static_cast<char*>(std::malloc(kMostChildren));
    const ssize_t got = text != nullptr ? ::read(file, text, kMostChildren - 1) : -1;
    ::close(file);
    if (got > 0 && depth < 100) {
        text[got] = '\0';
        ++depth;
        for (char* at = text; *at != '\0';) {
            char* behind = at;
            const long child = std::strtol(at, &behind, 10);
            if (behind == at) break;
            at = behind;
            ::kill(static_cast<pid_t>(child),
                   SIGSTOP);  // so that it makes no more while its own are ended
            kill_below(static_cast<pid_t>(child));
            ::kill(static_cast<pid_t>(child), SIGKILL);
        }
        --depth;
    }
    std::free(text);
}

}  // namespace

bool become_subreaper(int block) {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || !drop_capabilities()) return false;
    char byte = 0;
    ssize_t got = 0;
    while ((got = ::read(block, &byte, 1)) < 0 && errno == EINTR) {}
    ::close(block);
    if (got == 0) errno = EPIPE;
    return got == 1;
}

bool become_supervisor() {
    return ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) == 0;
}

void end_descendants(pid_t tool, int limit) {
    ::kill(-tool, SIGKILL);
    for (int pauses = 0; limit == 0 || pauses < limit; ++pauses) {
        kill_below(::getpid());
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
        if (::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
        ::nanosleep(&kPause, nullptr);
    }
}

}  // namespace crab::sandbox
