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

    /// False with errno set when the system has none left.
    bool open();
};

/// write(2) without the SIGPIPE that would end this process when the reader is gone: that is EPIPE,
/// and no more. Thread-safe.
ssize_t write_quietly(int fd, std::string_view bytes);

/// `texts` as exec and posix_spawn take words and variables; holds as long as they do.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

}  // namespace crab
