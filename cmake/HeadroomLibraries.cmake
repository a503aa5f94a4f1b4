# Libraries: one static library per folder, with an alias headroom::<name>. This file defines the allowed dependencies. CMake
# checks links and includes against them at configure time (docs/architecture.md).

add_library(headroom_build_interface INTERFACE)
add_library(headroom::build_interface ALIAS headroom_build_interface)
option(HEADROOM_WERROR "Treat warnings as errors: OFF for other compilers than GCC 12 and Clang 16, which may warn of more" ON)
target_compile_options(headroom_build_interface INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${HEADROOM_WERROR}>:-Werror>>)
target_compile_options(headroom_build_interface INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:
  -Wno-restrict  # false positives in std::string with GCC 12 (GCC bug 105651)
  $<$<BOOL:${HEADROOM_QUICK}>:-Wno-stringop-overflow -Wno-array-bounds>>)  # the same, in precompiled headers
# Delays GCC's garbage collection: builds take an eighth less time and a few hundred MiB more.
target_compile_options(headroom_build_interface INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:
  --param=ggc-min-expand=400 --param=ggc-min-heapsize=524288>)
if(CMAKE_UNITY_BUILD)  # presets for whole builds use unity builds, which take a third of the time
  target_compile_options(headroom_build_interface INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:
    -Wno-subobject-linkage>)  # a unity build includes .cpp files, which GCC then treats as headers
  target_compile_options(headroom_build_interface INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:
    -Wno-shadow>)  # unnamed namespaces of several .cpp files are merged
