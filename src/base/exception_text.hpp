#pragma once

#include <exception>
#include <string>

namespace crab {

/// The text of a caught exception, for logs. `failure` is not null.
inline std::string text_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "not a standard exception";
    }
}

}  // namespace crab
