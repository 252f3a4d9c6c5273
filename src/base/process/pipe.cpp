#include "base/process/pipe.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

namespace crab {

bool Pipe::open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = Descriptor(ends[0]);
    write_end = Descriptor(ends[1]);
    return true;
}

ssize_t write_quietly(int fd, std::string_view bytes) {
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    const int reason = errno;
    if (put < 0 && reason == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
        const timespec at_once{};
        ::sigtimedwait(&pipe, nullptr, &at_once);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = reason;
    return put;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> made;
    for (std::string& text : texts) made.push_back(text.data());
    made.push_back(nullptr);
    return made;
}

}  // namespace crab
