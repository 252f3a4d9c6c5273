#include "net/http/http_request.hpp"

#include "net/tls/connection.hpp"

namespace crab::net {

std::string HttpRequest::certificate_der() const {
    return connection == nullptr ? std::string() : connection->peer_certificate_der();
}

std::uint16_t HttpRequest::local_port() const {
    return connection == nullptr ? 0 : connection->local_port();
}

}  // namespace crab::net
