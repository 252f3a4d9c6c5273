#pragma once

#include <filesystem>

namespace crab::cli {

/// Writes `crab.1` and a page for every command, such as `crab-tools-list.1`, into that folder,
/// which is made. Returns the exit code.
int write_man_pages(const std::filesystem::path& folder);

}  // namespace crab::cli
