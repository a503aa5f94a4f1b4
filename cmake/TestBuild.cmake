# How tests are built (tests/CMakeLists.txt).

# Precompiled headers of all tests.
set(HEADROOM_TEST_HEADERS <catch2/catch.hpp> <nlohmann/json.hpp> <algorithm> <filesystem> <fstream> <functional> <map>
    <memory> <optional> <random> <set> <sstream> <string> <thread> <vector>)
add_library(headroom_test_runner STATIC run_tests.cpp shared_headers.cpp)
target_compile_definitions(headroom_test_runner PUBLIC CATCH_CONFIG_FAST_COMPILE)
target_link_libraries(headroom_test_runner PUBLIC Catch2::Catch2 headroom::build_interface PRIVATE nlohmann_json::nlohmann_json)
set_target_properties(headroom_test_runner PROPERTIES HEADROOM_IS_TEST ON POSITION_INDEPENDENT_CODE OFF)  # like the executables
headroom_share_headers(headroom_test_runner ${HEADROOM_TEST_HEADERS})
set_source_files_properties(run_tests.cpp PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)  # compiles Catch2 itself

# Prefix that distinguishes the test names of two builds.
set(HEADROOM_TEST_PREFIX)
if(HEADROOM_SANITIZE)
  set(HEADROOM_TEST_PREFIX "sanitized ")
elseif(HEADROOM_TESTED_BESIDE)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/tested_beside.cmake "subdirs(\"${HEADROOM_TESTED_BESIDE}\")\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/tested_beside.cmake)
endif()

# Sanitized and quick builds skip test cases tagged [long]. Shorter test cases cover the same code.
set(HEADROOM_TEST_CASES)
if((HEADROOM_SANITIZE OR HEADROOM_QUICK) AND NOT HEADROOM_LONG_TESTS)
  set(HEADROOM_TEST_CASES TEST_SPEC "~[long]")
endif()

