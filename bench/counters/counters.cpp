// Counts what a program asks the C library for, by thread, while it is loaded into it (LD_PRELOAD):
// locks, clock readings, bytes copied, system calls. At the end each thread is a line of the file
// that CRAB_COUNTS names: `<epoll_wait> <locks> <clocks> <bytes> <calls of the system>`.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

struct Counts {
    std::atomic<unsigned long> waits{0}, locks{0}, clocks{0}, bytes{0}, calls{0};
};

constexpr int kMostThreads = 256;
Counts of_threads[kMostThreads];  // static, for the first calls come before any constructor
std::atomic<int> threads{0};
thread_local int mine __attribute__((tls_model("initial-exec"))) = -1;

Counts& counts() {
    if (mine < 0) mine = threads.fetch_add(1) % kMostThreads;
    return of_threads[mine];
}

void count(std::atomic<unsigned long>& what, unsigned long by = 1) {
    what.store(what.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

template <class F>
F next(const char* name) {
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

__attribute__((destructor)) void write_counts() {
    const char* path = std::getenv("CRAB_COUNTS");
    std::FILE* file = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (file == nullptr) return;
    for (const Counts& each : of_threads)
        std::fprintf(file, "%lu %lu %lu %lu %lu\n", each.waits.load(), each.locks.load(),
                     each.clocks.load(), each.bytes.load(), each.calls.load());
    std::fclose(file);
}

}  // namespace

#define CRAB_COUNT(result, name, parameters, arguments)             \
    extern "C" result name parameters {                             \
        static const auto real = next<result(*) parameters>(#name); \
        count(counts().calls);                                      \
        return real arguments;                                      \
    }

CRAB_COUNT(ssize_t, recv, (int fd, void* to, size_t size, int flags), (fd, to, size, flags))
CRAB_COUNT(ssize_t, send, (int fd, const void* of, size_t size, int flags), (fd, of, size, flags))
CRAB_COUNT(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags))
CRAB_COUNT(ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags))
CRAB_COUNT(ssize_t, read, (int fd, void* to, size_t size), (fd, to, size))
CRAB_COUNT(ssize_t, write, (int fd, const void* of, size_t size), (fd, of, size))
CRAB_COUNT(ssize_t, writev, (int fd, const iovec* of, int size), (fd, of, size))
CRAB_COUNT(int, epoll_ctl, (int fd, int what, int of, epoll_event* event), (fd, what, of, event))

extern "C" int epoll_wait(int fd, epoll_event* events, int most, int patience) {
    static const auto real = next<int (*)(int, epoll_event*, int, int)>("epoll_wait");
    count(counts().waits);
    count(counts().calls);
    return real(fd, events, most, patience);
}

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
    static const auto real = next<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
    count(counts().locks);
    return real(mutex);
}

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
    static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
    count(counts().clocks);
    return real(clock, time);
}

// Copies of our own: the C library's may be asked for before the linker can find them. Compiled
// without built-ins, or the loops would become calls of these functions.
extern "C" void* memmove(void* to, const void* from, size_t size) {
    count(counts().bytes, size);
    auto* const target = static_cast<char*>(to);
    const auto* const source = static_cast<const char*>(from);
    if (target < source) {
        for (size_t i = 0; i < size; ++i) target[i] = source[i];
    } else {
        for (size_t i = size; i > 0; --i) target[i - 1] = source[i - 1];
    }
    return to;
}

extern "C" void* memcpy(void* to, const void* from, size_t size) { return memmove(to, from, size); }
