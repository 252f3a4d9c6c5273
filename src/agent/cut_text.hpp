#pragma once

#include "base/cut_text.hpp"

namespace crab::agent {

using crab::cut_text;

}  // namespace crab::agent
