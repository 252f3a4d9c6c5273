# A folder of src/ is a module: an object library crab_<name> of every .cpp beside its
# CMakeLists.txt, except tests, benchmarks and fuzzers, which become targets of their own. A module
# sees the headers of the modules that it links, and no others: each hands on a folder of links to
# its own headers, and nobody has src/ among its include paths.
include(GoogleTest)
include(CrabPrecompiled)

# How modules are compiled, and by which figures: docs/decisions/0019.
option(CRAB_UNITY "Compile eight files of a module as one, of a COLD one 24" ON)
set(CRAB_TEST_OPTIONS "" CACHE STRING "More options for the files of unit tests, such as -O0")
set(CRAB_COLD_OPTIONS "" CACHE STRING "More options for the files of COLD modules: -O0, -Oz")
# With a profile small functions are inlined for its counters before anything else, in -Oz too.
if(CRAB_PROFILE_USE)
  list(APPEND CRAB_COLD_OPTIONS -fno-profile-instr-use)
endif()

# For a target that has to have a source and has none.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/no_code.cpp CONTENT "")

# The headers for authors of tools.
add_library(crab_public INTERFACE)
target_include_directories(crab_public INTERFACE ${CMAKE_SOURCE_DIR}/include)

# crab_show_headers(target): the headers of this folder, by their paths from src/, for the target
# and all that link it.
function(crab_show_headers target)
  set(shown ${CMAKE_BINARY_DIR}/headers/${target})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB headers CONFIGURE_DEPENDS *.hpp)
  file(REMOVE_RECURSE ${shown})
  file(MAKE_DIRECTORY ${shown}/${folder})
  foreach(header ${headers})
    get_filename_component(name ${header} NAME)
    file(CREATE_LINK ${header} ${shown}/${folder}/${name} SYMBOLIC)
  endforeach()
  target_include_directories(${target} PUBLIC ${shown})
endfunction()

