# Headers that cost more to read than most files that include them are compiled once, for targets of the same flags. Such
# targets hardly compute: in release builds they are optimised no further than -O1, which halves the time of their compilation.
# ccache must be told that precompiled headers are meant.
set(HEADROOM_SHARING_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
if(HEADROOM_SHARING_LAUNCHER MATCHES "ccache")
  list(PREPEND HEADROOM_SHARING_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
endif()

function(headroom_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${HEADROOM_SHARING_LAUNCHER}")
endfunction()

# headroom_share_headers(<target> <header>...): compiles the headers, for this target and those that take them from it.
function(headroom_share_headers target)
  headroom_compile_quickly(${target})
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# headroom_take_headers(<target> FROM <other>)
function(headroom_take_headers target from other)
  headroom_compile_quickly(${target})
  target_precompile_headers(${target} REUSE_FROM ${other})
endfunction()
