#include "net/http/http_service.hpp"

#include "net/http/http_error.hpp"

namespace crab::net {

void HttpService::refusal_body(const HttpRequest*, int status, std::string_view reason,
                               std::string& body) {
    append_error_body(body, code_for_status(status), reason);
}

}  // namespace crab::net
