#include "base/process/stop_event.hpp"

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

namespace crab {

StopEvent::StopEvent() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopEvent::raise() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = ::write(event_.get(), &one, sizeof one);
}

}  // namespace crab