# crab_module(name [COLD [FAST file...]] [ROOM room] [LINKS target...] [TEST_LINKS target...]
# [TESTS_TOGETHER]): the module, its fuzzers and benchmarks, and its unit tests: an executable
# <name>_test, or with ROOM a part of crab_room(room). Eight files are compiled as one that includes
# them, so what is local to a file has a name that the folder has once. COLD: no call that is only
# relayed passes through it, except for the files FAST, so how fast it runs matters less than how
# fast it is compiled (dev) and how small it is (release). TESTS_TOGETHER: they are one process,
# which shares a server.
function(crab_module name)
  cmake_parse_arguments(ARG "COLD;TESTS_TOGETHER" "ROOM" "LINKS;TEST_LINKS;FAST" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(CRAB_ALONE)
    crab_header_units()
  endif()
  if(NOT sources)
    set(sources ${CMAKE_BINARY_DIR}/no_code.cpp)
  endif()
  set(fast "")
  if(ARG_FAST AND CRAB_COLD_OPTIONS)
    crab_fast_part(${name})
  endif()
  add_library(crab_${name} OBJECT ${sources})
  crab_show_headers(crab_${name})
  target_link_libraries(crab_${name} PUBLIC fmt::fmt ${ARG_LINKS} ${fast})
  if(ARG_COLD)
    set_property(GLOBAL APPEND PROPERTY CRAB_COLD_MODULES crab_${name})
    crab_unite(crab_${name} 24)
    target_compile_options(crab_${name} PRIVATE ${CRAB_COLD_OPTIONS})
    crab_precompile(crab_${name} COLD MODULES crab_${name})
  else()
    crab_unite(crab_${name} 8)
    crab_precompile(crab_${name} MODULES crab_${name})
  endif()
  if(ARG_ROOM)
    set_property(GLOBAL APPEND PROPERTY CRAB_ROOM_TESTS_${ARG_ROOM} ${tests})
    set_property(GLOBAL APPEND PROPERTY CRAB_ROOM_MODULES_${ARG_ROOM} crab_${name})
  elseif(tests)
    set(together "")
    if(ARG_TESTS_TOGETHER)
      set(together TOGETHER)
    endif()
    crab_test(${name}_test SOURCES ${tests} LINKS crab_${name} ${ARG_TEST_LINKS}
              ${together})
  endif()
  file(GLOB benches CONFIGURE_DEPENDS *_bench.cpp)
  if(ARG_ROOM)
    set_property(GLOBAL APPEND PROPERTY CRAB_ROOM_BENCHES_${ARG_ROOM} ${benches})
  else()
    crab_benches(SOURCES ${benches} LINKS crab_${name} ${ARG_TEST_LINKS})
  endif()
  file(GLOB fuzzers CONFIGURE_DEPENDS *_fuzz.cpp)
  foreach(source ${fuzzers})
    crab_fuzzer(${source} crab_${name})
  endforeach()
endfunction()

# crab_fast_part(name): moves the files FAST of crab_module() from `sources` to a target of their
# own, `fast`. They are compiled together as they are where nothing is COLD, since a profile knows
# what is local to files by what they are compiled with.
macro(crab_fast_part name)
  set(number 0)
  list(TRANSFORM ARG_FAST PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  foreach(file ${sources})
    math(EXPR group "${number} / 8")
    math(EXPR number "${number} + 1")
    if(file IN_LIST ARG_FAST)
      set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
  list(REMOVE_ITEM sources ${ARG_FAST})
  set(fast crab_${name}_fast)
  add_library(${fast} OBJECT ${ARG_FAST})
  crab_show_headers(${fast})
  target_link_libraries(${fast} PUBLIC fmt::fmt ${ARG_LINKS})
  crab_unite(${fast} 8)
  set_target_properties(${fast} PROPERTIES UNITY_BUILD_MODE GROUP)
  crab_precompile(${fast} MODULES ${fast})
endmacro()

# crab_unite(target most): compiles so many files of it as one.
function(crab_unite target most)
  if(NOT CRAB_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${most})
endfunction()

# crab_room(name [TEST_LINKS target...] [TEST_HEADERS header...]): the unit tests of all modules of
# the room in one executable, <name>_test. TEST_HEADERS: read once for all of them, paths from src/.
function(crab_room name)
  cmake_parse_arguments(ARG "" "" "TEST_LINKS;TEST_HEADERS" ${ARGN})
  get_property(tests GLOBAL PROPERTY CRAB_ROOM_TESTS_${name})
  get_property(modules GLOBAL PROPERTY CRAB_ROOM_MODULES_${name})
  get_property(benches GLOBAL PROPERTY CRAB_ROOM_BENCHES_${name})
  crab_test(${name}_test SOURCES ${tests} LINKS ${modules} ${ARG_TEST_LINKS}
            HEADERS ${ARG_TEST_HEADERS})
  crab_benches(SOURCES ${benches} LINKS ${modules} ${ARG_TEST_LINKS})
endfunction()

# crab_benches(SOURCES file... LINKS target...): an executable of each, built when it is asked for;
# `benches` is all of them.
add_custom_target(benches)
function(crab_benches)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  foreach(source ${ARG_SOURCES})
    get_filename_component(bench ${source} NAME_WE)
    add_executable(${bench} EXCLUDE_FROM_ALL ${source})
    crab_link_modules(${bench} ${ARG_LINKS})
    crab_precompile(${bench} MODULES ${ARG_LINKS})
    target_link_libraries(${bench} PRIVATE benchmark::benchmark_main)
    add_dependencies(benches ${bench})
  endforeach()
endfunction()

# Object libraries hand on usage requirements but not their objects, so an executable names the
# whole chain below it. COLD ones last: of an inline function the linker keeps the first copy.
function(crab_link_modules target)
  crab_chain(chain ${ARGN})
  get_property(all_cold GLOBAL PROPERTY CRAB_COLD_MODULES)
  set(hot ${chain})
  list(REMOVE_ITEM hot ${all_cold} "")
  list(REMOVE_ITEM chain ${hot} "")
  target_link_libraries(${target} PRIVATE ${hot} ${chain})
endfunction()

# crab_header_units(): adds to `sources` and `tests` of crab_module() a file for each header that is
# not the first include of one anyway. Headers of tests see what tests see.
macro(crab_header_units)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB headers CONFIGURE_DEPENDS *.hpp)
  foreach(header ${headers})
    get_filename_component(stem ${header} NAME_WE)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/alone/${stem}.cpp)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${stem}.cpp)
      continue()
    endif()
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${folder}/${stem}.hpp\"\n")
    if(stem MATCHES "^(test|fuzz)_")
      list(APPEND tests ${unit})
    else()
      list(APPEND sources ${unit})
    endif()
  endforeach()
endmacro()

# crab_test(name SOURCES ... LINKS modules... [HEADERS header...] [TOGETHER]): an executable with
# GoogleTest's main. Its cases are tests of ctest, or with TOGETHER one test is the whole.
function(crab_test name)
  cmake_parse_arguments(ARG "TOGETHER" "" "SOURCES;LINKS;HEADERS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  crab_link_modules(${name} ${ARG_LINKS})
  target_compile_options(${name} PRIVATE ${CRAB_TEST_OPTIONS})
  crab_precompile(${name} TEST MODULES ${ARG_LINKS} HEADERS ${ARG_HEADERS})
  target_link_libraries(${name} PRIVATE GTest::gtest_main GTest::gmock)
  target_compile_definitions(${name} PRIVATE CRAB_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(ARG_TOGETHER)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300)
  else()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
  endif()
endfunction()

# crab_fuzzer(source modules...): <name>_fuzz; a short run over its corpus is a test, with libFuzzer
# when CRAB_FUZZ is on and with a plain driver (replay of the corpus plus mutations of it)
# otherwise.
function(crab_fuzzer source)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  crab_link_modules(${name} ${ARGN})
  crab_precompile(${name} MODULES ${ARGN})
  set(corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  if(CRAB_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME ${name}
             COMMAND ${name} -max_total_time=20 -timeout=10 -rss_limit_mb=4096 -print_final_stats=1
             ${CMAKE_BINARY_DIR}/corpus/${name} ${corpus})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/corpus/${name})
  else()
    if(NOT TARGET fuzz_replay)
      add_library(fuzz_replay OBJECT ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
    endif()
    target_link_libraries(${name} PRIVATE fuzz_replay)
    add_test(NAME ${name} COMMAND ${name} ${corpus})
  endif()
endfunction()
