#include "gateway/context/service_options.hpp"

#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

Result<std::string> read_token(const std::filesystem::path& path) {
    if (path.empty()) return std::string();
    std::ifstream file(path);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    if (!file || text.empty())
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("token_file: cannot read a token from {}", path.string()));
    return text;
}

Result<net::GrpcChannel::Options> channel_of(const config::RemoteServiceOptions& remote,
                                             net::NameLookups& names) {
    auto endpoint = net::parse_endpoint(remote.address);
    if (!endpoint) return fail(std::move(endpoint.error()));
    std::shared_ptr<net::TlsContext> tls;
    if (remote.tls) {
        net::TlsContext::Options options{.role = net::TlsContext::Role::kClient,
                                         .peer_check = net::TlsContext::PeerCheck::kChainAndName,
                                         .alpn = "h2"};
        options.ca.file = remote.tls->ca;
        options.certificate.file = remote.tls->cert;
        options.key.file = remote.tls->key;
        auto made = net::TlsContext::make(std::move(options));
        if (!made) return fail(std::move(made.error()));
        tls = std::move(*made);
    }
    net::GrpcChannel::Options channel;
    channel.secure = tls != nullptr;
    channel.authority = endpoint->is_unix() ? "localhost" : endpoint->text();
    channel.find_server = [endpoint = std::move(*endpoint), tls,
                           &names](Deadline deadline) -> Task<Result<net::DialTarget>> {
        return names.find_target(endpoint, tls, deadline);
    };
    return channel;
}

}  // namespace

Result<sw4rm::ServiceClient::Options> service_options(const config::RemoteServiceOptions& service,
                                                      net::NameLookups& names) {
    auto channel = channel_of(service, names);
    if (!channel) return fail(std::move(channel.error()));
    auto token = read_token(service.token_file);
    if (!token) return fail(std::move(token.error()));
    return sw4rm::ServiceClient::Options{.channel = std::move(*channel),
                                         .token = std::move(*token)};
}

}  // namespace crab::gateway
