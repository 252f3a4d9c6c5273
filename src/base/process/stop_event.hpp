#pragma once

#include "base/descriptor.hpp"

namespace crab {

/// Tells a thread that waits in poll(2) to stop. Shared by both sides: it may be raised after the
/// wait is over. Thread-safe.
class StopEvent {
public:
    StopEvent();
    void raise() const;
    /// Readable once it was raised, for ever.
    int fd() const { return event_.get(); }

private:
    Descriptor event_;
};

}  // namespace crab
