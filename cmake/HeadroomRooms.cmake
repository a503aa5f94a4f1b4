# Rooms: one static library per folder, with an alias headroom::<name>, its sources listed, and the
# dependency rule of docs/architecture.md enforced at configure time.

add_library(headroom_build_interface INTERFACE)
add_library(headroom::build_interface ALIAS headroom_build_interface)
target_compile_options(headroom_build_interface INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  -Wno-restrict>)  # GCC 12 sees overlaps in std::string that are not there (GCC bug 105651)
target_include_directories(headroom_build_interface INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(headroom_build_interface INTERFACE HEADROOM_VERSION="${PROJECT_VERSION}")
if(HEADROOM_SANITIZE)
  target_compile_options(headroom_build_interface INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
    -fsanitize=${HEADROOM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    -Wno-maybe-uninitialized>)  # false alarms in the standard library once GCC 12 instruments it
  target_link_options(headroom_build_interface INTERFACE -fsanitize=${HEADROOM_SANITIZE})
endif()

# decoder <- profiler <- planner <- reports <- gui, and inside the decoder
# graph <- cli, files, plan <- interpreter <- kernels <- gpu <- cuda <- gpu_runtime <- runtime <- program.
set(HEADROOM_ROOM_ORDER
  decoder_graph decoder_cli decoder_files decoder_plan decoder_interpreter decoder_kernels decoder_gpu decoder_cuda_parts decoder_cuda decoder_gpu_runtime decoder_runtime decoder_program
  profiler_profile profiler_cupti profiler_collect profiler_program
  planner planner_program
  reports_figures reports_render reports_program
  gui_models gui_views gui_program)

# headroom_room(<name> SOURCES <file>... [ROOMS <room>...] [LIBRARIES <target>...])
# ROOMS are public links; LIBRARIES are third-party targets, public as well since headers name them.
function(headroom_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  list(FIND HEADROOM_ROOM_ORDER ${name} own_rank)
  if(own_rank EQUAL -1)
    message(FATAL_ERROR "room ${name} is not in HEADROOM_ROOM_ORDER")
  endif()
  foreach(dependency IN LISTS ROOM_ROOMS)
    list(FIND HEADROOM_ROOM_ORDER ${dependency} rank)
    if(rank EQUAL -1 OR NOT rank LESS own_rank)
      message(FATAL_ERROR "room ${name} must not link ${dependency}: dependencies run one way")
    endif()
  endforeach()
  foreach(library IN LISTS ROOM_LIBRARIES)
    if(library STREQUAL "headroom::libtorch" AND NOT name MATCHES "^(decoder_runtime|decoder_program|profiler_collect|profiler_program)$")
      message(FATAL_ERROR "room ${name} must not link LibTorch")
    endif()
  endforeach()
  add_library(headroom_${name} STATIC ${ROOM_SOURCES})
  add_library(headroom::${name} ALIAS headroom_${name})
  list(TRANSFORM ROOM_ROOMS PREPEND headroom::)
  target_link_libraries(headroom_${name} PUBLIC ${ROOM_ROOMS} ${ROOM_LIBRARIES} headroom::build_interface)
endfunction()

# headroom_executable(<program> MAIN <file> ROOM <room>)
function(headroom_executable name)
  cmake_parse_arguments(EXECUTABLE "" "MAIN;ROOM" "" ${ARGN})
  add_executable(${name} ${EXECUTABLE_MAIN})
  target_link_libraries(${name} PRIVATE headroom::${EXECUTABLE_ROOM})
endfunction()
