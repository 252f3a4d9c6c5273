#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <memory>
#include <string>

#include <sys/types.h>

namespace crab::command {

/// What makes a file or folder this one and no other, whatever its names are.
struct FileIdentity {
    dev_t device = 0;
    ino_t number = 0;

    /// That of what lies at `path`, a link itself and not where it leads; one that equals none but
    /// itself when nothing is there.
    static FileIdentity of(const std::filesystem::path& path);
    bool is_known() const { return number != 0; }
    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A file or folder of the host, opened once and held by descriptor (O_PATH): it stays the one that
/// was looked at, whoever renames it, or puts a link at its old name. Copies share the descriptor.
class HeldFile {
public:
    HeldFile() = default;  ///< nothing

    /// Links on the way to `path` are followed now and never again. Errors: kNotFound,
    /// kUnavailable, both with the reason alone.
    static Result<HeldFile> open(const std::filesystem::path& path);
    /// Follows no link at all: what was resolved before must be what it was. Errors: the same.
    static Result<HeldFile> open_exactly(const std::filesystem::path& path);
    /// As open(), for a folder. Errors: also kInvalidArgs for what is none.
    static Result<HeldFile> open_folder(const std::filesystem::path& path);

    bool is_open() const { return file_ != nullptr; }
    int fd() const { return file_ ? file_->get() : -1; }
    const FileIdentity& identity() const { return identity_; }
    bool is_folder() const { return folder_; }
    /// A path that leads to it in this process, and in those that inherit the descriptor under its
    /// number, before they restrict what they see.
    std::string link() const;
    /// Where it is at this moment; empty when it has no name any more.
    std::filesystem::path place() const;

private:
    std::shared_ptr<const Descriptor> file_;
    FileIdentity identity_;
    bool folder_ = false;
};

}  // namespace crab::command
