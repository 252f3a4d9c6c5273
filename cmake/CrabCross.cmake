# Builds for another machine with its libraries in CRAB_SYSROOT, which scripts/cross.sh makes:
#   cmake --preset dev -B build/arm64 -DCMAKE_TOOLCHAIN_FILE=cmake/CrabCross.cmake
#     -DCRAB_SYSROOT=build/sysroot-arm64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64 CACHE STRING "The other machine, as the compiler names it")
set(CRAB_SYSROOT "" CACHE PATH "Headers and libraries of the other machine")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CRAB_SYSROOT)

set(triple ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_SYSROOT ${CRAB_SYSROOT})
set(CMAKE_C_COMPILER_TARGET ${triple})
set(CMAKE_CXX_COMPILER_TARGET ${triple})
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
# ld links for its own machine only.
set(CMAKE_EXE_LINKER_FLAGS_INIT -fuse-ld=mold)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -fuse-ld=mold)

# Programs are this machine's, everything else is the other one's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CRAB_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${CRAB_SYSROOT}/usr/lib/${triple}/pkgconfig:${CRAB_SYSROOT}/usr/share/pkgconfig)

# What the build runs of its own, tests included, runs under this.
find_program(CRAB_QEMU qemu-${CMAKE_SYSTEM_PROCESSOR}-static)
if(CRAB_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${CRAB_QEMU} -L ${CRAB_SYSROOT})
endif()
