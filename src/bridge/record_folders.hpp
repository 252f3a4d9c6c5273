#pragma once

#include "adapters/cetp/manifest.hpp"
#include "bridge/bridge_paths.hpp"

#include <filesystem>
#include <vector>

namespace crab::bridge {

/// The folders in which providers are declared, in the order of precedence: manifests, then desktop
/// entries.
struct RecordFolder {
    std::filesystem::path path;
    bool manifests = true;  ///< else desktop entries
    /// The extension of its record files.
    std::string_view ending() const { return manifests ? ".ini" : ".desktop"; }
};
std::vector<RecordFolder> record_folders(const BridgePaths& paths);

/// The built-in providers and everything that files declare, by precedence, for cetp::choose().
/// Reads files and starts nothing. Blocks. Hidden files and other extensions are skipped.
std::vector<cetp::Candidate> read_records(const BridgePaths& paths);

}  // namespace crab::bridge
