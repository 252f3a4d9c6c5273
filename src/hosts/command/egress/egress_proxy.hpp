#pragma once

#include "core/audit/audit_log.hpp"
#include "hosts/command/egress.hpp"
#include "hosts/command/egress/egress_list.hpp"
#include "net/http/name_lookups.hpp"

namespace crab::command {

/// Services shared by all proxied connections of a process.
struct EgressServices {
    net::EventLoop& loop;
    net::NameLookups& names;
    core::AuditLog& audit;
};

/// The forward proxy of one provider, on one event loop: CONNECT and absolute-form HTTP to
/// destinations that `list` allows, 403 and an audit record otherwise. Source:
/// docs/protocols/sw4rm.md, section 10, "Proxy".
class EgressProxy final : public command::Egress {
public:
    EgressProxy(EgressServices services, EgressList list)
        : services_(services), list_(std::make_shared<const EgressList>(std::move(list))) {}

    Result<std::unique_ptr<command::EgressSocket>> open_socket(command::EgressUser user) override;

private:
    EgressServices services_;
    std::shared_ptr<const EgressList> list_;
};

}  // namespace crab::command
