#pragma once

#include <string_view>

namespace crab::sw4rm {

/// Our .proto files and what they import, compiled: a serialized google.protobuf.FileDescriptorSet.
std::string_view descriptor_set();

}  // namespace crab::sw4rm
