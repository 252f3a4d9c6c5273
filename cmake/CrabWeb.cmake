# What is written in TypeScript: the package of clients/typescript, and the pages of web/device and
# web/console, which become part of the program. Node.js 18 or newer with npm builds them; what they
# need beside those comes from npm's registry, pinned by package-lock.json.
option(CRAB_WEB "build the device page and the console (needs Node.js, npm and its registry)" ON)

set(CRAB_PAGE_SOURCES ${CMAKE_BINARY_DIR}/web/device_page_files.cpp
                      ${CMAKE_BINARY_DIR}/web/console_page_files.cpp)
set(embed ${CMAKE_SOURCE_DIR}/scripts/embed_site.py)

if(NOT CRAB_WEB)
  foreach(page device_page console_page)
    add_custom_command(
      OUTPUT ${CMAKE_BINARY_DIR}/web/${page}_files.cpp
      COMMAND ${Python3_EXECUTABLE} ${embed} ${page} --empty
              ${CMAKE_BINARY_DIR}/web/${page}_files.cpp
      DEPENDS ${embed} VERBATIM)
  endforeach()
  add_custom_target(web_pages DEPENDS ${CRAB_PAGE_SOURCES})
  return()
endif()

find_program(CRAB_NODE NAMES node nodejs)
find_program(CRAB_NPM NAMES npm)
if(CRAB_NODE)
  execute_process(COMMAND ${CRAB_NODE} --version
                  OUTPUT_VARIABLE node_version OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT CRAB_NODE OR NOT CRAB_NPM OR node_version VERSION_LESS "v18")
  message(FATAL_ERROR "the pages are built with Node.js 18 or newer and npm, and they are not "
                      "here (node: ${CRAB_NODE} ${node_version}, npm: ${CRAB_NPM}). "
                      "Run scripts/setup.sh, or configure with -DCRAB_WEB=OFF for a gateway "
                      "without them.")
endif()

# npm writes this file last; all build directories share what it installs.
set(modules ${CMAKE_SOURCE_DIR}/node_modules/.package-lock.json)
set(manifests
    ${CMAKE_SOURCE_DIR}/package.json ${CMAKE_SOURCE_DIR}/package-lock.json
    ${CMAKE_SOURCE_DIR}/clients/typescript/package.json
    ${CMAKE_SOURCE_DIR}/web/console/package.json
    ${CMAKE_SOURCE_DIR}/web/device/package.json
    ${CMAKE_SOURCE_DIR}/web/shared/package.json)
add_custom_command(
  OUTPUT ${modules}
  COMMAND ${CMAKE_COMMAND} -DNPM=${CRAB_NPM} -DFOLDER=${CMAKE_SOURCE_DIR}
          -P ${CMAKE_SOURCE_DIR}/cmake/NpmInstall.cmake
  DEPENDS ${manifests} ${CMAKE_SOURCE_DIR}/cmake/NpmInstall.cmake
  COMMENT "npm ci" VERBATIM)
add_custom_target(web_modules DEPENDS ${modules})

file(GLOB_RECURSE package_sources CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/clients/typescript/src/*.ts)
file(GLOB_RECURSE shared_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/shared/src/*
     ${CMAKE_SOURCE_DIR}/web/shared/worker/*)

# crab_page(name folder): TypeScript and styles of web/<folder> into few files, those into one
# object.
function(crab_page name folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/${folder}/*)
  list(FILTER sources EXCLUDE REGEX "/(test|mock|node_modules)/|README\\.md$")
  set(built ${CMAKE_BINARY_DIR}/web/${folder})
  set(embedded ${CMAKE_BINARY_DIR}/web/${name}_files.cpp)
  add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CRAB_NODE} ${CMAKE_SOURCE_DIR}/node_modules/vite/bin/vite.js build
            --outDir ${built} --emptyOutDir --logLevel warn
    COMMAND ${Python3_EXECUTABLE} ${embed} ${name} ${built} ${embedded}
    DEPENDS ${modules} ${package_sources} ${shared_sources} ${sources} ${embed}
            ${CMAKE_SOURCE_DIR}/tsconfig.base.json
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/web/${folder}
    COMMENT "Building the page of web/${folder}" VERBATIM)
endfunction()
crab_page(device_page device)
crab_page(console_page console)
add_custom_target(web_pages DEPENDS ${CRAB_PAGE_SOURCES})

# The package as Node programs use it; tests/conformance has one.
set(CRAB_DEVICE_PACKAGE ${CMAKE_BINARY_DIR}/web/package)
add_custom_command(
  OUTPUT ${CRAB_DEVICE_PACKAGE}/index.js
  COMMAND ${CRAB_NODE} ${CMAKE_SOURCE_DIR}/node_modules/typescript/bin/tsc -p tsconfig.build.json
          --outDir ${CRAB_DEVICE_PACKAGE}
  COMMAND ${CMAKE_COMMAND} -E touch ${CRAB_DEVICE_PACKAGE}/index.js
  COMMAND ${CMAKE_COMMAND} -E echo "{\"type\":\"module\"}" > ${CRAB_DEVICE_PACKAGE}/package.json
  DEPENDS ${modules} ${package_sources} ${CMAKE_SOURCE_DIR}/clients/typescript/tsconfig.build.json
          ${CMAKE_SOURCE_DIR}/tsconfig.base.json
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/clients/typescript
  COMMENT "Compiling the TypeScript package" VERBATIM)
add_custom_target(typescript_package ALL DEPENDS ${CRAB_DEVICE_PACKAGE}/index.js)

foreach(part clients/typescript web/console web/device web/shared)
  string(REPLACE "/" "_" name ${part})
  add_test(NAME web.types.${name}
           COMMAND ${CRAB_NODE} node_modules/typescript/bin/tsc --noEmit -p ${part}
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(web.types.${name} PROPERTIES TIMEOUT 300)
endforeach()
add_test(NAME web.unit COMMAND ${CRAB_NODE} node_modules/vitest/vitest.mjs run
         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(web.unit PROPERTIES TIMEOUT 600 COST 60)
