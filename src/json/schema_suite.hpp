#pragma once

#include "json/schema.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace crab::json {

struct SuiteReport {
    int passed = 0;
    int failed = 0;
    std::vector<std::string> failures;  ///< `file: group: case: expected valid, got invalid`
};

/// Runs every `*.json` file directly inside `dir`, in the format of the official JSON-Schema-Test-Suite. Documents below
/// `remotes_dir` are served from memory under `http://localhost:1234/`. A schema's dialect is its `$schema`, else the one that a
/// part of the path names (draft4, draft6, draft7, draft2019-09, draft2020-12; the last such part), else that of `options`.
/// A file that cannot be read counts as one failure; files are read, so this is not for the hot path.
SuiteReport run_suite(const std::filesystem::path& dir, const std::optional<std::filesystem::path>& remotes_dir, const SchemaOptions& options = {});

}  // namespace crab::json
