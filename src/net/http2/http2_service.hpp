#pragma once

#include "base/task/task.hpp"
#include "net/http2/http2_stream.hpp"

#include <memory>

namespace crab::net {

/// What an Http2Server serves; each call runs on the loop of its connection.
class Http2Service {
public:
    virtual ~Http2Service() = default;
    /// Answers one stream, whose request head is here and whose body may still be coming. Cancelled
    /// when the stream is gone. Returning without an end, or throwing, resets the stream.
    virtual Task<void> serve(std::shared_ptr<Http2Stream> stream) = 0;
};

}  // namespace crab::net
