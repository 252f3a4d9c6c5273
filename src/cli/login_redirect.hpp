#pragma once

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::cli {

/// Where a browser is sent back to after a login: a port of this machine, for as long as the
/// command runs. The same address may be pasted, for browsers of other machines.
class LoginRedirect {
public:
    /// Port 0: any. Errors: kUnavailable.
    static Result<LoginRedirect> open(std::uint16_t port);

    /// `http://127.0.0.1:PORT/callback`
    const std::string& uri() const { return uri_; }
    /// The address that a browser came back with, or that was typed on `input` (-1: nobody types).
    /// Only the answer to the login with this `state` counts: other pages know the port too.
    /// Nothing: none came by `deadline`.
    std::optional<std::string> wait(std::string_view state, int input, Deadline deadline);

private:
    LoginRedirect(Descriptor listening, std::string uri)
        : listening_(std::move(listening)), uri_(std::move(uri)) {}
    std::optional<std::string> serve_one(std::string_view state);

    Descriptor listening_;
    std::string uri_;
};

}  // namespace crab::cli
