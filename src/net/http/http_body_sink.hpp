#pragma once

#include "base/clock.hpp"

#include <functional>
#include <string_view>

namespace crab::net {

struct HttpReply;

/// Takes the body of an answer as it comes, on the loop's thread, instead of having it collected.
/// It must not end the exchange from inside these functions.
class HttpBodySink {
public:
    virtual ~HttpBodySink() = default;
    /// The head is complete. True: this takes the body; false: the body is collected in the reply
    /// as usual.
    virtual bool takes(const HttpReply& head) = 0;
    /// One piece of the body, valid during the call. False: no more is wanted; the exchange ends
    /// with kCancelled.
    virtual bool on_body(std::string_view piece) = 0;
    /// Asked after each piece. True: nothing more is read until `resume` is called, on the loop's
    /// thread; once the exchange has ended that does nothing.
    virtual bool pauses([[maybe_unused]] const std::function<void()>& resume) { return false; }
    /// How long the server may be silent from now on; called again after each piece, which may
    /// shorten it, and whenever that time is over.
    virtual Milliseconds patience() const = 0;
};

}  // namespace crab::net
