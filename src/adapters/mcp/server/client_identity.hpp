#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// What a client calls itself: for records and for people, for nobody vouches for it. Without what
/// a reader does not see; longer texts are not kept.
struct ClientIdentity {
    static constexpr std::size_t kMostBytes = 64;  ///< of each

    std::string name{}, version{};  ///< empty where not stated

    /// Of `clientInfo`: an object, or anything else.
    static ClientIdentity read(std::string_view client_info);
};

/// Of clients that say it in each request: what was said last is not read again. One per event
/// loop.
class ClientIdentities {
public:
    /// What ClientIdentity::read() says of it; valid until the next call.
    const ClientIdentity& read(std::string_view client_info);

private:
    std::optional<std::string> said_;
    ClientIdentity client_;
};

}  // namespace crab::mcp
