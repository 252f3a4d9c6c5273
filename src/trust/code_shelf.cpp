#include "trust/code_shelf.hpp"

namespace crab::trust {

std::unexpected<Error> CodeShelf::too_many(Milliseconds wait) {
    Error error{.code = ErrorCode::kRateLimited,
                .message = "too many pairing codes are open: use one or wait until one expires"};
    error.retry_after = wait;
    return fail(std::move(error));
}

std::unexpected<Error> CodeShelf::no_such_pairing() {
    return fail(ErrorCode::kNotFound,
                "no pairing with this id is open: it was used, has expired, or was ended");
}

std::unexpected<Error> CodeShelf::nothing_to_vouch_for() {
    return fail(ErrorCode::kNotFound, "no device's pairing code is open that is this one");
}

std::unexpected<Error> CodeShelf::none_open() {
    return fail(ErrorCode::kNotFound,
                "no pairing code is open: ask the operator for one (`crab devices pair`)");
}

std::unexpected<Error> CodeShelf::wrong() {
    return fail(ErrorCode::kForbidden,
                "the pairing code is wrong: compare it, or ask the operator for a new one");
}

}  // namespace crab::trust
