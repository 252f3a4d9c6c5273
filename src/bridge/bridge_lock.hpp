#pragma once

#include "base/descriptor.hpp"

#include <filesystem>

namespace crab::bridge {

/// The lock of the one bridge that runs per user; held as long as the descriptor lives. Not open
/// when another one holds it.
Descriptor take_bridge_lock(const std::filesystem::path& file);
/// Whether a bridge holds it. Never takes the lock, even briefly.
bool is_bridge_locked(const std::filesystem::path& file);

}  // namespace crab::bridge
