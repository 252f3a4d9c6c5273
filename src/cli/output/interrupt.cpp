#include "cli/output/interrupt.hpp"

#include "cli/output/exit_codes.hpp"

#include <csignal>

#include <pthread.h>
#include <unistd.h>

namespace crab::cli {
namespace {

/// SIGUSR1 only wakes the watcher.
sigset_t watched() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set, signal);
    return set;
}

}  // namespace

Interrupt::Interrupt(std::function<void()> on_interrupt) : on_interrupt_(std::move(on_interrupt)) {
    const sigset_t set = watched();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    watcher_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
    done_ = true;
    ::pthread_kill(watcher_.native_handle(), SIGUSR1);
    watcher_.join();
    const sigset_t set = watched();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupt::watch() {
    const sigset_t set = watched();
    while (!done_) {
        int signal = 0;
        if (::sigwait(&set, &signal) != 0 || signal == SIGUSR1) continue;
        if (happened_.exchange(true)) ::_exit(kExitInterrupted);
        on_interrupt_();  // short: a second signal waits for it
    }
}

}  // namespace crab::cli
