#include "runtime/state_folder.hpp"

#include "base/process/folder_lock.hpp"

namespace crab::runtime {

Result<void> StateFolder::start() {
    if (folder_.empty()) return {};
    auto locked = lock_folder(folder_);
    if (!locked) return fail(std::move(locked.error()));
    lock_ = std::move(*locked);
    return {};
}

}  // namespace crab::runtime
