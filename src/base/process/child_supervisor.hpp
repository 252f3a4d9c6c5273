#pragma once

#include "base/process/child.hpp"

#include <memory>

namespace crab {

/// The process between this one and a program: it passes signals on to the program's group, and
/// whenever it, the program or this process ends, whatever the program has started ends with it.
/// Destroying it is the end of all of them. Not thread-safe.
class ChildSupervisor {
public:
    virtual ~ChildSupervisor() = default;

    /// The child was started: closes what only the child needs.
    virtual void started() = 0;
    /// SIGTERM for the program's group.
    virtual void terminate() = 0;
    /// The end of the program and of everything that it has started.
    virtual void kill() = 0;
    /// Why the program did not run, an errno, once the child has ended; 0: it ran.
    virtual int not_started() = 0;
};

/// A program to start in the place of another, which it supervises.
struct SupervisedProgram {
    ChildProgram program;
    std::shared_ptr<ChildSupervisor> supervisor;  ///< `program` refers to it
};

}  // namespace crab
