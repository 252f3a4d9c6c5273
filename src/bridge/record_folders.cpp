#include "bridge/record_folders.hpp"

#include "adapters/cetp/key_file.hpp"
#include "bridge/built_in/built_in_provider.hpp"

#include <algorithm>
#include <fstream>

namespace crab::bridge {
namespace {

/// At most one byte more than a key file may have, so that one that is too long is seen to be.
Result<std::string> read_some(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(cetp::KeyFile::kMaxBytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || !(file.eof() || file))
        return fail(ErrorCode::kUnavailable, "it cannot be read");
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

std::vector<std::filesystem::path> files_in(const RecordFolder& folder) {
    std::vector<std::filesystem::path> files;
    std::error_code ignored;  // a folder that is missing or may not be read holds nothing
    for (auto entry = std::filesystem::directory_iterator(folder.path, ignored);
         entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
        const std::string name = entry->path().filename();
        const bool counts = !name.starts_with('.') && name.size() > folder.ending().size() &&
                            name.ends_with(folder.ending());
        std::error_code gone;
        if (counts && entry->is_regular_file(gone)) files.push_back(entry->path());
    }
    std::ranges::sort(files);
    return files;
}

}  // namespace

std::vector<RecordFolder> record_folders(const BridgePaths& paths) {
    std::vector<RecordFolder> folders;
    for (const auto& dir : paths.data_dirs) folders.push_back({dir / "cetp" / "providers", true});
    for (const auto& dir : paths.data_dirs) folders.push_back({dir / "applications", false});
    return folders;
}

std::vector<cetp::Candidate> read_records(const BridgePaths& paths) {
    const cetp::ManifestContext context{.locale = paths.locale, .runtime_dir = paths.runtime_dir};
    std::vector<cetp::Candidate> found = built_in_candidates();
    for (const RecordFolder& folder : record_folders(paths)) {
        for (const auto& path : files_in(folder)) {
            const std::string id = path.stem();
            const auto text = read_some(path);
            if (!text && folder.manifests) {
                found.push_back({id, path, fail(text.error())});
            } else if (text && folder.manifests) {
                found.push_back({id, path, cetp::read_manifest(id, *text, context)});
            } else if (text) {
                if (auto reading = cetp::read_desktop_entry(id, *text, context))
                    found.push_back({id, path, *std::move(reading)});
            }
        }
    }
    return found;
}

}  // namespace crab::bridge
