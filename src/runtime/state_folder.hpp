#pragma once

#include "base/descriptor.hpp"
#include "runtime/component.hpp"

#include <filesystem>

namespace crab::runtime {

/// The state folder of a process, locked by it: two processes on one folder would each treat the
/// other's running calls as lost.
class StateFolder : public Component {
public:
    /// It exists; empty: nothing is locked.
    explicit StateFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

    std::string_view name() const override { return "state folder"; }
    /// Errors: those of lock_folder().
    Result<void> start() override;
    void stop(Deadline) override { lock_ = {}; }

private:
    const std::filesystem::path folder_;
    Descriptor lock_;
};

}  // namespace crab::runtime
