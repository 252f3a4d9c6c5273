#pragma once

#include <compare>
#include <string_view>

namespace crab::net {

/// How much a client wants a kind of content. The greater one is to be sent.
struct AcceptWeight {
    double weight = 0;  ///< 0 to 1; 0: it is not to be sent
    int named = 0;      ///< 2: by its name, 1: by `text/*`, 0: by `*/*`, or not at all
    friend auto operator<=>(const AcceptWeight&, const AcceptWeight&) = default;
};

/// What the field `Accept` says of `type`; without a field all are wanted alike. Ranges that name
/// another `version` of it are passed over; other parameters are of no account. Source: RFC 9110,
/// section 12.5.1.
AcceptWeight accept_weight(std::string_view accept, std::string_view type,
                           std::string_view version);

}  // namespace crab::net
