#pragma once

#include "load/connection.hpp"

#include <memory>
#include <vector>

namespace crab::bench {

/// A tool host that costs next to nothing: a keep-alive HTTP/1.1 server that answers every GET with
/// a list of two tools, `echo` and `set`, which says that it has side effects, and every POST with
/// the same 300 bytes of result under the call id that it came with.
class HttpBackend final : public Source {
public:
    /// Takes a listening socket, which stays the caller's.
    HttpBackend(Loop& loop, int listener);
    ~HttpBackend() override;

    void on_ready(std::uint32_t events) override;

private:
    class Peer;
    Loop& loop_;
    int listener_;
    std::vector<std::unique_ptr<Peer>> peers_;  // kept, closed ones too, until the run ends
};

}  // namespace crab::bench
