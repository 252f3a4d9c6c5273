# cmake -DNPM=... -DFOLDER=... -P NpmInstall.cmake: installs what package-lock.json pins, and says
# what to do when that fails.
execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
                WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "npm ci failed (above): the TypeScript parts need npm's registry once. "
                      "With network trouble, try again later; `cmake -DCRAB_WEB=OFF` builds a "
                      "gateway without its device page.")
endif()
file(TOUCH ${FOLDER}/node_modules/.package-lock.json)
