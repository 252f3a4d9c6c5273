#include "base/version.hpp"

namespace crab {

std::string_view version() { return CRAB_VERSION; }

}  // namespace crab
