#pragma once

#include "load/loop.hpp"

#include <span>
#include <string>
#include <string_view>

namespace crab::bench {

/// A stream socket on a Loop with a buffer each way. It may be closed and opened again; it outlives
/// the turn either way.
class Connection : public Source {
public:
    explicit Connection(Loop& loop) : loop_(loop) {}
    ~Connection() override { close(); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Takes the connected descriptor; `already_read` are bytes that a handshake read too many.
    void open(int fd, std::string_view already_read = {});
    /// Drops the connection at once, with whatever was not flushed; on_closed() is not called.
    void close();
    bool is_open() const { return fd_ >= 0; }

    void on_ready(std::uint32_t events) final;
    void flush() final;

protected:
    /// What to append outgoing bytes to; they leave at the end of the turn.
    std::string& outgoing();
    /// Handles every complete message in `bytes` and returns how many bytes that was; the rest
    /// comes again with more. It may close the connection or change the bytes in place.
    virtual std::size_t on_input(std::span<char> bytes) = 0;
    /// The other side is gone; the connection is closed already.
    virtual void on_closed() = 0;

private:
    Loop& loop_;
    int fd_ = -1;
    bool flush_asked_ = false;
    bool wants_writable_ = false;
    std::string in_;
    std::string out_;
};

}  // namespace crab::bench
