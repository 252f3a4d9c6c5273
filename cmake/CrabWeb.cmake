# What is written in TypeScript: the package of clients/typescript, and the page of web/device,
# which becomes part of the program. Node.js 18 or newer with npm builds it; what it needs beside
# those comes from npm's registry, pinned by package-lock.json.
option(CRAB_WEB "build the device page (needs Node.js, npm and its registry)" ON)

set(CRAB_DEVICE_PAGE_SOURCE ${CMAKE_BINARY_DIR}/web/device_page_files.cpp)
set(embed ${CMAKE_SOURCE_DIR}/scripts/embed_site.py)

if(NOT CRAB_WEB)
  add_custom_command(
    OUTPUT ${CRAB_DEVICE_PAGE_SOURCE}
    COMMAND ${Python3_EXECUTABLE} ${embed} --empty ${CRAB_DEVICE_PAGE_SOURCE}
    DEPENDS ${embed} VERBATIM)
  add_custom_target(device_page DEPENDS ${CRAB_DEVICE_PAGE_SOURCE})
  return()
endif()

find_program(CRAB_NODE NAMES node nodejs)
find_program(CRAB_NPM NAMES npm)
if(CRAB_NODE)
  execute_process(COMMAND ${CRAB_NODE} --version
                  OUTPUT_VARIABLE node_version OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT CRAB_NODE OR NOT CRAB_NPM OR node_version VERSION_LESS "v18")
  message(FATAL_ERROR "the device page is built with Node.js 18 or newer and npm, and they are not "
                      "here (node: ${CRAB_NODE} ${node_version}, npm: ${CRAB_NPM}). "
                      "Run scripts/setup.sh, or configure with -DCRAB_WEB=OFF for a gateway "
                      "without the page.")
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

file(GLOB package_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/clients/typescript/src/*.ts)
file(GLOB_RECURSE page_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/device/*)
list(FILTER page_sources EXCLUDE REGEX "/(test|node_modules)/|README\\.md$")

# The page: TypeScript and styles into few files, those into one object.
set(page ${CMAKE_BINARY_DIR}/web/device)
add_custom_command(
  OUTPUT ${CRAB_DEVICE_PAGE_SOURCE}
  COMMAND ${CRAB_NODE} ${CMAKE_SOURCE_DIR}/node_modules/vite/bin/vite.js build
          --outDir ${page} --emptyOutDir --logLevel warn
  COMMAND ${Python3_EXECUTABLE} ${embed} ${page} ${CRAB_DEVICE_PAGE_SOURCE}
  DEPENDS ${modules} ${package_sources} ${page_sources} ${embed}
          ${CMAKE_SOURCE_DIR}/tsconfig.base.json
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/web/device
  COMMENT "Building the device page" VERBATIM)
add_custom_target(device_page DEPENDS ${CRAB_DEVICE_PAGE_SOURCE})

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
set_tests_properties(web.unit PROPERTIES TIMEOUT 600)