# Defines paths of test data and programs, only for tests that use them. Other tests then compile alike in any folder, which
# helps ccache.
function(headroom_test_places target)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} names REGEX "HEADROOM_TEST_DATA|HEADROOM_BIN|sample_files.h|fake_programs.h|expected.h|printed_figures.h")
    if(names)
      target_compile_definitions(${target} PRIVATE
        HEADROOM_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data" HEADROOM_BIN="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
      return()
    endif()
  endforeach()
endfunction()

# Chooses the precompiled headers of a test: shared ones, or its own if a library's flags differ.
function(headroom_test_headers target)
  cmake_parse_arguments(HEADERS "" "" "LIBRARIES" ${ARGN})
  set(reached)
  foreach(library IN LISTS HEADERS_LIBRARIES)
    get_property(through GLOBAL PROPERTY HEADROOM_REACHED_BY_${library})
    list(APPEND reached ${through})
  endforeach()
  if(gui_views IN_LIST reached)
    headroom_share_headers(${target} ${HEADROOM_TEST_HEADERS} <QtWidgets>)
  else()
    headroom_take_headers(${target} FROM headroom_test_runner)
  endif()
endfunction()

# Cost for CTest, which starts expensive tests first: those with several processors, then long ones.
function(headroom_test_cost result processors length)
  math(EXPR cost "10 * ${processors} + ${length}")
  set(${result} ${cost} PARENT_SCOPE)
endfunction()

# All tests labelled `gpu`, for reports/gpu/make_bundle.py.
add_custom_target(tests_on_gpu)

# headroom_test(<name> [FOLDER <folder>...] [ONLY <expression> | EXCEPT <expression>] [SOURCES <file>...] LIBRARIES <library>...
#               [PROGRAMS <program>...] [PROCESSORS <n>] [ONCE] [ON_GPU] [OWN_MAIN] [COMPUTES] [PROPERTIES <property>...])
# Sources are SOURCES and the folders' *_test.cpp files, filtered by ONLY or EXCEPT on the file name.
# COMPUTES: the test itself computes for seconds, so it is compiled with -O1.
# PROCESSORS: number of processors that it keeps busy. Such tests start first, since at the end each would run alone.
# ON_GPU: builds the test only if the CUDA libraries are found.
# ONCE: skips the test here if it also runs in a sanitized build beside this one (HEADROOM_TESTED_BESIDE). Use it for tests
# without optimised arithmetic and without seeds that sanitizers have no time for.
function(headroom_test name)
  cmake_parse_arguments(TEST "ONCE;ON_GPU;OWN_MAIN;COMPUTES" "ONLY;EXCEPT;PROCESSORS" "FOLDER;SOURCES;LIBRARIES;PROGRAMS;PROPERTIES" ${ARGN})
  if((TEST_ONCE AND HEADROOM_TESTED_BESIDE) OR (TEST_ON_GPU AND NOT HEADROOM_CUDA_LIBRARIES_FOUND))
    return()
  endif()
  set(sources)
  foreach(folder IN LISTS TEST_FOLDER)
    file(GLOB of_folder CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${folder}/*_test.cpp)
    list(APPEND sources ${of_folder})
  endforeach()
  if(TEST_ONLY)
    list(FILTER sources INCLUDE REGEX "/(${TEST_ONLY})[^/]*$")
  elseif(TEST_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "/(${TEST_EXCEPT})[^/]*$")
  endif()
  list(APPEND sources ${TEST_SOURCES})
  foreach(source IN LISTS sources)
    file(READ ${source} text)
    if(text MATCHES "TEST_CASE\\([ \n]*(\"[^\"]*\"[ \n]*)*\"[^\"]*;")
      message(FATAL_ERROR "tests/${source}: a test's name has a semicolon, and CTest would run nothing in its place")
    endif()
  endforeach()
  set(label ${name})
  if(TEST_ON_GPU)
    set(label gpu)
    list(APPEND TEST_PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no GPU")
  endif()
  if(NOT TEST_PROCESSORS)
    set(TEST_PROCESSORS 1)
  endif()

  add_executable(test_${name} ${sources})
  if(NOT TEST_OWN_MAIN)
    target_sources(test_${name} PRIVATE main.cpp)
  endif()
  list(TRANSFORM TEST_LIBRARIES PREPEND headroom:: OUTPUT_VARIABLE targets)
  target_link_libraries(test_${name} PRIVATE headroom_test_runner ${targets})
  set_target_properties(test_${name} PROPERTIES HEADROOM_IS_TEST ON HEADROOM_TEST_COMPUTES ${TEST_COMPUTES}
    POSITION_INDEPENDENT_CODE OFF)
  if(NOT TEST_COMPUTES)  # the shared headers were compiled with other flags
    headroom_test_headers(test_${name} LIBRARIES ${TEST_LIBRARIES})
  endif()
  headroom_test_places(test_${name} ${sources})
  if(TEST_PROGRAMS)
    add_dependencies(test_${name} ${TEST_PROGRAMS})
  endif()
  if(TEST_ON_GPU)
    add_dependencies(test_${name} headroom-cuda)
    add_dependencies(tests_on_gpu test_${name})
  endif()
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  headroom_test_cost(cost ${TEST_PROCESSORS} 1)
  catch_discover_tests(test_${name} ${HEADROOM_TEST_CASES} TEST_PREFIX "${HEADROOM_TEST_PREFIX}${name}: " PROPERTIES LABELS ${label}
    TIMEOUT 900 PROCESSORS ${TEST_PROCESSORS} COST ${cost} ${TEST_PROPERTIES})
endfunction()

# headroom_python_test(<label>[: <name>] <script> [<argument>...] [WITH_WHEELS] [PROCESSORS <n>] [TIMEOUT <seconds>]
#                      [SKIPS <expression of its output when skipped>] [ENVIRONMENT <variable>=<value>...])
# WITH_WHEELS: runs with the reference environment's Python, and only if the Python package is built.
function(headroom_python_test name script)
  cmake_parse_arguments(TEST "WITH_WHEELS" "PROCESSORS;TIMEOUT;SKIPS" "ENVIRONMENT" ${ARGN})
  set(python ${HEADROOM_PYTHON})
  if(TEST_WITH_WHEELS)
    if(NOT HEADROOM_PYTHON_MODULE)
      return()
    endif()
    set(python ${HEADROOM_MODULE_PYTHON})
  endif()
  foreach(setting "PROCESSORS;1" "TIMEOUT;300")
    list(POP_FRONT setting key)
    if(NOT TEST_${key})
      set(TEST_${key} ${setting})
    endif()
  endforeach()
  string(REGEX REPLACE ":.*" "" label ${name})
  add_test(NAME ${name} COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${TEST_UNPARSED_ARGUMENTS})
  # Keeps compiled Python modules in the build folder. Compiling PyTorch and diffusers again takes each test ten seconds.
  # No test reads or writes the user's measured ratios (planner/answer/learnt.h).
  list(APPEND TEST_ENVIRONMENT HEADROOM_CACHE=off PYTHONPYCACHEPREFIX=${CMAKE_BINARY_DIR}/pycache PYTHONDONTWRITEBYTECODE=)
  headroom_test_cost(cost ${TEST_PROCESSORS} 2)  # each counts as long
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${TEST_TIMEOUT} PROCESSORS ${TEST_PROCESSORS} COST ${cost}
    SKIP_REGULAR_EXPRESSION "${TEST_SKIPS}" ENVIRONMENT "${TEST_ENVIRONMENT}")
endfunction()
