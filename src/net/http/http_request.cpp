#include "net/http/http_request.hpp"

#include "net/tls/connection.hpp"

namespace crab::net {

std::string HttpRequest::certificate_der() const {
    return connection == nullptr ? std::string() : connection->peer_certificate_der();
}

}  // namespace crab::net
