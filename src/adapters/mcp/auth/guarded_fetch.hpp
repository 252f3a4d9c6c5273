#pragma once

#include "adapters/mcp/auth/fetcher.hpp"
#include "net/codec/http_url.hpp"
#include "net/http/http_client.hpp"
#include "net/http/name_lookups.hpp"
#include "net/tls/tls_context.hpp"

#include <memory>

namespace crab::mcp {

/// Fetches from servers that other servers name, which may be hostile: only `https` (except
/// loopback, where the request's reach allows it), the address that is checked is the one that is
/// dialled, no redirect is followed, at most 64 KiB are read in at most 10 s, and a connection
/// serves one request. Source: docs/protocols/mcp.md, 6.4.
class GuardedFetch final : public Fetcher {
public:
    static constexpr std::size_t kMostBytes = std::size_t{64} << 10;
    static constexpr Milliseconds kPatience{10'000};

    /// All outlive it. `tls`: a client's, which checks chain and name.
    GuardedFetch(net::EventLoop& loop, net::NameLookups& names,
                 std::shared_ptr<net::TlsContext> tls)
        : loop_(loop), names_(names), tls_(std::move(tls)) {}

    Task<Result<FetchReply>> fetch(FetchRequest request) override;

private:
    Task<Result<net::DialTarget>> find_server(net::HttpUrl url, FetchReach reach,
                                              Deadline deadline);

    net::EventLoop& loop_;
    net::NameLookups& names_;
    std::shared_ptr<net::TlsContext> tls_;
};

/// Whether a URL of that scheme and host may be asked at all, before its name is resolved. Errors:
/// kForbidden.
Result<void> check_reach(const net::HttpUrl& url, FetchReach reach);

}  // namespace crab::mcp
