if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} destroys some temporaries in co_await "
                      "expressions twice; use clang 19: cmake --preset dev (package clang-19)")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# For executables too: clang refuses the shared precompiled header otherwise.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)
# libstdc++ 12 has std::expected, but shows it only to compilers that claim the final concepts
# feature value; clang 19 does so in C++23 mode.

# Some packages ask for it, and a precompiled header must agree with its users.
add_compile_options(-pthread)
add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
  -Wno-missing-designated-field-initializers -Wswitch-enum -fno-omit-frame-pointer)

set(CRAB_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")
option(CRAB_FUZZ "Build the libFuzzer targets with coverage feedback" OFF)
if(CRAB_SANITIZE)
  add_compile_options(-fsanitize=${CRAB_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CRAB_SANITIZE})
endif()
if(CRAB_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# The preset `alone`: every file and every header is compiled by itself, without precompiled
# headers, and what would link them only leaves its mark.
option(CRAB_ALONE "Compile every file and every header by itself, and link nothing" OFF)
if(CRAB_ALONE)
  set(CMAKE_CXX_LINK_EXECUTABLE "<CMAKE_COMMAND> -E touch <TARGET>")
  set(CMAKE_CXX_CREATE_STATIC_LIBRARY "<CMAKE_COMMAND> -E touch <TARGET>")
endif()

# Which way calls go, measured by `bench/run profile`: release builds inline and lay out their code
# after it, and make small what was never run. A profile that is older than the code still serves
# where the code is the same. Functions that only their file knows are named after the file without
# its folder, so that a profile serves every checkout.
set(CRAB_PROFILE_NAMES "SHELL:-mllvm -static-func-full-module-prefix=false")
option(CRAB_MAKE_PROFILE "Write a profile at exit (LLVM_PROFILE_FILE) instead of using one" OFF)
set(CRAB_PROFILE ${CMAKE_SOURCE_DIR}/cmake/crab.profdata.tar.xz)
if(CRAB_MAKE_PROFILE)
  add_compile_options(-fprofile-generate ${CRAB_PROFILE_NAMES})
  add_link_options(-fprofile-generate)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release" AND EXISTS ${CRAB_PROFILE})
  # in a folder named after what is in it: another profile is another command line
  file(SHA256 ${CRAB_PROFILE} digest)
  string(SUBSTRING ${digest} 0 16 digest)
  file(ARCHIVE_EXTRACT INPUT ${CRAB_PROFILE} DESTINATION ${CMAKE_BINARY_DIR}/profile/${digest})
  set(CRAB_PROFILE_USE -fprofile-use=${CMAKE_BINARY_DIR}/profile/${digest}/crab.profdata)
  add_compile_options(${CRAB_PROFILE_USE} ${CRAB_PROFILE_NAMES}
                      -Wno-profile-instr-out-of-date -Wno-profile-instr-unprofiled)
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR}
               APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CRAB_PROFILE})
endif()

# lld makes the smaller release program: it packs relocations in the form that glibc takes (mold
# 1.10 has it too, but glibc starts nothing that it has linked so), and keeps code that runs apart
# from code that does not.
find_program(CRAB_MOLD mold)
find_program(CRAB_LLD NAMES ld.lld-19)
set(CRAB_LINKER "")
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CRAB_LLD AND NOT CRAB_MAKE_PROFILE)
  set(CRAB_LINKER lld)
elseif(CRAB_MOLD)
  set(CRAB_LINKER mold)
endif()
if(CRAB_LINKER)
  add_link_options(-fuse-ld=${CRAB_LINKER})
endif()

# What is shipped is small: what nobody calls is left out, and functions with the same code are one.
# What is relocated is read-only afterwards, and copies into arrays are bounded by their size.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-ffunction-sections -fdata-sections -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  add_link_options(LINKER:--gc-sections LINKER:-z,relro,-z,now)
  if(CRAB_LINKER STREQUAL "lld")
    add_link_options(LINKER:--icf=safe LINKER:-O2 LINKER:-z,keep-text-section-prefix
                     LINKER:-z,pack-relative-relocs)
  elseif(CRAB_LINKER AND NOT CRAB_MAKE_PROFILE)  # it crashes over an instrumented program
    add_link_options(LINKER:--icf=safe)
  endif()
endif()

find_program(CRAB_CCACHE ccache)
if(CRAB_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
      CCACHE_DEPEND=1
      ${CRAB_CCACHE})
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
