#pragma once

#include <string_view>
#include <utility>

namespace crab {

/// A file descriptor that closes itself; -1 is none.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() { close(); }

    int get() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }
    void close();

    /// Writes everything to a file and syncs it. False with errno set when that fails.
    bool write_and_sync(std::string_view content) const;

private:
    int fd_ = -1;
};

}  // namespace crab