endif()
# Tests build in a third of the time at -O0. Tests that compute reference results would run too long, so they use -O1.
set(test $<BOOL:$<TARGET_PROPERTY:HEADROOM_IS_TEST>>)
set(computes $<BOOL:$<TARGET_PROPERTY:HEADROOM_TEST_COMPUTES>>)
target_compile_options(headroom_build_interface INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,${test}>:$<IF:${computes},-O1,-O0>>)
target_include_directories(headroom_build_interface INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(headroom_build_interface INTERFACE HEADROOM_VERSION="${PROJECT_VERSION}")
if(HEADROOM_SANITIZE)
  # Address and UB sanitizers instrument only the product: instrumenting the tests would double the build's time, and a
  # failing check prints its line anyway. ThreadSanitizer instruments both, since it must see both sides of a race.
  set(watched 1)
  if(HEADROOM_SANITIZE MATCHES "address")
    set(watched $<NOT:${test}>)
  endif()
  target_compile_options(headroom_build_interface INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
    $<${watched}:-fsanitize=${HEADROOM_SANITIZE} -fno-sanitize-recover=all
      -fno-sanitize=null,alignment,vptr>  # saves a quarter of the build's time; AddressSanitizer catches null anyway
    -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>>  # false positives in GCC 12's instrumented standard library
    $<${test}:-g0>)
  target_compile_definitions(headroom_build_interface INTERFACE HEADROOM_SANITIZED)
  target_link_options(headroom_build_interface INTERFACE -fsanitize=${HEADROOM_SANITIZE})
endif()

# Libraries that hardly compute. With less optimisation they compile in two thirds of the time.
set(HEADROOM_HARDLY_COMPUTES
  "^(decoder_(plan|progress|cli)|profiler_(profile|events|history|snapshot)|planner_explain|reports_.*|gui_.*|[a-z_]+_program)$")
if(HEADROOM_SANITIZE)
  string(PREPEND HEADROOM_HARDLY_COMPUTES "^(decoder_(trace|weights)|profiler_(eager|measure))$|")
  set(HEADROOM_HARDLY_OPTIMISED -O0)
else()
  string(PREPEND HEADROOM_HARDLY_COMPUTES
    "^(decoder_(families|validator|trace|exchange)|profiler_eager|planner_(answer|run))$|")
  set(HEADROOM_HARDLY_OPTIMISED $<$<CONFIG:Release>:-O1>)
endif()

# Libraries that read files. libFuzzer instruments only their branches, since other branches would only cost time.
set(HEADROOM_READS_FILES
  "^(decoder_(base|graph|families|plan|trace|files|pictures|weights|validator)|profiler_(profile|eager|events|history|snapshot)|reports_figures)$")

# A library may link only libraries listed before it: decoder <- profiler <- planner <- reports <- gui.
set(HEADROOM_LIBRARY_ORDER
  decoder_base decoder_graph decoder_devices decoder_families decoder_plan decoder_operations decoder_schedule decoder_validator decoder_trace decoder_files decoder_pictures decoder_weights decoder_latents decoder_exchange decoder_exchange_c10d decoder_interpreter
  decoder_cpu_loops decoder_cpu decoder_gpu_calls decoder_gpu_placement decoder_gpu_memory decoder_gpu_transfers decoder_gpu decoder_gpu_kernels decoder_gpu_library_calls decoder_gpu_cuda decoder_torch decoder_gpu_modules decoder_progress decoder_session decoder_cli
  profiler_profile profiler_eager profiler_events profiler_history profiler_cupti profiler_measure profiler_program
  planner_cost planner_search planner_explain planner_answer planner_run planner_program planner_decode_program planner_c planner_python
  reports_figures reports_render reports_program reports_bench_program
  gui_models gui_views gui_program)

# These libraries may link only the ones listed, directly and indirectly. The validator must not reach the code that it
# checks. The core decodes without LibTorch and without code that only programs need.
set(HEADROOM_ONLY_LINKS_decoder_validator decoder_base decoder_graph decoder_devices decoder_plan)
set(HEADROOM_CORE decoder_base decoder_graph decoder_devices decoder_families decoder_plan decoder_operations decoder_schedule decoder_validator decoder_trace decoder_files decoder_weights
    decoder_exchange decoder_interpreter decoder_cpu_loops decoder_cpu decoder_gpu_calls decoder_gpu_placement decoder_gpu_memory decoder_gpu_transfers
    decoder_gpu decoder_progress decoder_session)
foreach(library IN LISTS HEADROOM_CORE)
  if(NOT DEFINED HEADROOM_ONLY_LINKS_${library})
    set(HEADROOM_ONLY_LINKS_${library} ${HEADROOM_CORE})
  endif()
endforeach()

# Third-party libraries, and the Headroom libraries that may link them.
set(HEADROOM_MAY_LINK_CLI11::CLI11 "^(decoder_cli|[a-z_]+_program)$")
set(HEADROOM_MAY_LINK_headroom::decoder_cli "_program$")
set(HEADROOM_MAY_LINK_headroom::libtorch "^decoder_exchange_c10d$")
set(HEADROOM_MAY_LINK_JPEG::JPEG "^decoder_(files|pictures)$")
set(HEADROOM_MAY_LINK_PNG::PNG "^decoder_pictures$")
set(HEADROOM_MAY_LINK_ZLIB::ZLIB "^decoder_files$")
set(HEADROOM_MAY_LINK_headroom::libtorch_cuda "^decoder_torch$")
set(HEADROOM_MAY_LINK_headroom::decoder_torch "^decoder_gpu_modules$")
set(HEADROOM_MAY_LINK_headroom::cuda_libraries "^decoder_(gpu_cuda|torch)$")
set(HEADROOM_MAY_LINK_headroom::qcustomplot "^gui_views$")

function(headroom_check_link name target)
  set(allowed "${HEADROOM_MAY_LINK_${target}}")
  if(allowed AND NOT name MATCHES "${allowed}")
    message(FATAL_ERROR "library ${name} must not link ${target} (cmake/HeadroomLibraries.cmake)")
  endif()
endfunction()

# Checks the links of this folder's library and records them for headroom_check_includes().
function(headroom_register_library name)
  cmake_parse_arguments(LIBRARY "" "" "LINKS;EXTERNAL" ${ARGN})
  list(FIND HEADROOM_LIBRARY_ORDER ${name} own_rank)
  if(own_rank EQUAL -1)
    message(FATAL_ERROR "library ${name} is not in HEADROOM_LIBRARY_ORDER")
  endif()
  set(reached ${name})
  foreach(dependency IN LISTS LIBRARY_LINKS)
    list(FIND HEADROOM_LIBRARY_ORDER ${dependency} rank)
    if(rank EQUAL -1 OR NOT rank LESS own_rank)
      message(FATAL_ERROR "library ${name} must not link ${dependency}: dependencies run one way")
    endif()
    headroom_check_link(${name} headroom::${dependency})
    get_property(through GLOBAL PROPERTY HEADROOM_REACHED_BY_${dependency})
    list(APPEND reached ${through})
  endforeach()
  list(REMOVE_DUPLICATES reached)
  if(DEFINED HEADROOM_ONLY_LINKS_${name})
    foreach(other IN LISTS reached)
      if(NOT other STREQUAL name AND NOT other IN_LIST HEADROOM_ONLY_LINKS_${name})
        message(FATAL_ERROR "library ${name} must not link ${other} (cmake/HeadroomLibraries.cmake)")
      endif()
    endforeach()
  endif()
  foreach(target IN LISTS LIBRARY_EXTERNAL)
    headroom_check_link(${name} ${target})
  endforeach()
  set_property(GLOBAL PROPERTY HEADROOM_REACHED_BY_${name} ${reached})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set_property(GLOBAL APPEND PROPERTY HEADROOM_FOLDERS ${folder})
  set_property(GLOBAL PROPERTY HEADROOM_LIBRARY_OF_${folder} ${name})
endfunction()

# headroom_library(<name> SOURCES <file>... [LINKS <library>...] [EXTERNAL <target>...])
# LINKS are Headroom's libraries, EXTERNAL are third-party ones. Both are public, since headers include theirs.
function(headroom_library name)
  cmake_parse_arguments(LIBRARY "" "" "SOURCES;LINKS;EXTERNAL" ${ARGN})
  headroom_register_library(${name} LINKS ${LIBRARY_LINKS} EXTERNAL ${LIBRARY_EXTERNAL})
  add_library(headroom_${name} STATIC ${LIBRARY_SOURCES})
  add_library(headroom::${name} ALIAS headroom_${name})
  list(TRANSFORM LIBRARY_LINKS PREPEND headroom::)
  target_link_libraries(headroom_${name} PUBLIC ${LIBRARY_LINKS} ${LIBRARY_EXTERNAL} headroom::build_interface)
  set(level fully)
  if(name MATCHES "${HEADROOM_HARDLY_COMPUTES}")
    target_compile_options(headroom_${name} PRIVATE ${HEADROOM_HARDLY_OPTIMISED})
    set(level hardly)
  endif()
  if(HEADROOM_QUICK AND NOT name MATCHES "_program$|^decoder_cli$")
    get_property(first GLOBAL PROPERTY HEADROOM_FIRST_${level}_OPTIMISED)  # GCC reads precompiled headers of the same flags only
    if(first)
      headroom_take_headers(headroom_${name} FROM ${first})
    else()
      headroom_share_headers(headroom_${name} <nlohmann/json.hpp> <algorithm> <filesystem> <functional> <map> <memory> <optional> <set>
        <sstream> <string> <variant> <vector>)
      set_property(GLOBAL PROPERTY HEADROOM_FIRST_${level}_OPTIMISED headroom_${name})
    endif()
  endif()
  if(HEADROOM_FUZZ AND name MATCHES "${HEADROOM_READS_FILES}")
    target_compile_options(headroom_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Defines headroom::core, which links all libraries of HEADROOM_CORE.
function(headroom_core_library)
  add_library(headroom_core INTERFACE)
  add_library(headroom::core ALIAS headroom_core)
  list(TRANSFORM HEADROOM_CORE PREPEND headroom:: OUTPUT_VARIABLE targets)
  target_link_libraries(headroom_core INTERFACE ${targets})
  set_property(GLOBAL PROPERTY HEADROOM_REACHED_BY_core ${HEADROOM_CORE})
endfunction()

# headroom_executable(<program> MAIN <file> LIBRARY <library>)
function(headroom_executable name)
  cmake_parse_arguments(EXECUTABLE "" "MAIN;LIBRARY" "" ${ARGN})
  add_executable(${name} ${EXECUTABLE_MAIN})
  target_link_libraries(${name} PRIVATE headroom::${EXECUTABLE_LIBRARY})
  set_property(GLOBAL APPEND PROPERTY HEADROOM_PROGRAMS ${name})
endfunction()

# Sets <result> to the library that a source file belongs to, or to an empty value.
function(headroom_library_of path result)
  cmake_path(GET path PARENT_PATH folder)
  while(folder)
    get_property(library GLOBAL PROPERTY HEADROOM_LIBRARY_OF_${folder})
    if(library)
      set(${result} ${library} PARENT_SCOPE)
      return()
    endif()
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
  set(${result} "" PARENT_SCOPE)
endfunction()

# Checks that libraries include only their own headers and those of libraries that they link. The linker cannot check this,
# since a header-only dependency compiles without a link. Call it after all libraries are defined.
function(headroom_check_includes)
  get_property(folders GLOBAL PROPERTY HEADROOM_FOLDERS)
  foreach(folder IN LISTS folders)
    get_property(name GLOBAL PROPERTY HEADROOM_LIBRARY_OF_${folder})
    get_property(reached GLOBAL PROPERTY HEADROOM_REACHED_BY_${name})
    file(GLOB_RECURSE files RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${folder}/*.h
         ${PROJECT_SOURCE_DIR}/${folder}/*.cpp ${PROJECT_SOURCE_DIR}/${folder}/*.cu)
    foreach(file IN LISTS files)
      headroom_library_of(${file} owner)
      if(NOT owner STREQUAL name)
        continue()
      endif()
      file(STRINGS ${PROJECT_SOURCE_DIR}/${file} lines REGEX "^#include \"")
      foreach(line IN LISTS lines)
        string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
        headroom_library_of(${included} other)
        if(other AND NOT other IN_LIST reached)
          message(FATAL_ERROR "${file} includes ${included}, but library ${name} does not link ${other}")
        endif()
      endforeach()
    endforeach()
  endforeach()
endfunction()
