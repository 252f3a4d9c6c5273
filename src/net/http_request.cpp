#include "net/http_request.hpp"

#include "net/connection.hpp"

namespace crab::net {

std::string HttpRequest::certificate_der() const { return connection == nullptr ? std::string() : connection->peer_certificate_der(); }

}  // namespace crab::net
