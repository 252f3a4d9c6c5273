#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace crab::app {

/// One HTTP/1.1 exchange over a blocking socket, a new connection each time.
struct HttpAddress {
    std::filesystem::path socket;  ///< of a Unix socket; empty: host and port
    std::string host;
    std::string port;
    std::string host_field = "localhost";
};

struct HttpReply {
    int status = 0;
    std::string content_type;
    std::string body;  ///< empty when it was streamed
};

/// Sends `request` (a whole message) and reads the answer to it. With `on_part`, the body of an event stream is handed over as
/// it comes. Errors: kUnavailable, kTimeout at `deadline`, kOversize beyond 64 MiB, kInternal for what is not HTTP.
Result<HttpReply> exchange(const HttpAddress& address, std::string_view method, std::string_view request, Deadline deadline,
                           const std::function<void(std::string_view part)>& on_part = {});

}  // namespace crab::app
