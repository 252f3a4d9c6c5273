#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <memory>
#include <string>

#include <sys/types.h>

namespace crab::command {

/// The identity of a file or folder, independent of its names.
struct FileIdentity {
    dev_t device = 0;
    ino_t number = 0;

    /// The identity of the file at `path`, without following a link; if there is none, an identity
    /// that equals no file.
    static FileIdentity of(const std::filesystem::path& path);
    bool is_known() const { return number != 0; }
    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A file or folder held by descriptor (O_PATH): it stays the one that was checked, even if it is
/// renamed or replaced by a link. Copies share the descriptor.
class FileHandle {
public:
    FileHandle() = default;  ///< nothing

    /// Follows links in `path` now and never again. Errors: kNotFound, kUnavailable, both with the
    /// reason only.
    static Result<FileHandle> open(const std::filesystem::path& path);
    /// Follows no links: a previously resolved path must not have changed. Errors: the same.
    static Result<FileHandle> open_exactly(const std::filesystem::path& path);
    /// As open(), for a folder. Errors: also kInvalidArgs for anything else.
    static Result<FileHandle> open_folder(const std::filesystem::path& path);

    bool is_open() const { return file_ != nullptr; }
    int fd() const { return file_ ? file_->get() : -1; }
    const FileIdentity& identity() const { return identity_; }
    bool is_folder() const { return folder_; }
    /// A /proc path to it for this process, and for children that inherit the descriptor under its
    /// number, before they restrict their view.
    std::string link() const;
    /// Its current path; empty if it was deleted.
    std::filesystem::path place() const;

private:
    std::shared_ptr<const Descriptor> file_;
    FileIdentity identity_;
    bool folder_ = false;
};

}  // namespace crab::command
