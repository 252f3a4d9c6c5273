#pragma once

#include "base/descriptor.hpp"
#include "hosts/command/egress/egress_list.hpp"
#include "hosts/command/egress/egress_proxy.hpp"
#include "net/loop/listener.hpp"
#include "net/tls/connection.hpp"

#include <memory>
#include <unordered_set>

namespace crab::command {

/// The proxy server of one command. Created on any thread, used on the loop's; lives until close()
/// and the end of its connections.
class CommandProxy : public std::enable_shared_from_this<CommandProxy> {
public:
    CommandProxy(EgressServices services, std::shared_ptr<const EgressList> list,
                 command::EgressUser user)
        : services_(services), list_(std::move(list)), user_(std::move(user)) {}

    /// Serves whoever connects to `listening`.
    void listen(Descriptor listening);
    /// Closes all connections.
    void close();

    net::EventLoop& loop() const { return services_.loop; }
    const EgressList& list() const { return *list_; }
    net::NameLookups& names() const { return services_.names; }
    const command::EgressUser& user() const { return user_; }
    /// Registers a connection, of either side, to be closed with this.
    void add(net::Connection& connection) { open_.insert(&connection); }
    void remove(net::Connection& connection) { open_.erase(&connection); }
    bool closed() const { return closed_; }
    /// Logs and audits that `target` was refused.
    void refused(std::string_view target, std::string_view why);

private:
    void serve(int fd);

    EgressServices services_;
    std::shared_ptr<const EgressList> list_;
    command::EgressUser user_;
    std::shared_ptr<net::Acceptor> acceptor_;
    std::unordered_set<net::Connection*> open_;
    bool closed_ = false;
};

}  // namespace crab::command
