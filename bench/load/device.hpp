#pragma once

#include "load/connection.hpp"
#include "load/websocket.hpp"

#include <cstdint>
#include <string>

namespace crab::bench {

/// A device that offers one tool and answers every call of it at once with the same 300 bytes.
class Device final : public Connection {
public:
    struct Options {
        Address gateway;
        std::string token;
        std::string tool;
        std::uint32_t fail_every = 0;  ///< every n-th answer is a failure; 0: none
        bool answers = true;           ///< false: it takes calls and never answers
    };

    /// Dials in and registers; throws when the gateway refuses.
    Device(Loop& loop, Options options);

    /// A device that has dialled in and registered already: takes the connected descriptor.
    Device(Loop& loop, Options options, int fd, std::string_view already_read);

    /// Drops the link without a goodbye, as a phone that loses its network does, and dials in
    /// again.
    void reconnect();
    std::uint64_t calls() const { return calls_; }
    /// Times the gateway closed the link.
    std::uint64_t lost() const { return lost_; }

private:
    std::size_t on_input(std::span<char> bytes) override;
    void on_closed() override;
    void on_text(std::string_view text);

    Options options_;
    std::uint64_t calls_ = 0;
    std::uint64_t lost_ = 0;
};

}  // namespace crab::bench
