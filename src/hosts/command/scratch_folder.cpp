#include "hosts/command/scratch_folder.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderPrefix = "crab-command-";

/// Holds the folder; not open when somebody else does, or when it is none of this user's.
Descriptor lock_folder(const fs::path& folder) {
    Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat about{};
    const bool own =
        opened.is_open() && ::fstat(opened.get(), &about) == 0 && about.st_uid == ::geteuid();
    if (!own || ::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) return Descriptor();
    return opened;
}

}  // namespace

std::optional<ScratchFolder> ScratchFolder::make(const fs::path& parent) {
    // Somebody who starts just now may take a folder that is not locked yet for a leftover; the
    // next one is another.
    constexpr int kTries = 3;
    for (int tries = 0; tries < kTries; ++tries) {
        std::string name = (parent / kFolderPrefix).string() + "XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) return std::nullopt;
        Descriptor lock = lock_folder(name);
        std::error_code gone;
        if (lock.is_open() && fs::exists(name, gone))
            return ScratchFolder(std::move(name), std::move(lock));
    }
    errno = EBUSY;
    return std::nullopt;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    if (lock_.is_open()) fs::remove_all(path_, ignored);
}

void ScratchFolder::remove_leftovers(const fs::path& parent) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(parent, error)) {
        if (!entry.path().filename().string().starts_with(kFolderPrefix)) continue;
        const Descriptor lock = lock_folder(entry.path());
        std::error_code ignored;
        if (lock.is_open()) fs::remove_all(entry.path(), ignored);
    }
}

}  // namespace crab::command
