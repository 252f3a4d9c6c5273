#pragma once

#include "net/periodic.hpp"

namespace crab::app {

using net::Periodic;

}  // namespace crab::app
