#pragma once

#include "base/descriptor.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace crab {

/// Both ends of a pipe to or from a child process; they close on exec.
struct Pipe {
    Descriptor read_end, write_end;

    /// False with errno set when the system is out of descriptors.
    bool open();
};

/// write(2) that reports EPIPE instead of raising SIGPIPE. Thread-safe.
ssize_t write_quietly(int fd, std::string_view bytes);

/// `texts` as a null-terminated array for exec and posix_spawn; valid as long as they are.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

}  // namespace crab
