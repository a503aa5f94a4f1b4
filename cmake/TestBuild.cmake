# How tests are built (tests/CMakeLists.txt).

# Catch2 is one header.
set(HEADROOM_TEST_HEADERS <catch2/catch.hpp> <nlohmann/json.hpp> <algorithm> <filesystem> <fstream> <functional> <map>
    <memory> <optional> <random> <set> <sstream> <string> <thread> <vector>)
add_library(headroom_test_runner STATIC run_tests.cpp shared_headers.cpp)
target_compile_definitions(headroom_test_runner PUBLIC CATCH_CONFIG_FAST_COMPILE)
target_link_libraries(headroom_test_runner PUBLIC Catch2::Catch2 headroom::build_interface PRIVATE nlohmann_json::nlohmann_json)
set_target_properties(headroom_test_runner PROPERTIES HEADROOM_IS_TEST ON POSITION_INDEPENDENT_CODE OFF)  # as the executables
headroom_share_headers(headroom_test_runner ${HEADROOM_TEST_HEADERS})
set_source_files_properties(run_tests.cpp PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)  # which holds Catch2's own code

# All of one build are told from those of another.
set(HEADROOM_TEST_PREFIX)
if(HEADROOM_SANITIZE)
  set(HEADROOM_TEST_PREFIX "sanitized ")
elseif(HEADROOM_TESTED_BESIDE)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/tested_beside.cmake "subdirs(\"${HEADROOM_TESTED_BESIDE}\")\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/tested_beside.cmake)
endif()

# Test cases tagged [long] compute for long what shorter ones of the same code have too: under sanitizers they are left out.
set(HEADROOM_TEST_CASES)
if(HEADROOM_SANITIZE AND NOT HEADROOM_LONG_TESTS)
  set(HEADROOM_TEST_CASES TEST_SPEC "~[long]")
endif()

# Paths of test data and programs. Only tests that use them get them, so that all others compile alike in any folder.
function(headroom_test_places target)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} names REGEX "HEADROOM_TEST_DATA|HEADROOM_BIN|sample_files.h|fake_programs.h")
    if(names)
      target_compile_definitions(${target} PRIVATE
        HEADROOM_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data" HEADROOM_BIN="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
      return()
    endif()
  endforeach()
endfunction()

# Which headers are read beforehand: those of all tests, or some of its own where a library brings flags that change them.
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

# Tests of the highest cost begin first: those that take several processors, then those that take long.
function(headroom_test_cost result processors length)
  math(EXPR cost "10 * ${processors} + ${length}")
  set(${result} ${cost} PARENT_SCOPE)
endfunction()

# All tests labelled `gpu`, for reports/gpu/make_bundle.py.
add_custom_target(tests_on_gpu)

# headroom_test(<name> [FOLDER <folder>] [ONLY <expression> | EXCEPT <expression>] [SOURCES <file>...] LIBRARIES <library>...
#               [PROGRAMS <program>...] [PROCESSORS <n>] [ONCE] [ON_GPU] [OWN_MAIN] [COMPUTES] [PROPERTIES <property>...])
# Sources are the *_test.cpp of the folder, of which the expression may choose by file name, and SOURCES. Tests that compute
# for seconds by themselves are optimised a little. PROCESSORS: those that it keeps busy; such tests begin first, since at the end
# each would run alone. ON_GPU: only where programs are built with kernels for one. ONCE: neither optimised arithmetic nor seeds
# that sanitizers have no time for are in it, so it need not be built here where it runs under sanitizers beside this build
# (HEADROOM_TESTED_BESIDE).
function(headroom_test name)
  cmake_parse_arguments(TEST "ONCE;ON_GPU;OWN_MAIN;COMPUTES" "FOLDER;ONLY;EXCEPT;PROCESSORS" "SOURCES;LIBRARIES;PROGRAMS;PROPERTIES" ${ARGN})
  if((TEST_ONCE AND HEADROOM_TESTED_BESIDE) OR (TEST_ON_GPU AND NOT HEADROOM_CUDA_LIBRARIES_FOUND))
    return()
  endif()
  set(sources)
  if(TEST_FOLDER)
    file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${TEST_FOLDER}/*_test.cpp)
  endif()
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
  if(NOT TEST_COMPUTES)  # headers that are shared are those of other flags
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
#                      [SKIPS <expression of what it then says>] [ENVIRONMENT <variable>=<value>...])
# WITH_WHEELS: by the reference environment's Python, and only where the Python package is built.
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
  # Compiled modules are kept, but not beside the sources: to compile PyTorch and diffusers anew takes each test ten seconds.
  list(APPEND TEST_ENVIRONMENT PYTHONPYCACHEPREFIX=${CMAKE_BINARY_DIR}/pycache PYTHONDONTWRITEBYTECODE=)
  headroom_test_cost(cost ${TEST_PROCESSORS} 2)  # each takes long
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${TEST_TIMEOUT} PROCESSORS ${TEST_PROCESSORS} COST ${cost}
    SKIP_REGULAR_EXPRESSION "${TEST_SKIPS}" ENVIRONMENT "${TEST_ENVIRONMENT}")
endfunction()
