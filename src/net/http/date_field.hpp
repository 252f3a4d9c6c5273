#pragma once

#include "base/clock.hpp"

#include <array>
#include <string_view>

namespace crab::net {

/// The Date field of responses (RFC 9110 section 6.6.1), rewritten once per second. Used on one
/// thread.
class DateField {
public:
    explicit DateField(const Clock& clock) : clock_(clock) {}
    /// `Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n`, valid until the next call. `now` is of the
    /// clock's steady time.
    std::string_view line(SteadyTime now) {
        if (now >= valid_until_) write(now);
        return {text_.data(), text_.size()};
    }

private:
    void write(SteadyTime now);
    const Clock& clock_;
    SteadyTime valid_until_{};
    std::array<char, 37> text_{};
};

}  // namespace crab::net
