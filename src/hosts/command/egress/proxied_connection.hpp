#pragma once

#include "base/task/task.hpp"
#include "net/tls/connection.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace crab::command {

class CommandProxy;

/// One connection of a command to its proxy: one request, CONNECT or absolute-form HTTP, then bytes
/// both ways. Pipelined requests go to the same server, which was told that the first is the last.
/// On the loop's thread. Handles both ends. Source: RFC 9110, section 9.3.6; RFC 9112, section 3.2.
class ProxiedConnection final : public net::ConnectionHandler,
                                public std::enable_shared_from_this<ProxiedConnection> {
public:
    explicit ProxiedConnection(std::shared_ptr<CommandProxy> proxy) : proxy_(std::move(proxy)) {}

    void on_open(net::Connection& connection) override;
    std::size_t on_bytes(net::Connection& connection, std::span<char> bytes) override;
    void on_end_of_stream(net::Connection& connection) override;
    void on_drained(net::Connection& connection) override;
    void on_closed(net::Connection& connection, net::CloseReason reason) override;

private:
    std::size_t read_request(net::Connection& connection, std::string_view bytes);
    Task<void> connect();
    void answer(int status, std::string_view text);
    net::Connection* other_of(const net::Connection& connection) const {
        return &connection == client_ ? server_ : client_;
    }
    bool ended(const net::Connection& connection) const {
        return &connection == client_ ? client_ended_ : server_ended_;
    }

    std::shared_ptr<CommandProxy> proxy_;
    CancelSignal connecting_;  ///< ends connect(), when the client has gone
    net::Connection* client_ = nullptr;  ///< until it is closed
    net::Connection* server_ = nullptr;  ///< from the end of the dial until it is closed
    std::string host_;  ///< where it wants to go
    std::uint16_t port_ = 0;
    std::string request_;  ///< rewritten for the server; empty for CONNECT
    bool asked_ = false;  ///< the request has been read
    bool client_ended_ = false, server_ended_ = false;
};

}  // namespace crab::command
